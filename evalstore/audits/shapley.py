"""Computes Shapley values of a game, exact or sampled; pure.

A game is given by what each set of players is worth. A set of players is an integer whose bits say
who is in it, so a game of n players is a sequence of 2**n values.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cache, lru_cache, reduce
from itertools import product
from math import comb, factorial, lcm, sqrt
from typing import NamedTuple

Worth = Callable[[int], Fraction]
# For each number of a class's players in a set: which counts are worth the same.
Levels = tuple[int, ...]
Counts = tuple[int, ...]

ROUNDS = 64
_ONE_PLAYER: Levels = (0, 1)


class Estimate(NamedTuple):
    """What one player adds.

    It is exact with an error of 0, or else the mean over sampled orders and its standard error.
    """

    share: Fraction
    error: float = 0.0


def compute_shapley(values: Sequence[Fraction]) -> list[Fraction]:
    """Return each player's share of `values[-1] - values[0]`.

    It is the mean of what the player adds, over all orders of players.
    """

    def find_worth(counts: Counts) -> Fraction:
        return values[sum(count << player for player, count in enumerate(counts))]

    return share_by_class([_ONE_PLAYER] * (len(values).bit_length() - 1), find_worth)


def share_by_class(levels: Sequence[Levels], worth: Callable[[Counts], Fraction]) -> list[Fraction]:
    """Return the share of one player of each class of interchangeable players.

    A set of players is worth what the levels of its classes are worth; `levels` has a level for
    each number of players from a class. So ten players any one of whom decides need two values, not
    1,024.
    """
    values = {counts: worth(counts) for counts in product(*map(_list_first_counts, levels))}
    # Sums of integers over one denominator are far faster than sums of fractions.
    unit = lcm(*(value.denominator for value in values.values()))
    amounts = {
        counts: value.numerator * (unit // value.denominator) for counts, value in values.items()
    }
    whole = unit * factorial(sum(len(one) - 1 for one in levels))
    shares: list[Fraction] = []
    for steps in _list_steps(tuple(levels)):
        gain = sum(orders * (amounts[after] - amounts[before]) for before, after, orders in steps)
        shares.append(Fraction(gain, whole))
    return shares


@lru_cache(maxsize=4096)
def _list_steps(levels: tuple[Levels, ...]) -> tuple[tuple[tuple[Counts, Counts, int], ...], ...]:
    """Return by class the steps that one of its players can make.

    Each comes with the number of orders in which that happens. A step is two sets by counts, with
    each level represented by the first count that has it.
    """
    weights = count_orders(sum(len(one) - 1 for one in levels))
    found = []
    for number, own in enumerate(levels):
        steps: list[tuple[Counts, Counts, int]] = []
        others = [_count_sets(one, len(one) - 1) for at, one in enumerate(levels) if at != number]
        for held in range(len(own) - 1):
            if own[held] == own[held + 1]:
                continue
            mine = {held: comb(len(own) - 2, held)}
            for choice in product(*(counted.items() for counted in others)):
                sizes = reduce(_convolve, (by_size for _, by_size in choice), mine)
                orders = sum(sets * weights[size] for size, sets in sizes.items())
                firsts = [count for count, _ in choice]
                before, after = own.index(own[held]), own.index(own[held + 1])
                steps.append(
                    (
                        (*firsts[:number], before, *firsts[number:]),
                        (*firsts[:number], after, *firsts[number:]),
                        orders,
                    )
                )
        found.append(tuple(steps))
    return tuple(found)


def _list_first_counts(levels: Levels) -> list[int]:
    return [count for count, level in enumerate(levels) if levels.index(level) == count]


def _count_sets(levels: Levels, players: int) -> dict[int, dict[int, int]]:
    """Return by level (its first count) how many sets of each size a class has at that level."""
    found: dict[int, dict[int, int]] = {}
    for count, level in enumerate(levels):
        found.setdefault(levels.index(level), {})[count] = comb(players, count)
    return found


def _convolve(left: Mapping[int, int], right: Mapping[int, int]) -> dict[int, int]:
    """Return how many unions there are by size, of one set from each side."""
    found: Counter[int] = Counter()
    for size, sets in left.items():
        for other, more in right.items():
            found[size + other] += sets * more
    return found


@cache
def count_orders(players: int) -> tuple[int, ...]:
    """Return in how many orders exactly a coalition comes before one given player.

    It is by the size of the coalition.
    """
    return tuple(factorial(size) * factorial(players - 1 - size) for size in range(players))


def list_weighted_coalitions(masks: Sequence[int]) -> list[tuple[Fraction, int]]:
    """Return every union of some of `masks`, each with its share of all orders.

    The masks are of players other than a given one.
    """
    weights, whole = count_orders(len(masks) + 1), factorial(len(masks) + 1)
    unions = enumerate(list_unions(masks))
    return [(Fraction(weights[held.bit_count()], whole), union) for held, union in unions]


def list_unions(masks: Iterable[int]) -> list[int]:
    """Return the union of every set of masks.

    They are in the order of the numbers whose bits select the masks.
    """
    unions = [0]
    for mask in masks:
        unions += [union | mask for union in unions]
    return unions


def list_bits(mask: int) -> list[int]:
    """Return the numbers of the bits that are set."""
    return [bit for bit in range(mask.bit_length()) if mask >> bit & 1]


def sample_shares(
    players: Sequence[int], worth: Worth, draw_order: Callable[[random.Random], list[int]]
) -> dict[int, Estimate]:
    """Return what each player adds on average over seeded random orders.

    Like exact shares, these sum to the whole.
    """
    chance = random.Random(20_261_109)  # noqa: S311  # repeatable on purpose
    seen: dict[int, list[Fraction]] = {player: [] for player in players}
    for _ in range(ROUNDS):
        held, before = 0, worth(0)
        for player in draw_order(chance):
            held |= 1 << player
            after = worth(held)
            seen[player].append(after - before)
            before = after
    return {player: _average_gains(gains) for player, gains in seen.items()}


def _average_gains(gains: Sequence[Fraction]) -> Estimate:
    mean = sum(gains, Fraction(0)) / len(gains)
    spread = sum(float(gain - mean) ** 2 for gain in gains)
    return Estimate(mean, sqrt(spread / (len(gains) - 1) / len(gains)))
