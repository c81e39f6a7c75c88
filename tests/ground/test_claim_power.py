"""The claims of the mean, the verdicts and the typical question: few are false, and the typical one is found."""

from __future__ import annotations

from math import sqrt

import pytest

from tests.ground.claim_power import MOVED, SIZES, SKEWED, SYMMETRIC, measure_claims

DRAWS = 150
_MARGIN = 3 * sqrt(0.05 * 0.95 / DRAWS)  # three standard errors of so few draws


@pytest.mark.sampling
@pytest.mark.heavy
@pytest.mark.parametrize("size", [8, 20, 50])
@pytest.mark.parametrize("name", SYMMETRIC)
def test_a_symmetric_null_is_seldom_claimed(name: str, size: int) -> None:
    """`python -m tests.ground.claim_power` has the table, of more draws."""
    rates = measure_claims(SYMMETRIC[name], size, DRAWS)
    assert max(rates.mean, rates.verdicts, rates.typical) <= 0.05 + _MARGIN


@pytest.mark.sampling
@pytest.mark.heavy
@pytest.mark.parametrize("name", SKEWED)
def test_of_a_skewed_null_the_typical_question_may_move_and_the_mean_does_not(name: str) -> None:
    rates = measure_claims(SKEWED[name], 50, DRAWS)
    assert rates.mean <= 0.05 + _MARGIN
    assert rates.typical > 0.9


@pytest.mark.sampling
@pytest.mark.heavy
@pytest.mark.parametrize(("name", "size"), [("-.10 ± .10", 20), ("-.05 ± .05", 30), ("-.03 ± .05", 50)])
def test_the_typical_question_is_found_where_the_mean_cannot_be(name: str, size: int) -> None:
    """Its power is .85 or more."""
    rates = measure_claims(MOVED[name], size, DRAWS)
    assert rates.typical >= 0.85 - 2 * sqrt(0.85 * 0.15 / DRAWS)
    assert rates.mean < rates.typical


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
def test_the_table_of_claims(size: int) -> None:
    """Of 400 draws a shape, in the bounds of `claim_power`; a minute a size on an idle machine."""
    draws = 400
    margin = 2 * sqrt(0.05 * 0.95 / draws)
    for name, draw in SYMMETRIC.items():
        rates = measure_claims(draw, size, draws)
        print(f"{name}, n {size}: {rates}")  # noqa: T201  # what was measured
        assert max(rates.mean, rates.verdicts, rates.typical) <= 0.05 + margin
    for name, draw in SKEWED.items():
        rates = measure_claims(draw, size, draws)
        print(f"{name}, n {size}: {rates}")  # noqa: T201
        assert rates.mean <= 0.075 + margin
    for name, least in {"-.10 ± .10": 20, "-.05 ± .05": 30, "-.03 ± .05": 50}.items():
        rates = measure_claims(MOVED[name], size, draws)
        print(f"{name}, n {size}: {rates}")  # noqa: T201
        assert size < least or rates.typical >= 0.85 - 2 * sqrt(0.85 * 0.15 / draws)
