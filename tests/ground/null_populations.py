"""Populations of questions whose outputs changed but whose mean did not: what a claim must not be made of."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import NamedTuple

SIZES = (2, 3, 5, 8, 13, 20, 35, 60, 110, 200)

Shares = tuple[list[Fraction], list[str | None]]


def draw_verdicts(size: int, chance: random.Random) -> Shares:
    """One in five verdicts turns, either way."""
    return [Fraction(chance.choice((-1, 1)) if chance.random() < 0.2 else 0) for _ in range(size)], [None] * size


def draw_halves(size: int, chance: random.Random) -> Shares:
    """One of two checks turns in every third question."""
    return [Fraction(chance.choice((-1, 1)), 2) if chance.random() < 1 / 3 else Fraction(0) for _ in range(size)], [
        None
    ] * size


def draw_scores(size: int, chance: random.Random) -> Shares:
    """Every score moves a little, in steps of a twentieth."""
    moves = (round(max(-1.0, min(1.0, chance.gauss(0, 0.2))) * 20) for _ in range(size))
    return [Fraction(move, 20) for move in moves], [None] * size


def draw_mixture(size: int, chance: random.Random) -> Shares:
    """Half the scores move by a tenth, one in twenty falls or rises altogether."""
    sizes = (Fraction(1, 10) if dice < 0.5 else Fraction(dice < 0.55) for dice in iter(chance.random, None))
    return [chance.choice((-1, 1)) * next(sizes) for _ in range(size)], [None] * size


def draw_groups(size: int, chance: random.Random) -> Shares:
    """Questions come in fours about one text, and their moves have a common part."""
    shares, groups = [], []
    for number in range(size):
        if number % 4 == 0:
            common = chance.gauss(0, 0.3)
        move = round(max(-1.0, min(1.0, common + chance.gauss(0, 0.15))) * 20)
        shares.append(Fraction(move, 20))
        groups.append(f"text {number // 4}")
    return shares, list(groups)


def draw_lopsided(size: int, chance: random.Random) -> Shares:
    """Half the scores move: one in three of these falls by a half, the others rise by a quarter."""
    moves = (Fraction(-1, 2) if dice < 1 / 6 else Fraction(dice < 0.5, 4) for dice in iter(chance.random, None))
    return [next(moves) for _ in range(size)], [None] * size


def draw_rare_falls(size: int, chance: random.Random) -> Shares:
    """One in ten scores falls by nine tenths, and all others rise by one."""
    return [Fraction(-9, 10) if chance.random() < 0.1 else Fraction(1, 10) for _ in range(size)], [None] * size


# Of these the mean is 0, and a fall is not as likely as a rise of its size, which the sign-flip test takes for granted.
SKEWED: Mapping[str, Callable[[int, random.Random], Shares]] = {
    "lopsided": draw_lopsided,
    "rare falls": draw_rare_falls,
}
NULLS: Mapping[str, Callable[[int, random.Random], Shares]] = {
    "verdicts": draw_verdicts,
    "halves": draw_halves,
    "scores": draw_scores,
    "mixture": draw_mixture,
    "groups": draw_groups,
}


class Rates(NamedTuple):
    """How often a population was claimed to have moved, and how often an interval held its mean, 0 (None: no interval)."""

    false_claims: float
    coverage: float | None


def measure_rates(name: str, size: int, draws: int, seed: int) -> Rates:
    """Return the rates of one population, from so many draws."""
    from evalstore.statistics import Conclusion, count_units, estimate_change

    chance = random.Random(f"{name} {size} {seed}")  # noqa: S311  # repeatable on purpose
    claims = covered = refused = 0
    for _ in range(draws):
        estimate = estimate_change(count_units(*{**NULLS, **SKEWED}[name](size, chance)))
        claims += estimate.conclusion is Conclusion.SIGNIFICANT
        if estimate.mean is None:
            refused += 1
        else:
            low, high = estimate.mean.interval
            covered += low <= 0 <= high
    return Rates(claims / draws, None if refused == draws else covered / (draws - refused))
