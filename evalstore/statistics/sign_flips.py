"""The sign-flip test of a mean, McNemar's test of flips, and the sign test; seeded, pure.

Its p-values, except that of the sign test, are mid-p: an outcome exactly as extreme as the observed
one counts half. The sign-flip test says how often chance alone moves a mean as far, if each move
could as well go the other way. If all moves have one size, as with verdicts, it is McNemar's, and
exact for any number of them.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import comb, exp, fsum, lcm, lgamma, log, log1p, pi, sqrt
from operator import mul

from evalstore.statistics.paired_mean import Unit

EXACT_MOVES = 12
EXACT_FLIPS = 1000
SAMPLED_FLIPS = 4000
# The sum of all smaller moves is drawn as one, from its normal distribution.
_DRAWN_SIZES = 200
_SERIES_FROM = 16


def compute_sign_flip_p(units: Counter[Unit]) -> float:
    """Return the two-sided mid-p of the mean from how often each unit occurs.

    A group flips as one.
    """
    moves: Counter[Fraction] = Counter()
    for (total, _), times in units.items():
        moves[total] += times if total else 0
    moves = +moves
    sizes: Counter[float] = Counter()
    for move, times in moves.items():
        sizes[abs(float(move))] += times
    if len(sizes) <= 1:
        up = sum(times for move, times in moves.items() if move > 0)
        return compute_mcnemar_p(up, moves.total() - up)
    if moves.total() <= EXACT_MOVES:
        return _count_all_flips([*moves.elements()])
    return _sample_flips(sizes, abs(fsum(float(move) * times for move, times in moves.items())))


def compute_claim_p(units: Counter[Unit], p: float) -> float:
    """Return the p by which a mean is claimed: the mid-p, or the exact p if all moves are alike.

    Mid-p is right on average over how many units moved. If all did, nothing is averaged: for 16
    verdicts that turn, it would claim a mean in .077 of all samples.
    """
    sizes = {abs(total) for total, _ in units}
    if len(sizes) > 1 or 0 in sizes:
        return p
    ups = sum(times for (total, _), times in units.items() if total > 0)
    return compute_sign_p(ups, units.total() - ups)


def compute_mcnemar_p(one: int, other: int) -> float:
    """Return McNemar's mid-p of two counts of flips (Fagerland 2013).

    It is how often chance splits them as unevenly.
    """
    flips, fewer = one + other, min(one, other)
    if not flips:
        return 1.0
    if flips > EXACT_FLIPS:
        term = _compute_binomial_term(flips, fewer)
        # An even split is the most likely of all, and the only one that does not occur twice.
        return 1 - term / 2 if one == other else term + 2 * _sum_below(flips, fewer, term)
    term, whole = comb(flips, fewer), 2**flips
    below = sum(comb(flips, count) for count in range(fewer))
    return float(
        Fraction(2 * whole - term, 2 * whole) if one == other else Fraction(term + 2 * below, whole)
    )


def compute_sign_p(one: int, other: int) -> float:
    """Return the p of the exact sign test: how often chance splits two counts as unevenly."""
    if one == other:
        return 1.0
    return compute_mcnemar_p(one, other) + _compute_split_probability(one + other, min(one, other))


def _compute_split_probability(flips: int, fewer: int) -> float:
    """Return how likely it is that `fewer` of `flips` go one given way."""
    if flips > EXACT_FLIPS:
        return _compute_binomial_term(flips, fewer)
    return float(Fraction(comb(flips, fewer), 2**flips))


def _count_all_flips(moves: Sequence[Fraction]) -> float:
    scale = lcm(*(move.denominator for move in moves))
    whole = [int(move * scale) for move in moves]
    sums = [0]
    for move in whole:
        sums = [total + sign * move for total in sums for sign in (1, -1)]
    seen = abs(sum(whole))
    return sum(1.0 if abs(total) > seen else 0.5 for total in sums if abs(total) >= seen) / len(
        sums
    )


def _sample_flips(sizes: Mapping[float, int], seen: float) -> float:
    chance = random.Random(20_261_109)  # noqa: S311  # repeatable on purpose
    ranked = sorted(sizes.items(), reverse=True)
    drawn = [size for size, _ in ranked[:_DRAWN_SIZES]]
    counts = [count for _, count in ranked[:_DRAWN_SIZES]]
    reach = sum(map(mul, drawn, counts))
    spread = sqrt(sum(size * size * count for size, count in ranked[_DRAWN_SIZES:]))
    # The observed flip is one of all, so no p-value is 0.
    hits, tie = 0.5, 1e-12 * max(1.0, seen)  # below this, two sums of floats are the same
    for _ in range(SAMPLED_FLIPS):
        # As many moves of each size as bits are set go up, the others down.
        ups = map(int.bit_count, map(chance.getrandbits, counts))
        total = 2 * sum(map(mul, drawn, ups)) - reach
        distance = abs(total + (chance.gauss(0, spread) if spread else 0.0)) - seen
        # A flip at least as extreme as the observed one is a hit; a tie is half of one.
        hits += 0.5 * (distance > tie) + 0.5 * (distance >= -tie)
    return hits / (SAMPLED_FLIPS + 1)


def _sum_below(flips: int, fewer: int, term: float) -> float:
    """Return the sum of all terms below `term`, each from the one above it.

    It ends when they no longer count.
    """
    total = 0.0
    for count in range(fewer, 0, -1):
        term *= count / (flips - count + 1)
        total += term
        if term <= total * 1e-18:
            break
    return total


def _compute_binomial_term(flips: int, count: int) -> float:
    """Return the probability of `count` of `flips` at one half, to 12 digits (Loader 2000).

    A difference of three values of `lgamma` would lose seven of its digits at 100,000 flips.
    """
    rest = flips - count
    if not count:
        return exp(-flips * log(2))
    lean = (count - rest) / flips
    distance = count * log1p(lean) + rest * log1p(-lean)
    errors = (
        _compute_stirling_error(flips)
        - _compute_stirling_error(count)
        - _compute_stirling_error(rest)
    )
    return sqrt(flips / (2 * pi * count * rest)) * exp(errors - distance)


def _compute_stirling_error(number: int) -> float:
    """Return the logarithm of the factorial, minus that of Stirling's formula."""
    if number < _SERIES_FROM:
        return lgamma(number + 1) - (number + 0.5) * log(number) + number - 0.5 * log(2 * pi)
    square = 1 / number**2
    return (
        1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - square / 1188) * square) * square) * square
    ) / number
