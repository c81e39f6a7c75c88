"""Distributes one question's change among the players, and their shares among edits; exact, pure.

Edits are the leaves of a tree: a player contains checks, a check contains items, and the children
of a node form a coalition, which enters together (Owen value; for nested coalitions, Winter's). So
the edits' shares sum to the check's, these to the player's, and the players' to the whole.

An example in points: a rubric changes by two edits, `ban` and `brief`, and the output changes.

                no edit     ban   brief    both
    old output      100     100      60      60
    new output       90      40      70      40

The score falls by 60. The output takes 10 when it changes first (100 to 90) and 20 when it changes
last (60 to 40): its share is -15. The rubric takes 40 first (100 to 60) and 50 last (90 to 40):
-45. Within the rubric a subset of edits is worth its mean over both outputs: `ban` (0 - 50) / 2 =
-25, `brief` (-40 - 20) / 2 = -30, both together -45. So `ban` adds -25 before `brief` and -45 + 30
= -15 after it: its share is -20. `brief` adds -30 before and -20 after: -25.
The edits sum to -45, and with the output to -60.

Players whose mixes have no score move together: they are one joint player of the smallest such set.
Within a player, a subset of edits may give a rubric that scores nothing (its only check is removed,
and the new one not yet added); such a subset is worth nothing, as if none of its edits had been
made. The sums stay exact.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from math import prod
from types import MappingProxyType
from typing import Any

from evalstore.audits.shapley import (
    Estimate,
    Levels,
    Worth,
    compute_shapley,
    list_bits,
    list_unions,
    list_weighted_coalitions,
    sample_shares,
    share_by_class,
)

# A set of edits is an integer whose bits are their numbers; a cell without a score is None.
Cells = Callable[[int], Fraction | None]
Block = tuple[int, ...]  # the numbers of the players that move together

# Shares are exact up to this many edits of one question, and beyond that as long as they need no
# more than this many cells.
EXACT_EDITS = 10
_EXACT_CELLS = 1 << 12
_NONE_ALIKE: Alike = MappingProxyType({})


@dataclass(frozen=True, slots=True, eq=False)
class EditClass:
    """Edits that are interchangeable.

    Each adds an item that is like the others, or each removes one. `decisive` is how many items
    decide: more of them change nothing. The identity of the object matters: another one that looks
    the same has other edits.
    """

    decisive: int
    adds: bool

    def list_levels(self, size: int) -> Levels:
        """Return how many items count, by how many of `size` edits are made."""
        return _list_item_levels(size, self.decisive, self.adds)


@cache
def _list_item_levels(
    size: int,
    decisive: int,
    adds: bool,  # noqa: FBT001  # a fact of the class
) -> Levels:
    items = range(size + 1) if adds else range(size, -1, -1)
    return tuple(min(count, decisive) for count in items)


Alike = Mapping[int, EditClass]


@dataclass(frozen=True)
class Coalition:
    """A node in the tree of edits: its members enter together; if `ordered`, only in this order."""

    members: tuple[Coalition | int, ...]
    ordered: bool = False

    @cached_property
    def edits(self) -> int:
        """All edits below, as a set."""
        return sum(find_edits(member) for member in self.members)


@dataclass(frozen=True, slots=True)
class Attribution:
    """The shares of one change, by block of players, and those of the edits.

    `first` and `last` are a block's effects when it enters first or last. `edits` has the shares of
    a block's edits by number; those of a joint block cannot be separated, so it has none.
    """

    old: Fraction
    new: Fraction
    shares: Mapping[Block, Fraction]
    first: Mapping[Block, Fraction]
    last: Mapping[Block, Fraction]
    edits: Mapping[int, Estimate]


def find_edits(member: Coalition | int) -> int:
    """Return the edits of a node as a set, or those of one edit."""
    return member.edits if isinstance(member, Coalition) else 1 << member


def find_blocks(players: Sequence[Coalition], cells: Cells) -> tuple[Block, ...] | None:
    """Return the players in the smallest blocks whose mixes all have a score.

    Returns None if an end has no score.
    """
    masks = [player.edits for player in players]
    for blocks in list_partitions(len(players)):
        joined = [_join_block(block, masks) for block in blocks]
        if all(cells(held) is not None for held in list_unions(joined)):
            return blocks
    return None


@cache
def list_partitions(players: int) -> tuple[tuple[Block, ...], ...]:
    """Return the partitions of the players into blocks.

    Partitions with the most blocks come first, and among these, those whose largest block is
    smallest.
    """
    found = [tuple(map(tuple, partition)) for partition in _partition(list(range(players)))]
    return tuple(
        sorted(found, key=lambda blocks: (-len(blocks), max(map(len, blocks), default=0), blocks))
    )


def attribute_change(
    players: Sequence[Coalition], blocks: Sequence[Block], cells: Cells, alike: Alike = _NONE_ALIKE
) -> Attribution:
    """Share out `cells(all edits) - cells(0)`; every mix of whole blocks has a score.

    Edits of one node with the same class in `alike` are interchangeable: only how many are made
    counts.
    """
    masks = [player.edits for player in players]
    joined = [_join_block(block, masks) for block in blocks]
    values = [_require_score(cells, held) for held in list_unions(joined)]
    shares = compute_shapley(values)
    whole = len(values) - 1
    without = [values[whole & ~(1 << number)] for number in range(len(blocks))]
    edits: dict[int, Estimate] = {}
    for number, block in enumerate(blocks):
        if len(block) == 1:
            others = [mask for other, mask in enumerate(joined) if other != number]
            edits |= share_within_player(players[block[0]], shares[number], others, cells, alike)
    return Attribution(
        old=values[0],
        new=values[-1],
        shares=dict(zip(blocks, shares, strict=True)),
        first={block: values[1 << number] - values[0] for number, block in enumerate(blocks)},
        last={block: values[whole] - before for block, before in zip(blocks, without, strict=True)},
        edits=edits,
    )


def share_within_player(
    player: Coalition, share: Fraction, others: Sequence[int], cells: Cells, alike: Alike
) -> Mapping[int, Estimate]:
    """Return the shares of one player's edits; `others` are the edits of the other blocks."""
    # A single edit has the whole share of its player and needs no more cells.
    if player.edits.bit_count() == 1:
        return {player.edits.bit_length() - 1: Estimate(share)}
    # The outer coalition: the weight of each set of players that came before this one, and what
    # that set is worth alone.
    coalitions = list_weighted_coalitions(others)
    outer = [(weight, before, _require_score(cells, before)) for weight, before in coalitions]

    @cache
    def gain(held: int) -> Fraction:
        if not held:
            return Fraction(0)
        total = Fraction(0)
        for weight, before, worth in outer:
            after = cells(before | held)
            # A subset of edits without a score adds nothing yet (see the top of this module); most
            # subsets add nothing at all.
            if after is not None and after != worth:
                total += weight * (after - worth)
        return total

    if player.edits.bit_count() <= EXACT_EDITS or _count_cells(player, alike) <= _EXACT_CELLS:
        return _share_exactly(player, gain, alike)
    return sample_shares(list_bits(player.edits), gain, lambda chance: _draw_order(player, chance))


def _share_exactly(node: Coalition, gain: Worth, alike: Alike) -> dict[int, Estimate]:
    """Return the shares of a node's edits, given that a set of them is worth `gain`."""
    if node.ordered:
        masks = [find_edits(member) for member in node.members]
        shares = _share_in_order(masks, gain)
        edits: Any = node.members  # an ordered node contains edits only
        return {edit: Estimate(share) for edit, share in zip(edits, shares, strict=True)}
    classes = _list_classes(node, alike)

    def count_worth(counts: tuple[int, ...]) -> Fraction:
        present = (members[:count] for members, count in zip(classes, counts, strict=True))
        return gain(sum(find_edits(one) for members in present for one in members))

    found: dict[int, Estimate] = {}
    shares = share_by_class([_list_levels(members, alike) for members in classes], count_worth)
    for members, share in zip(classes, shares, strict=True):
        for member in members:
            if isinstance(member, int):
                found[member] = Estimate(share)
                continue
            siblings = [find_edits(other) for other in node.members if other is not member]
            inner = (
                gain if not siblings else _average_gain(gain, list_weighted_coalitions(siblings))
            )
            found |= _share_exactly(member, inner, alike)
    return found


def _list_classes(node: Coalition, alike: Alike) -> list[list[Coalition | int]]:
    """Return a node's members, with interchangeable ones together."""
    classes: dict[object, list[Coalition | int]] = {}
    for place, member in enumerate(node.members):
        name = alike.get(member) if isinstance(member, int) else None
        classes.setdefault(place if name is None else name, []).append(member)
    return list(classes.values())


def _list_levels(members: Sequence[Coalition | int], alike: Alike) -> Levels:
    name = alike.get(members[0]) if isinstance(members[0], int) else None
    return name.list_levels(len(members)) if name else (0, 1)


def _average_gain(gain: Worth, outer: Sequence[tuple[Fraction, int]]) -> Worth:
    """Return what a set within a node adds on average.

    The average is over the orders in which its siblings come before.
    """

    @cache
    def inner(held: int) -> Fraction:
        return sum(
            (weight * (gain(before | held) - gain(before)) for weight, before in outer), Fraction(0)
        )

    return inner


def _share_in_order(masks: Sequence[int], gain: Worth) -> list[Fraction]:
    held, shares = 0, []
    for mask in masks:
        shares.append(gain(held | mask) - gain(held))
        held |= mask
    return shares


def _draw_order(node: Coalition, chance: random.Random) -> list[int]:
    members = list(node.members) if node.ordered else chance.sample(node.members, len(node.members))
    order: list[int] = []
    for member in members:
        order += [member] if isinstance(member, int) else _draw_order(member, chance)
    return order


def _count_cells(node: Coalition, alike: Alike, contexts: int = 1) -> int:
    """Return an upper bound of the sets of edits needed for exact shares of a node."""
    if node.ordered:
        return contexts * (len(node.members) + 1)
    own = prod(len({*_list_levels(members, alike)}) for members in _list_classes(node, alike))
    inner = contexts << max(0, len(node.members) - 1)
    below = (member for member in node.members if isinstance(member, Coalition))
    return contexts * own + sum(_count_cells(member, alike, inner) for member in below)


def _require_score(cells: Cells, held: int) -> Fraction:
    score = cells(held)
    if score is None:
        raise AssertionError("a mix of whole versions lost its score")
    return score


def _join_block(block: Block, masks: Sequence[int]) -> int:
    return sum(masks[player] for player in block)


def _partition(players: list[int]) -> Iterator[list[list[int]]]:
    if not players:
        yield []
        return
    first, *rest = players
    for partition in _partition(rest):
        yield [[first], *partition]
        for number, block in enumerate(partition):
            yield [*partition[:number], [first, *block], *partition[number + 1 :]]
