"""The statistics against those of scipy and statsmodels, which share no code with them."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction
from typing import Any

import pytest

from evalstore.statistics import (
    Rate,
    compute_holm_p_values,
    compute_mcnemar_p,
    compute_sign_flip_p,
    compute_sign_p,
    correct_share,
    count_units,
    estimate_mean,
    estimate_typical,
    find_student_quantile,
)
from evalstore.statistics.rare_events import bound_rare_rate
from evalstore.statistics.student import compute_student_middle
from tests.ground.claim_power import compute_t_test

pytestmark = pytest.mark.heavy  # for the start of both libraries

SPLITS = [(0, 0), (1, 0), (5, 0), (6, 0), (7, 1), (8, 1), (9, 9), (15, 5), (43, 32), (310, 390), (900, 1100)]


@pytest.fixture(scope="module")
def stats() -> Any:
    return pytest.importorskip("scipy.stats")


def draw_shares(seed: int, size: int, steps: int = 20) -> list[Fraction]:
    chance = random.Random(seed)  # noqa: S311
    return [Fraction(chance.randint(-steps, steps), steps) for _ in range(size)]


@pytest.mark.parametrize("freedom", [1, 2, 3, 12, 29, 30, 199, 1000, 1001, 50_000])
def test_student(stats: Any, freedom: int) -> None:
    for probability in (0.6, 0.8, 0.975, 0.9995):
        quantile = find_student_quantile(probability, freedom)
        assert quantile == pytest.approx(float(stats.t.ppf(probability, freedom)), rel=1e-9)
        if freedom <= 1000:
            middle = stats.t.cdf(quantile, freedom) - stats.t.cdf(-quantile, freedom)
            assert compute_student_middle(quantile, freedom) == pytest.approx(float(middle), abs=1e-10)


@pytest.mark.parametrize("seed", range(4))
def test_the_interval_is_that_of_a_t_test_on_what_was_added(stats: Any, seed: int) -> None:
    """Two observations of half a weight are one of each with every other twice; freedom is that of the questions."""
    shares = draw_shares(seed, 15)
    doubled = [*map(float, shares)] * 2 + [1.0, -1.0, 0.0, 0.0]
    found = estimate_mean(count_units(shares, [None] * 15))
    assert found
    whole = 17
    error = float(stats.tstd(doubled)) * ((2 * whole - 1) / (2 * whole) * whole / (whole - 1) / whole) ** 0.5
    low, high = stats.t.interval(0.95, 14, loc=sum(doubled) / (2 * whole), scale=error)
    assert found.interval == pytest.approx((float(low), float(high)), abs=1e-9)
    seen = stats.ttest_1samp([*map(float, shares)], 0)
    assert found.seen / found.standard_error == pytest.approx(float(seen.statistic), rel=1e-9)


@pytest.mark.parametrize(("falls", "rises"), [(2, 38), (4, 56), (5, 95), (1, 39)])
def test_a_skewed_sample_reaches_towards_0_as_the_transformed_t_does(stats: Any, falls: int, rises: int) -> None:
    """Some fall by 1/2 and others rise by 1/4: the end is where one of Hall's two is Student's quantile, or 0."""
    optimize, special = pytest.importorskip("scipy.optimize"), pytest.importorskip("scipy.special")
    shares, size = [-0.5] * falls + [0.25] * rises, falls + rises
    wanted = float(stats.t.ppf(0.975, size - 1)) / size**0.5
    for turn in (1, -1):
        found = estimate_mean(count_units([Fraction(turn * share) for share in shares], [None] * size))
        assert found
        lean = float(stats.skew(shares)) * ((size - 1) / size) ** 1.5

        def cubic(distance: float, lean: float = lean) -> float:
            return distance + lean * distance**2 / 3 + lean**2 * distance**3 / 27 + lean / 6 / size - wanted

        def exponential(distance: float, lean: float = lean) -> float:
            return float(special.expm1(2 / 3 * lean * distance) * 1.5 / lean + lean / 6 / size - wanted)

        roots = [optimize.brentq(one, -9, 9) for one in (cubic, exponential) if one(9) > 0]
        end = float(stats.tmean(shares) - min(roots) * stats.tstd(shares))
        near, _ = sorted(map(abs, found.interval))
        assert near == pytest.approx(max(0.0, end), abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_sign_flips(stats: Any, seed: int) -> None:
    """The permutations of a paired sample are its flips of sign; outcomes as far as the one seen count half."""
    shares = [share for share in draw_shares(seed, 10, 5) if share]
    test = stats.permutation_test(
        ([*map(float, shares)],), lambda drawn, axis: drawn.sum(axis=axis), permutation_type="samples",
        vectorized=True, n_resamples=float("inf"),
    )  # fmt: skip
    far = [abs(total) - abs(test.statistic) for total in test.null_distribution]
    expected = sum(1.0 if one > 1e-9 else 0.5 if one > -1e-9 else 0.0 for one in far) / len(far)
    assert compute_sign_flip_p(count_units(shares, [None] * len(shares))) == pytest.approx(expected)


@pytest.mark.parametrize(("one", "other"), SPLITS)
def test_mcnemar_and_the_sign_test(stats: Any, one: int, other: int) -> None:
    tables = pytest.importorskip("statsmodels.stats.contingency_tables")
    exact = tables.mcnemar([[7, one], [other, 9]], exact=True).pvalue
    assert compute_sign_p(one, other) == pytest.approx(float(exact), rel=1e-9)
    # Of an even split there is no other of the same distance, which the formula counts in.
    if one != other:
        assert compute_sign_p(one, other) == pytest.approx(stats.binomtest(one, one + other).pvalue, rel=1e-9)
        middle = 2 * stats.binom.cdf(min(one, other), one + other, 0.5) - stats.binom.pmf(one, one + other, 0.5)
        assert compute_mcnemar_p(one, other) == pytest.approx(float(middle), rel=1e-9)


@pytest.mark.parametrize(("hits", "total"), [(0, 4), (3, 13), (5, 200), (200, 200), (300, 4000)])
def test_wilson_and_the_exact_bound(hits: int, total: int) -> None:
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    expected = proportion.proportion_confint(hits, total, method="wilson")
    assert Rate(hits, total).interval == pytest.approx([*map(float, expected)], abs=1e-12)
    _, high = proportion.proportion_confint(hits, total, method="beta")
    assert bound_rare_rate(hits, total) == pytest.approx(float(high), rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_holm(seed: int) -> None:
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    chance = random.Random(seed)  # noqa: S311
    p_values = [chance.random() ** 4 for _ in range(9)]
    assert compute_holm_p_values(p_values) == pytest.approx(
        [*map(float, multitest.multipletests(p_values, method="holm")[1])]
    )


@pytest.mark.parametrize(("passed", "of"), [(30, 60), (90, 120), (70, 300)])
def test_fieller(passed: int, of: int) -> None:
    """Its ends are where the distance from the judged share is so many standard errors."""
    optimize, stats = pytest.importorskip("scipy.optimize"), pytest.importorskip("scipy.stats")
    good, bad = Rate(45, 50), Rate(38, 40)
    found = correct_share(Counter({(Fraction(1), 1): passed, (Fraction(0), 1): of - passed}), good, bad)
    assert found
    quantile = float(stats.t.ppf(0.975, of - 1))

    def smooth(hits: float, total: float, added: float) -> tuple[float, float]:
        share = (hits + added / 2) / (total + added)
        return share, share * (1 - share) / (total + added)

    # The size of the sample as it varies, with the added observations of the interval.
    error = estimate_mean(Counter({(Fraction(1), 1): passed, (Fraction(0), 1): of - passed}))
    assert error
    size = min(float(of), passed / of * (1 - passed / of) / error.standard_error**2)
    judged, tpr, tnr = smooth(passed / of * size, size, quantile**2), smooth(45, 50, 2), smooth(38, 40, 2)

    def distance(share: float) -> float:
        expected = share * tpr[0] + (1 - share) * (1 - tnr[0])
        spread = judged[1] + share**2 * tpr[1] + (1 - share) ** 2 * tnr[1]
        return float((judged[0] - expected) ** 2 - quantile**2 * spread)

    middle = (judged[0] + tnr[0] - 1) / (tpr[0] + tnr[0] - 1)
    ends = optimize.brentq(distance, middle - 1, middle), optimize.brentq(distance, middle, middle + 1)
    assert found.interval == pytest.approx((max(0.0, ends[0]), min(1.0, ends[1])), abs=1e-9)


@pytest.mark.parametrize("size", [6, 7, 20, 31, 200, 1500])
def test_the_interval_of_a_median(stats: Any, size: int) -> None:
    """It leaves out 2.5 % of all samples or less on either side, and one rank further in it would not."""
    found = estimate_typical(count_units([Fraction(rank, size) for rank in range(1, size + 1)], [None] * size))
    assert found
    rank = round(found.interval[0] * size)
    assert round(found.interval[1] * size) == size + 1 - rank
    assert stats.binom.cdf(rank - 1, size, 0.5) <= 0.025 < stats.binom.cdf(rank, size, 0.5)
    assert found.median == Fraction(size + 1, 2 * size)


def test_the_t_test_beside_the_claims(stats: Any) -> None:
    for seed in range(3):
        shares = draw_shares(seed, 15)
        expected = float(stats.ttest_1samp([*map(float, shares)], 0).pvalue)
        assert compute_t_test(shares) == pytest.approx(expected, abs=1e-9)
