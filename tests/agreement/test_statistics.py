"""Rates, intervals, kappa and the constant answer: against numbers worked out by hand, and properties that must hold."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import isclose
from statistics import NormalDist

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstore.agreement import Confusion
from evalstore.agreement.validation_block import round_rate
from evalstore.model import Verdict
from evalstore.statistics import Rate

Z = NormalDist().inv_cdf(0.975)
COUNTS = st.builds(Confusion, *[st.integers(0, 40)] * 4)


@pytest.mark.parametrize(
    ("hits", "of", "low", "high"),
    [
        (0, 10, 0.0, 0.277533),  # z² / (n + z²) = 3.841459 / 13.841459
        (10, 10, 0.722467, 1.0),
        (8, 10, 0.490162, 0.943318),
        (5, 10, 0.236593, 0.763407),
        (1, 1, 0.206549, 1.0),  # 1 / (1 + z²) = 1 / 4.841459
        (93, 100, 0.862505, 0.965681),  # (93 + 1.92073 ± 1.959964 √(6.51 + 0.96036)) / 103.84146
        (50_000, 100_000, 0.496901, 0.503099),
    ],
)
def test_an_interval_is_what_wilson_worked_out(hits: int, of: int, low: float, high: float) -> None:
    assert Rate(hits, of).interval == pytest.approx((low, high), abs=1e-6)


@given(st.integers(1, 3000).flatmap(lambda of: st.tuples(st.integers(0, of), st.just(of))))
def test_an_interval_holds_the_shares_that_the_count_does_not_rule_out(counts: tuple[int, int]) -> None:
    hits, of = counts
    share, (low, high) = hits / of, Rate(hits, of).interval or (9, 9)
    assert 0 <= low <= share <= high <= 1
    for bound in (low, high):  # each bound lies 1.96 of its own standard errors from the share
        assert isclose(of * (share - bound) ** 2, Z**2 * bound * (1 - bound), rel_tol=1e-6, abs_tol=1e-9)
    mirrored = Rate(of - hits, of).interval or (9, 9)
    assert mirrored == pytest.approx((1 - high, 1 - low), abs=1e-12)


def test_none_of_none_is_no_rate() -> None:
    assert Rate(0, 0).value is Rate(0, 0).interval is None
    nothing = Confusion()
    assert nothing.kappa is nothing.tpr.value is nothing.baseline.value is None
    assert not nothing.beats_baseline


@pytest.mark.parametrize(
    ("counts", "kappa"),
    [
        # 35 of 50 agree; by chance (25·30 + 25·20) / 2500 = 1/2 would: (7/10 - 1/2) / (1/2)
        (Confusion(20, 5, 10, 15), Fraction(2, 5)),
        # 83 of 100 agree, and kappa is (83/100 - 75/100) / (25/100)
        (Confusion(76, 9, 8, 7), Fraction(8300 - (85 * 84 + 15 * 16), 10_000 - (85 * 84 + 15 * 16))),
        (Confusion(3, 0, 1, 2), Fraction(2, 3)),
        (Confusion(5, 0, 0, 5), Fraction(1)),
        (Confusion(0, 5, 5, 0), Fraction(-1)),
        (Confusion(9, 0, 1, 0), Fraction(0)),
        (Confusion(0, 7, 0, 0), Fraction(0)),
        (Confusion(7, 0, 0, 0), None),
        (Confusion(0, 0, 0, 7), None),
    ],
)
def test_kappa_is_what_a_pencil_says(counts: Confusion, kappa: Fraction | None) -> None:
    assert counts.kappa == kappa


def test_much_raw_agreement_can_be_little_agreement() -> None:
    skewed = Confusion(76, 9, 8, 7)
    assert skewed.accuracy.value == Fraction(83, 100)
    assert round(float(skewed.kappa or 9), 2) == 0.35
    assert (skewed.constant, skewed.baseline.value, skewed.beats_baseline) == (Verdict.PASS, Fraction(85, 100), False)


@given(COUNTS)
def test_kappa_counted_out_row_by_row_is_the_same(counts: Confusion) -> None:
    rows = [(True, True)] * counts.true_pass + [(True, False)] * counts.false_fail
    rows += [(False, True)] * counts.false_pass + [(False, False)] * counts.true_fail
    agree = sum(label is verdict for label, verdict in rows)
    pairs = sum(one[0] is other[1] for one, other in product(rows, rows)) if len(rows) < 40 else None
    if pairs is not None and pairs < len(rows) ** 2:
        by_chance = Fraction(pairs, len(rows) ** 2)
        assert counts.kappa == (Fraction(agree, len(rows)) - by_chance) / (1 - by_chance)


@given(COUNTS)
def test_laws_of_agreement(counts: Confusion) -> None:
    turned = Confusion(counts.true_fail, counts.false_pass, counts.false_fail, counts.true_pass)
    swapped = Confusion(counts.true_pass, counts.false_pass, counts.false_fail, counts.true_fail)
    assert counts.kappa == turned.kappa == swapped.kappa  # neither pass and fail nor judge and label are special
    assert (counts.tpr, counts.tnr) == (turned.tnr, turned.tpr)
    assert counts.accuracy == turned.accuracy == swapped.accuracy
    assert counts.baseline == turned.baseline
    assert counts.rows == counts.good + counts.bad == counts.accuracy.hits + counts.apart
    if counts.rows:
        assert (counts.baseline.value or 0) >= Fraction(1, 2)
    if counts.kappa is not None:
        assert -1 <= counts.kappa <= 1
        assert (counts.kappa == 1) is (counts.apart == 0)
        assert not counts.beats_baseline or counts.kappa > 0


@pytest.mark.parametrize(
    ("counts", "sure"),
    [
        (Confusion(1, 0, 0, 1), False),
        (Confusion(4, 0, 0, 4), False),
        (Confusion(5, 0, 0, 5), True),
        (Confusion(40, 4, 0, 8), False),
        (Confusion(40, 4, 0, 20), True),
        (Confusion(20, 0, 4, 40), True),
        (Confusion(40, 20, 0, 4), False),
        (Confusion(0, 9, 0, 0), False),
    ],
)
def test_a_constant_answer_is_beaten_for_sure_only_beyond_chance(counts: Confusion, *, sure: bool) -> None:
    assert counts.surely_beats_baseline is sure
    # McNemar's test asks of the rows on which only one of the two is right; for them a coin is thrown.
    only = (
        (counts.true_fail, counts.false_fail)
        if counts.constant is Verdict.PASS
        else (counts.true_pass, counts.false_pass)
    )
    outcomes = [sum(throw) for throw in product((0, 1), repeat=sum(only))] if sum(only) < 14 else []
    further = [abs(2 * one - sum(only)) - abs(only[0] - only[1]) for one in outcomes]
    if outcomes and sum(only):
        p = sum((1 if far > 0 else 1 / 2) for far in further if far >= 0) / len(outcomes)
        assert counts.advantage.p == pytest.approx(p)


@given(st.integers(0, 50), st.integers(0, 50), st.sampled_from(Verdict))
def test_a_judge_that_always_says_the_same_beats_nothing(good: int, bad: int, answer: Verdict) -> None:
    constant = Confusion(good, 0, bad, 0) if answer is Verdict.PASS else Confusion(0, good, 0, bad)
    assert not constant.beats_baseline
    assert constant.kappa in {None, Fraction(0)}
    assert constant.baseline.hits == max(good, bad)


@pytest.mark.heavy
def test_a_written_rate_still_tells_the_count() -> None:
    for of in [*range(1, 130), 999, 1000, 1001, 54_321]:
        for hits in {*range(min(of, 60) + 1), of - 1, of}:
            written = round_rate(Rate(hits, of))
            assert written is not None
            assert round(Fraction(written) * of) == hits
            assert (written == 1) is (hits == of)
            assert (written == 0) is (hits == 0)
    assert [str(round_rate(Rate(*counts))) for counts in ((2, 3), (3, 3), (0, 4), (3, 4), (186, 200), (667, 1000))] == [
        "0.67", "1.0", "0.0", "0.75", "0.93", "0.667",
    ]  # fmt: skip
    assert round_rate(Rate(0, 0)) is None
