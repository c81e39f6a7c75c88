"""Bounds what each player can have done to one question, from its two scores and proved directions alone; pure.

A mix of the two runs that nobody graded has some score from 0 to 1. Where a player is proved only to lower scores, each
mix with its change scores at most what the same mix scores without it. So every share, which is a mean of such
differences, has a least and a largest value; and as the shares sum to the change, each also has what the others leave.

An example in points: the score falls from 80 to 60, by a rubric that can only be stricter and by another output. The
old output has 0 to 80 under the new rubric, and the new output 60 to 100 under the old one. The rubric's share is the
mean of (0 to 80) - 80 and 60 - (60 to 100): -60 to 0. The output's is what is left of -20: -20 to +40.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import factorial
from typing import NamedTuple

from evalstore.diff.findings import Direction

_ZERO, _ONE = Fraction(0), Fraction(1)


class ShareBounds(NamedTuple):
    """The least and the largest value of a share, both included."""

    least: Fraction = _ZERO
    most: Fraction = _ZERO

    def __add__(self, other: object) -> ShareBounds:
        """Return the bounds of the sum of two shares."""
        if not isinstance(other, ShareBounds):
            return NotImplemented
        return ShareBounds(self.least + other.least, self.most + other.most)

    def divide_by(self, count: int) -> ShareBounds:
        """Return the bounds of the mean of so many shares that these are the sum of."""
        return ShareBounds(self.least / count, self.most / count)


def bound_shares(old: Fraction, new: Fraction, directions: Sequence[Direction]) -> tuple[ShareBounds, ...]:
    """Return the bounds of each player's Shapley share of `new - old`, given where each can move a score."""
    cells = _bound_cells(old, new, directions)
    shares = [_bound_share(cells, player, direction) for player, direction in enumerate(directions)]
    least, most = (sum(ends, _ZERO) for ends in zip(*shares, strict=True))
    change = new - old
    # What one player did is what all did without what the others can have done.
    return tuple(
        ShareBounds(max(own.least, change - (most - own.most)), min(own.most, change - (least - own.least)))
        for own in shares
    )


def _bound_cells(old: Fraction, new: Fraction, directions: Sequence[Direction]) -> list[ShareBounds]:
    """Return the bounds of the score of every mix, by the set of players that changed."""
    cells = [ShareBounds(_ZERO, _ONE) for _ in range(1 << len(directions))]
    cells[0], cells[-1] = ShareBounds(old, old), ShareBounds(new, new)
    # A bound of one cell can follow from that of another one, along as many players as there are.
    for _ in directions:
        for player, direction in enumerate(directions):
            for before, after in _list_pairs(player, len(directions)):
                lower, upper = _order_pair(before, after, direction)
                for below, above in zip(lower, upper, strict=True):
                    low, high = cells[below], cells[above]
                    cells[below] = ShareBounds(low.least, min(low.most, high.most))
                    cells[above] = ShareBounds(max(low.least, high.least), high.most)
    return cells


def _order_pair(before: int, after: int, direction: Direction) -> tuple[Sequence[int], Sequence[int]]:
    """Return the cells that are at most others, and those others in the same order."""
    pairs: Mapping[Direction, tuple[Sequence[int], Sequence[int]]] = {
        Direction.STRICTER: ([after], [before]),
        Direction.LOOSER: ([before], [after]),
        Direction.NONE: ([after, before], [before, after]),
        Direction.EITHER: ([], []),
    }
    return pairs[direction]


def _bound_share(cells: Sequence[ShareBounds], player: int, direction: Direction) -> ShareBounds:
    players = len(cells).bit_length() - 1
    total = ShareBounds()
    for before, after in _list_pairs(player, players):
        size = before.bit_count()
        weight = Fraction(factorial(size) * factorial(players - size - 1), factorial(players))
        least, most = cells[after].least - cells[before].most, cells[after].most - cells[before].least
        least = max(least, _ZERO) if direction in {Direction.LOOSER, Direction.NONE} else least
        most = min(most, _ZERO) if direction in {Direction.STRICTER, Direction.NONE} else most
        total += ShareBounds(weight * least, weight * most)
    return total


def _list_pairs(player: int, players: int) -> list[tuple[int, int]]:
    """Return every set of players without one of them, and the same set with it."""
    bit = 1 << player
    return [(held, held | bit) for held in range(1 << players) if not held & bit]
