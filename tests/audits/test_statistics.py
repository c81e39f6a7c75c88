"""Intervals and p-values: against what is known of them."""

from __future__ import annotations

import time
from fractions import Fraction
from math import sqrt
from statistics import fmean, stdev

import pytest

from evalstore.statistics import NORMAL_FROM, compute_interval, compute_mid_p, find_detectable_effect

ALTERNATING = [Fraction(index % 3, 2) for index in range(60)]


def ungrouped(shares: list[Fraction]) -> tuple[float, float] | None:
    return compute_interval(shares, [None] * len(shares))


def test_fewer_than_two_questions_have_no_interval() -> None:
    assert ungrouped([Fraction(1)]) is None
    assert find_detectable_effect([Fraction(1)]) is None


def test_equal_shares_have_an_interval_of_no_width() -> None:
    assert ungrouped([Fraction(1, 4)] * 5) == (0.25, 0.25)


def test_the_bootstrap_agrees_with_the_normal_interval() -> None:
    floats = [float(share) for share in ALTERNATING]
    reach = 1.96 * stdev(floats) / sqrt(len(floats))
    low, high = ungrouped(ALTERNATING) or (0.0, 0.0)
    assert low == pytest.approx(fmean(floats) - reach, abs=0.02)
    assert high == pytest.approx(fmean(floats) + reach, abs=0.02)
    assert ungrouped(ALTERNATING) == (low, high)  # seeded


def test_copies_in_a_group_are_one_unit_and_make_nothing_surer() -> None:
    shares = ALTERNATING[:15]
    alone = ungrouped(shares)
    copied = compute_interval(
        [share for share in shares for _ in range(4)], [str(g) for g in range(15) for _ in range(4)]
    )
    assert alone is not None
    assert copied == pytest.approx(alone, abs=1e-9)


def test_few_groups_have_no_interval() -> None:
    assert compute_interval([Fraction(i) for i in range(18)], [str(i % 9) for i in range(18)]) is None


def test_a_thousand_questions_take_less_than_a_second_and_agree_with_fewer() -> None:
    start = time.perf_counter()
    bootstrapped = ungrouped((ALTERNATING * 17)[: NORMAL_FROM - 1])
    assert time.perf_counter() - start < 5  # 0.3 s on an idle machine
    assert ungrouped((ALTERNATING * 17)[:NORMAL_FROM]) == pytest.approx(bootstrapped, abs=0.005)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [(43, 32, 0.2067), (3, 3, 1.0), (0, 0, 1.0), (1, 0, 0.5), (8, 0, 2**-8), (0, 8, 2**-8)],
)
def test_mid_p(one: int, other: int, expected: float) -> None:
    assert compute_mid_p(one, other) == pytest.approx(expected, abs=5e-5)
