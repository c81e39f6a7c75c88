"""Computes Shapley values of a game given by what each set of players is worth, exact or sampled; pure.

A set of players is a whole number whose bits say who is in it, so a game of n players is a sequence of 2**n values.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import product
from math import comb, factorial, lcm, prod, sqrt
from typing import NamedTuple

Worth = Callable[[int], Fraction]

ROUNDS = 64
_SEED = 20_261_109


class Estimate(NamedTuple):
    """What one player adds: exact with an error of 0, else the mean over sampled orders and its standard error."""

    share: Fraction
    error: float = 0.0


def compute_shapley(values: Sequence[Fraction]) -> list[Fraction]:
    """Return each player's share of `values[-1] - values[0]`: the mean of what it adds, over all orders of players."""
    players = len(values).bit_length() - 1
    weights = count_orders(players)
    # Sums of whole numbers over one denominator are far faster than sums of fractions.
    unit = lcm(*(value.denominator for value in values))
    worth = [value.numerator * (unit // value.denominator) for value in values]
    whole = unit * factorial(players)
    return [
        Fraction(
            sum(
                weights[held.bit_count()] * (worth[held | 1 << player] - worth[held])
                for held in _list_without(player, players)
            ),
            whole,
        )
        for player in range(players)
    ]


def share_by_class(sizes: Sequence[int], worth: Callable[[tuple[int, ...]], Fraction]) -> list[Fraction]:
    """Return the share of one player of each class, where players of a class are interchangeable.

    `sizes` are those of the classes, and a set of players is worth what it is by how many of each class are in it, so
    that ten of one class need eleven values and not 1,024.
    """
    values = {counts: worth(counts) for counts in product(*(range(size + 1) for size in sizes))}
    unit = lcm(*(value.denominator for value in values.values()))
    amounts = {counts: value.numerator * (unit // value.denominator) for counts, value in values.items()}
    weights, whole = count_orders(sum(sizes)), unit * factorial(sum(sizes))
    shares = []
    for number, size in enumerate(sizes):
        total = 0
        for counts, before in amounts.items():
            if counts[number] == size:
                continue
            after = amounts[(*counts[:number], counts[number] + 1, *counts[number + 1 :])]
            if after != before:
                others = (
                    comb(all_ - (at == number), held) for at, (all_, held) in enumerate(zip(sizes, counts, strict=True))
                )
                total += prod(others) * weights[sum(counts)] * (after - before)
        shares.append(Fraction(total, whole))
    return shares


@cache
def count_orders(players: int) -> tuple[int, ...]:
    """Return, by size of a coalition, in how many orders exactly it comes before one given player."""
    return tuple(factorial(size) * factorial(players - 1 - size) for size in range(players))


def list_weighted_coalitions(masks: Sequence[int]) -> list[tuple[Fraction, int]]:
    """Return every union of some of `masks` (players other than a given one), each with its share of all orders."""
    weights, whole = count_orders(len(masks) + 1), factorial(len(masks) + 1)
    return [(Fraction(weights[held.bit_count()], whole), join_masks(masks, held)) for held in range(1 << len(masks))]


def join_masks(masks: Sequence[int], held: int) -> int:
    """Return the union of those masks whose numbers are in `held`."""
    union = 0
    for number, mask in enumerate(masks):
        if held >> number & 1:
            union |= mask
    return union


def sample_shares(
    players: Sequence[int], worth: Worth, draw_order: Callable[[random.Random], list[int]]
) -> dict[int, Estimate]:
    """Return what each player adds on average over seeded random orders, which sum to the whole like exact shares."""
    chance = random.Random(_SEED)  # noqa: S311  # repeatable on purpose
    seen: dict[int, list[Fraction]] = {player: [] for player in players}
    for _ in range(ROUNDS):
        held, before = 0, worth(0)
        for player in draw_order(chance):
            held |= 1 << player
            after = worth(held)
            seen[player].append(after - before)
            before = after
    return {player: _average_gains(gains) for player, gains in seen.items()}


def _list_without(player: int, players: int) -> Iterator[int]:
    """Yield every set that one player is not in."""
    return (held for held in range(1 << players) if not held >> player & 1)


def _average_gains(gains: Sequence[Fraction]) -> Estimate:
    mean = sum(gains, Fraction(0)) / len(gains)
    spread = sum(float(gain - mean) ** 2 for gain in gains)
    return Estimate(mean, sqrt(spread / (len(gains) - 1) / len(gains)))
