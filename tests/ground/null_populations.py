"""Populations of questions whose outputs changed but whose mean did not: what a claim must not be made of.

Of the estimated ones only the service behind the judge moved, which anchors show: the rest has no mean of its own.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from fractions import Fraction
from math import exp, sqrt
from typing import NamedTuple

from evalstore.statistics import (
    AnchorShift,
    ChangeEstimate,
    Conclusion,
    count_units,
    estimate_change,
    estimate_mean,
    estimate_rest,
)

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


def draw_falls(one_in: int) -> Callable[[int, random.Random], Shares]:
    """Return the population in which one in so many scores falls by nearly 1, and all others rise a little."""
    rise = Fraction(1, one_in)

    def draw(size: int, chance: random.Random) -> Shares:
        return [rise - (chance.random() < 1 / one_in) for _ in range(size)], [None] * size

    return draw


def draw_tails(size: int, chance: random.Random) -> Shares:
    """Most scores fall a little, and few rise by much: an exponential distribution, less its mean."""
    moves = (min(1.0, 0.3 * (chance.expovariate(1) - 1)) for _ in range(size))
    # What is cut off at 1 has a mean of 0.3 exp(-13/3).
    return [Fraction(round((move + 0.3 * exp(-13 / 3)) * 1000), 1000) for move in moves], [None] * size


def draw_group_falls(size: int, chance: random.Random) -> Shares:
    """Questions come in fours about one text; in one text of ten all scores fall by nine tenths."""
    texts = [Fraction(-9, 10) if chance.random() < 0.1 else Fraction(1, 10) for _ in range(size // 4 + 1)]
    return [texts[number // 4] for number in range(size)], [f"text {number // 4}" for number in range(size)]


# Of these the mean is 0, and a fall is not as likely as a rise of its size, which the sign-flip test takes for granted.
SKEWED: Mapping[str, Callable[[int, random.Random], Shares]] = {
    "lopsided": draw_lopsided,
    "rare falls": draw_falls(10),
    "1 in 20": draw_falls(20),
    "1 in 100": draw_falls(100),
    "tails": draw_tails,
    "text falls": draw_group_falls,
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


class ServiceShift(NamedTuple):
    """How far another service behind the judge moves a score: a draw of it, and its mean."""

    draw: Callable[[random.Random], float]
    mean: float


# Of every store, `ANCHORED` of the questions have equal outputs in both runs.
ESTIMATED: Mapping[str, ServiceShift] = {
    "normal": ServiceShift(lambda chance: chance.gauss(-0.05, 0.2), -0.05),
    "all alike": ServiceShift(lambda _: -0.1, -0.1),
    "1 in 10": ServiceShift(lambda chance: -float(chance.random() < 0.1), -0.1),
    "half": ServiceShift(lambda chance: -0.2 * (chance.random() < 0.5), -0.1),
}


def draw_estimate(name: str, size: int, anchors: int, chance: random.Random) -> ChangeEstimate:
    """Return what is concluded of outputs that are as good as before, where only `anchors` show what the service did."""
    moves = [Fraction(round(max(-1.0, min(1.0, ESTIMATED[name].draw(chance))) * 1000), 1000) for _ in range(size)]
    shift = sum(moves[:anchors], Fraction(0)) / anchors
    rest = [Fraction(0)] * anchors + [move - shift for move in moves[anchors:]]
    known = AnchorShift(count_units(moves[:anchors], [None] * anchors), (size - anchors) / size)
    return estimate_rest(count_units(rest, [None] * size), [known])


def measure_rates(name: str, size: int, draws: int, seed: int, *, anchors: int = 0) -> Rates:
    """Return the rates of one population, from so many draws; with `anchors` it is one of the estimated ones."""
    chance = random.Random(f"{name} {size} {seed}")  # noqa: S311  # repeatable on purpose
    claims = covered = refused = 0
    for _ in range(draws):
        if anchors:
            estimate = draw_estimate(name, size, anchors, chance)
        else:
            estimate = estimate_change(count_units(*{**NULLS, **SKEWED}[name](size, chance)))
        claims += estimate.conclusion is Conclusion.SIGNIFICANT
        if estimate.mean is None:
            refused += 1
        else:
            low, high = estimate.mean.interval
            covered += low <= 0 <= high
    return Rates(claims / draws, None if refused == draws else covered / (draws - refused))


class Answers(NamedTuple):
    """How often a condition fails, cannot be told, and holds."""

    fails: float
    undecided: float
    holds: float


def measure_answers(size: int, effect: float, draws: int, seed: int) -> Answers:
    """Return the answers to own<-0.02 of two models whose scores have a noise of .2 each, and differ by `effect`."""
    chance = random.Random(f"{size} {effect} {seed}")  # noqa: S311  # repeatable on purpose
    fails = holds = 0
    for _ in range(draws):
        moves = (chance.gauss(effect, 0.2 * sqrt(2)) for _ in range(size))
        shares = [Fraction(round(max(-1.0, min(1.0, move)) * 1000), 1000) for move in moves]
        found = estimate_mean(count_units(shares, [None] * size))
        low, high = found.interval if found else (-1.0, 1.0)
        fails += high < -0.02
        holds += low >= -0.02
    return Answers(fails / draws, 1 - (fails + holds) / draws, holds / draws)
