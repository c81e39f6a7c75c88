"""Intervals, p-values and claims: against what is known of them, worked out by hand, or by brute force."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from fractions import Fraction
from math import comb, hypot, sqrt
from operator import mul

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstore.statistics import (
    AnchorShift,
    Conclusion,
    bound_rate,
    compute_holm_p_values,
    compute_mcnemar_p,
    compute_noise_reach,
    compute_sign_flip_p,
    count_units,
    estimate_change,
    estimate_mean,
    estimate_rest,
    estimate_shift,
    find_student_quantile,
)
from evalstore.statistics.student import compute_student_middle
from tests.ground.null_populations import ESTIMATED, NULLS, SKEWED, Shares, measure_answers, measure_rates
from tests.rows import mark_slow

HALF = Fraction(1, 2)


def alone(*shares: int | Fraction) -> Shares:
    return [Fraction(share) for share in shares], [None] * len(shares)


# The published tables of Student's t.
@pytest.mark.parametrize(
    ("probability", "freedom", "expected"),
    [
        (0.975, 1, 12.7062),
        (0.975, 2, 4.3027),
        (0.975, 7, 2.3646),
        (0.975, 12, 2.1788),
        (0.975, 30, 2.0423),
        (0.975, 120, 1.9799),
        (0.8, 1, 1.3764),
        (0.8, 10, 0.8791),
        (0.8, 30, 0.8538),
    ],
)
def test_quantiles_are_those_of_the_tables(probability: float, freedom: int, expected: float) -> None:
    assert find_student_quantile(probability, freedom) == pytest.approx(expected, abs=5e-5)


@given(st.integers(1, 400), st.floats(0.55, 0.9995))
def test_a_quantile_is_where_the_distribution_has_its_probability(freedom: int, probability: float) -> None:
    middle = compute_student_middle(find_student_quantile(probability, freedom), freedom)
    assert middle == pytest.approx(2 * probability - 1, abs=1e-12)


def test_the_expansion_meets_the_finite_sum() -> None:
    for probability in (0.8, 0.975):
        t = find_student_quantile(probability, 1001)
        assert compute_student_middle(t, 1001) == pytest.approx(2 * probability - 1, abs=1e-13)
    assert find_student_quantile(0.975, 10**9) == pytest.approx(1.959963984540054, abs=1e-8)


# The rows of the specification, E15: worked out from its formula with the t of the tables.
@pytest.mark.parametrize(
    ("shares", "interval", "p", "conclusion"),
    [
        (alone(*[-HALF] * 2), (-100, 100), 0.25, Conclusion.NOT_RESOLVABLE),
        (alone(*[-HALF] * 3), (-100, 79.70), 0.125, Conclusion.NOT_RESOLVABLE),
        (alone(*[-1] * 3, *[0] * 10), (-47.72, 7.72), 0.125, Conclusion.NOT_RESOLVABLE),
        (alone(*[-HALF] * 6, *[0] * 14), (-27.72, 0.44), 0.015625, Conclusion.NOT_RESOLVABLE),
        (alone(*[-HALF] * 5, HALF / 2, *[0] * 14), (-24.28, 3.82), 0.046875, Conclusion.NOT_RESOLVABLE),
        (alone(*[-HALF] * 10, *[0] * 4), (-50.66, -11.84), 0.0009765625, Conclusion.SIGNIFICANT),
    ],
)
def test_interval_p_and_claim(shares: Shares, interval: tuple[float, float], p: float, conclusion: Conclusion) -> None:
    found = estimate_change(count_units(*shares))
    assert found.mean
    assert [100 * end for end in found.mean.interval] == pytest.approx(interval, abs=0.005)
    assert (found.p, found.conclusion) == (p, conclusion)


def test_five_that_all_fall_are_no_claim_and_six_are() -> None:
    """Of five that turn either way, all fall or all rise in .0625 of all samples."""
    five, six = (estimate_change(count_units(*alone(*[-1] * size))) for size in (5, 6))
    assert (five.p, five.claim_p, five.conclusion) == (2**-5, 2**-4, Conclusion.NOT_RESOLVABLE)
    assert (six.p, six.claim_p, six.conclusion) == (2**-6, 2**-5, Conclusion.SIGNIFICANT)
    # Where one of six moved nothing, how many move is chance as well, which the mid-p has in it.
    some = estimate_change(count_units(*alone(*[-1] * 5, 0)))
    assert (some.p, some.claim_p, some.conclusion) == (2**-5, 2**-5, Conclusion.SIGNIFICANT)


def test_a_null_is_bounded_only_where_the_interval_lies_within_one_point() -> None:
    few, many = alone(1, -1, *[0] * 98), alone(1, -1, *[0] * 1998)
    assert estimate_change(count_units(*few)).conclusion is Conclusion.NOT_RESOLVABLE
    assert estimate_change(count_units(*many)).conclusion is Conclusion.BOUNDED_NULL


def test_what_moved_none_is_bounded_by_the_rule_of_three() -> None:
    assert estimate_change(count_units(*alone(*[0] * 60))).conclusion is Conclusion.MOVED_NONE
    assert [bound_rate(units) for units in (1, 3, 60)] == [1, 1, Fraction(1, 20)]


def test_one_question_or_four_groups_have_no_interval() -> None:
    assert estimate_mean(count_units(*alone(1))) is None
    shares = [Fraction(index % 3, 2) for index in range(20)]
    assert estimate_mean(count_units(shares, [str(index % 4) for index in range(20)])) is None
    assert estimate_mean(count_units(shares, [str(index % 5) for index in range(20)])) is not None
    # Every group has one question: they are not groups.
    assert estimate_mean(count_units(shares[:3], ["a", "b", "c"])) == estimate_mean(count_units(*alone(*shares[:3])))


@given(st.lists(st.fractions(-1, 1, max_denominator=12), min_size=5, max_size=12), st.integers(2, 4))
def test_copies_in_a_group_are_one_unit_and_make_nothing_surer(shares: list[Fraction], copies: int) -> None:
    found = estimate_change(count_units(*alone(*shares)))
    copied = estimate_change(
        count_units(
            [share for share in shares for _ in range(copies)],
            [str(g) for g in range(len(shares)) for _ in range(copies)],
        )
    )
    assert found.mean
    assert copied.mean
    assert copied.mean.interval == pytest.approx(found.mean.interval, abs=1e-9)
    assert copied.mean.detectable_effect == pytest.approx(found.mean.detectable_effect, abs=1e-9)
    assert (copied.p, copied.moved, copied.conclusion) == (found.p, found.moved, found.conclusion)


def test_groups_of_unlike_sizes_have_the_interval_of_their_ratio() -> None:
    """Six groups, worked out with the residuals of the ratio, as a survey does, and the three added observations."""
    sizes, totals = [1, 2, 3, 4, 5, 3], [1, -1, 2, 0, 3, -2]
    shares, groups = [], []
    for number, (size, total) in enumerate(zip(sizes, totals, strict=True)):
        shares += [Fraction(total, size)] * size
        groups += [str(number)] * size
    mean_size = 3
    middle = sum(totals) / (18 + 2 * mean_size)
    squares = sum(((total - middle * size) / mean_size) ** 2 for total, size in zip(totals, sizes, strict=True))
    squares += 0.5 * (1 - middle) ** 2 + 0.5 * (1 + middle) ** 2 + middle**2
    error = sqrt(squares / 7 / 8)
    found = estimate_mean(count_units(shares, list(groups)))
    assert found
    assert found.interval == pytest.approx((middle - 2.570582 * error, middle + 2.570582 * error), abs=1e-6)
    assert found.detectable_effect == pytest.approx((2.570582 + 0.919544) * error, abs=1e-6)


def test_the_detectable_effect_counts_groups() -> None:
    """Forty questions in eight groups that move together tell of as much as eight questions do."""
    moves = [Fraction(1), Fraction(-1), Fraction(0), HALF] * 2
    grouped = estimate_mean(
        count_units([move for move in moves for _ in range(5)], [str(g) for g in range(8) for _ in range(5)])
    )
    loose = estimate_mean(count_units(*alone(*[move for move in moves for _ in range(5)])))
    assert grouped
    assert loose
    assert grouped.detectable_effect > 2 * loose.detectable_effect


def brute_p(moves: Sequence[int | Fraction]) -> Fraction:
    seen = abs(sum(moves))
    sums = [abs(sum(map(mul, signs, moves))) for signs in itertools.product((1, -1), repeat=len(moves))]
    return Fraction(2 * sum(total > seen for total in sums) + sum(total == seen for total in sums), 2 * len(sums))


@given(st.lists(st.fractions(-1, 1, max_denominator=9), min_size=1, max_size=8).filter(any))
def test_p_of_few_moves_is_that_of_all_flips(shares: list[Fraction]) -> None:
    assert compute_sign_flip_p(count_units(*alone(*shares))) == float(brute_p([share for share in shares if share]))


@pytest.mark.parametrize(
    "moves", [(3, -1, 2, 2, -1, 1, 4, 1, -2, 3, 1, 1, -1), (1, 2, 3, -4, 5, 6, -7, 8, 9, 1, -2, 3, 4)]
)
def test_p_of_more_moves_is_near_that_of_all_flips(moves: Sequence[int]) -> None:
    shares = [Fraction(move, 10) for move in moves]
    found = compute_sign_flip_p(count_units(*alone(*shares)))
    assert found == compute_sign_flip_p(count_units(*alone(*shares)))
    # Four standard errors of 4,000 flips.
    assert found == pytest.approx(float(brute_p(moves)), abs=0.033)


def test_more_sizes_than_are_drawn_agree_with_the_normal_distribution() -> None:
    from statistics import NormalDist

    shares = [Fraction(index if index % 5 else -index, 1000) for index in range(-300, 640)]
    spread = sqrt(sum(float(share) ** 2 for share in shares))
    expected = 2 * NormalDist(0, spread).cdf(-abs(float(sum(shares))))
    assert compute_sign_flip_p(count_units(*alone(*shares))) == pytest.approx(expected, abs=0.033)


def test_a_p_value_is_never_0_by_sampling() -> None:
    assert 0 < compute_sign_flip_p(count_units(*alone(*[Fraction(number, 60) for number in range(1, 60)]))) < 0.001


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [(43, 32, 0.2067), (3, 3, 0.84375), (0, 0, 1.0), (1, 0, 0.5), (8, 0, 2**-8), (0, 8, 2**-8), (6, 0, 2**-6)],
)
def test_mcnemar_mid_p(one: int, other: int, expected: float) -> None:
    assert compute_mcnemar_p(one, other) == pytest.approx(expected, abs=5e-5)
    assert compute_sign_flip_p(count_units(*alone(*[1] * one, *[-1] * other))) == compute_mcnemar_p(one, other)


@pytest.mark.parametrize(("flips", "fewer"), [(1001, 450), (1001, 500), (1024, 7), (2000, 950), (3001, 1400)])
def test_the_recurrence_agrees_with_exact_sums_to_11_digits(flips: int, fewer: int) -> None:
    below = sum(comb(flips, count) for count in range(fewer))
    exact = Fraction(2 * below + comb(flips, fewer), 2**flips)
    assert compute_mcnemar_p(fewer, flips - fewer) == pytest.approx(float(exact), rel=1e-11)


def test_a_hundred_thousand_flips_take_no_time_and_are_right() -> None:
    start = time.process_time()
    found = compute_mcnemar_p(49_700, 50_300)
    assert time.process_time() - start < 1  # 0.4 ms on an idle machine
    # The binomial sums in whole numbers, each term from the one above it.
    term = total = comb(100_000, 49_700)
    for count in range(49_700, 45_000, -1):
        term = term * count // (100_001 - count)
        total += 2 * term
    assert found == pytest.approx(total / 2**100_000, rel=1e-11)
    assert compute_mcnemar_p(0, 100_000) == 0.0
    assert compute_mcnemar_p(50_000, 50_000) == pytest.approx(1 - comb(100_000, 50_000) / 2**100_001, rel=1e-14)


@pytest.mark.heavy
def test_twenty_thousand_questions_are_estimated_in_a_moment() -> None:
    shares = alone(*[Fraction(index % 41 - 20, 20) for index in range(20_500)])
    start = time.process_time()
    assert estimate_change(count_units(*shares)).p > 0.9
    assert time.process_time() - start < 10  # 0.2 s on an idle machine


def test_samples_of_a_question_are_no_questions() -> None:
    """E12: passes 3 2 1 0 of 3, then 2 of 3 everywhere."""
    shares = [Fraction(2, 3) - Fraction(passes, 3) for passes in (3, 2, 1, 0)]
    found = estimate_mean(count_units(*alone(*shares)))
    assert found
    assert (round(float(sum(shares)) / 4 * 100, 4), round(found.standard_error * 100, 4)) == (16.6667, 21.5166)


def test_judge_noise_of_a_change() -> None:
    """E17: a standard deviation of .08, half the weight, 30 questions."""
    assert round(compute_noise_reach([0.04] * 60, 30) * 100, 4) == 2.0242
    assert compute_noise_reach([0.04] * 60 + [0] * 60, 60) == pytest.approx(compute_noise_reach([0.04] * 60, 30) / 2)
    assert compute_noise_reach([], 0) == 0


def test_p_values_of_slices_are_adjusted() -> None:
    assert compute_holm_p_values([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert compute_holm_p_values([0.9, 0.8]) == [1.0, 1.0]
    assert compute_holm_p_values([]) == []


@pytest.mark.sampling
@pytest.mark.heavy
@pytest.mark.parametrize("name", NULLS)
def test_a_true_null_is_seldom_claimed_and_mostly_covered(name: str) -> None:
    """Bounds are the specification's, with three standard errors of so few draws; `python -m tests.ground.null_rates` is longer."""
    draws = 100
    for size in (2, 5, 8, 12, 24):
        rates = measure_rates(name, size, draws, seed=7)
        assert rates.false_claims <= 0.064 + 3 * sqrt(0.06 / draws), (name, size)
        assert rates.coverage is None or rates.coverage >= 0.868 - 3 * sqrt(0.12 / draws), (name, size)


@pytest.mark.sampling
@pytest.mark.heavy
@pytest.mark.parametrize("size", [6, 20, mark_slow(60)])
@pytest.mark.parametrize("name", SKEWED)
def test_a_skewed_null_is_seldom_claimed(name: str, size: int) -> None:
    """Of few questions that all rose alike, none says that one in ten falls; where none was seen, the interval is short."""
    draws = 60
    rates = measure_rates(name, size, draws, seed=7)
    assert rates.false_claims <= 0.05 + 3 * sqrt(0.05 * 0.95 / draws)
    assert rates.coverage is None or rates.coverage >= 0.86 - 3 * sqrt(0.12 / draws)


@pytest.mark.sampling
@pytest.mark.heavy
@pytest.mark.parametrize("name", ESTIMATED)
def test_what_a_service_did_is_not_called_worse_outputs(name: str) -> None:
    draws = 100
    for size, anchors in ((40, 5), (40, 20), (150, 30)):
        rates = measure_rates(name, size, draws, seed=7, anchors=anchors)
        assert rates.false_claims <= 0.07 + 3 * sqrt(0.065 / draws), (name, size)
        assert rates.coverage is not None, (name, size)
        assert rates.coverage >= 0.93 - 3 * sqrt(0.065 / draws), (name, size)


def test_the_condition_of_a_model_that_did_not_change_seldom_fails() -> None:
    """E22, and a true -.05: `python -m tests.ground.null_rates` has the table."""
    for size, draws in ((20, 300), (100, 100), (300, 40)):
        assert measure_answers(size, 0, draws, seed=7).fails <= 0.03, size
    assert measure_answers(200, -0.12, 40, seed=7).fails > 0.8
    assert measure_answers(2000, 0.02, 10, seed=7).holds > 0.8


def test_nothing_is_said_of_what_fewer_than_five_anchors_show() -> None:
    moves = [HALF * number / 10 for number in range(4)]
    few = AnchorShift(count_units(*alone(*moves)), 0.9)
    found = estimate_rest(count_units(*alone(*[-1] * 40)), [few])
    assert (found.mean, found.conclusion) == (None, Conclusion.NOT_RESOLVABLE)
    assert estimate_shift([few], 0.1).mean is None
    more = AnchorShift(count_units(*alone(*moves, 0)), 0.9)
    found = estimate_rest(count_units(*alone(*[-1] * 40)), [more])
    assert found.conclusion is Conclusion.SIGNIFICANT
    # Its error is that of both: of the rest, and of nine tenths of the anchors'.
    own, shift = estimate_mean(count_units(*alone(*[-1] * 40))), estimate_mean(more.units)
    assert found.mean
    assert own
    assert shift
    assert found.mean.error == pytest.approx(hypot(own.error, 0.9 * shift.error))
    # Nearly all of it is the anchors' error, and so are the degrees of freedom.
    assert found.mean.freedom == 4


@pytest.mark.parametrize(("falls", "of", "by"), [(10, 20, 3), (20, 20, 10), (30, 30, 10), (12, 12, 4), (40, 200, 20)])
def test_an_interval_that_leaves_out_0_is_claimed(falls: int, of: int, by: int) -> None:
    """Where one sample in twenty may miss what would make it nothing, the interval ends at 0 and nothing is claimed."""
    found = estimate_change(count_units(*alone(*[Fraction(-1, by)] * falls, *[0] * (of - falls))))
    assert found.mean
    is_missed = (1 + falls / of / by) ** of < 1 / 0.045  # moves of a point so rare have the mean back at 0
    assert (found.mean.interval[1] >= 0) is is_missed
    assert (found.conclusion is Conclusion.SIGNIFICANT) is not is_missed
