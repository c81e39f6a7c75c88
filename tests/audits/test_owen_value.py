"""Attribution on random cells, without rubrics: nested coalitions get the mean over all orders that keep them together."""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction
from itertools import permutations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstore.audits import attribution
from evalstore.audits.attribution import (
    EXACT_EDITS,
    Attribution,
    Coalition,
    EditClass,
    attribute_change,
    find_blocks,
    list_partitions,
)
from evalstore.audits.questions.question_cells import AlikeItems

RUBRIC = Coalition((Coalition((0, 1)), Coalition((2,)), 3))
JUDGE = Coalition((Coalition((4, 5), ordered=True),))
OUTPUTS = Coalition((6,))
trees = st.lists(st.sampled_from([RUBRIC, JUDGE, OUTPUTS]), min_size=1, max_size=3, unique=True)
seeds = st.integers(0, 2**32)


def random_cell(seed: int, mask: int) -> Fraction:
    return Fraction(random.Random(f"{seed} {mask}").randint(0, 12), 12)  # noqa: S311  # no secret


def attributed(names: list[Coalition], seed: int) -> Attribution:
    cells = {mask: random_cell(seed, mask) for mask in range(1 << 7)}
    return attribute_change(names, [(number,) for number in range(len(names))], cells.get)


def orders(node: Coalition | int) -> Iterator[list[int]]:
    """Yield every order of edits in which the members of each coalition follow each other."""
    if isinstance(node, int):
        yield [node]
        return
    for members in [node.members] if node.ordered else permutations(node.members):
        for blocks in product(*(list(orders(member)) for member in members)):
            yield [edit for block in blocks for edit in block]


@given(trees, seeds)
def test_edits_get_their_mean_over_all_orders(names: list[Coalition], seed: int) -> None:
    found, gains = attributed(names, seed), {}
    for order in orders(Coalition(tuple(names))):
        held = 0
        for edit in order:
            gain = random_cell(seed, held | 1 << edit) - random_cell(seed, held)
            gains.setdefault(edit, []).append(gain)
            held |= 1 << edit
    assert {edit: one.share for edit, one in found.edits.items()} == {
        edit: sum(seen) / len(seen) for edit, seen in gains.items()
    }
    for number, name in enumerate(names):
        inside = sum(one.share for edit, one in found.edits.items() if name.edits >> edit & 1)
        assert found.shares[(number,)] == inside
    whole = sum(name.edits for name in names)
    assert sum(found.shares.values()) == random_cell(seed, whole) - random_cell(seed, 0) == found.new - found.old


@given(seeds)
def test_with_two_players_the_share_is_midway_between_first_and_last(seed: int) -> None:
    found = attributed([RUBRIC, OUTPUTS], seed)
    for block, share in found.shares.items():
        assert share == (found.first[block] + found.last[block]) / 2


def test_more_edits_than_can_be_exact_are_sampled_and_still_add_up() -> None:
    names = [Coalition((Coalition(tuple(range(14))),)), Coalition((14,))]

    def cell(mask: int) -> Fraction:
        return Fraction((mask & 0x3FFF).bit_count() ** 2, 196) / (1 + (mask >> 14))

    found = attribute_change(names, [(0,), (1,)], cell)
    assert sum(found.edits[edit].share for edit in range(14)) == found.shares[0,]
    assert all(found.edits[edit].error > 0 for edit in range(14))
    exact = attribute_change([Coalition((Coalition(tuple(range(EXACT_EDITS))),))], [(0,)], cell)
    assert {one.error for one in exact.edits.values()} == {0}


def test_interchangeable_edits_are_exact_however_many() -> None:
    phrases = Coalition((Coalition(tuple(range(30))), 30))
    alike = dict.fromkeys(range(30), EditClass(1, adds=True))

    def cell(mask: int) -> Fraction:
        return Fraction(bool(mask & ((1 << 30) - 1))) / (1 + (mask >> 30 & 1))

    found = attribute_change([phrases], [(0,)], cell, alike)
    assert {found.edits[edit].share for edit in range(30)} == {Fraction(3, 4) / 30}
    assert found.edits[30] == (Fraction(-1, 4), 0)


def test_many_checks_with_few_edits_each_stay_exact() -> None:
    checks = tuple(Coalition((2 * number, 2 * number + 1)) for number in range(7))
    found = attribute_change([Coalition(checks)], [(0,)], lambda mask: Fraction(bool(mask & 3) + bool(mask & 12)))
    assert {edit: one.share for edit, one in found.edits.items() if one.share} == dict.fromkeys(
        range(4), Fraction(1, 2)
    )
    assert {one.error for one in found.edits.values()} == {0}


def test_a_hybrid_without_a_score_is_worth_nothing_yet() -> None:
    # The old check goes (first edit) and the new one comes (second edit); with neither there is nothing to score.
    scores = {0: Fraction(1), 1: None, 2: Fraction(1, 2), 3: Fraction(0)}
    found = attribute_change([Coalition((0, 1))], [(0,)], scores.get)
    # Going first: 0, then 1/2 lost by the other; coming first: 1/2 lost, and 1/2 more by the going.
    assert [found.edits[edit].share for edit in (0, 1)] == [Fraction(-1, 4), Fraction(-3, 4)]


@pytest.mark.parametrize(
    ("missing", "blocks"),
    [
        (set(), ((0,), (1,), (2,))),
        ({0b001}, ((0, 1), (2,))),
        ({0b011}, ((0,), (1, 2))),  # a mix of two lacks a score, so one of them moves with the third
        ({0b001, 0b010, 0b100}, ((0, 1, 2),)),
        ({0b111}, None),
        ({0b000}, None),
    ],
)
def test_the_smallest_set_of_players_moves_together(missing: set[int], blocks: object) -> None:
    names = [Coalition((number,)) for number in range(3)]
    assert find_blocks(names, lambda mask: None if mask in missing else Fraction(1)) == blocks


def test_a_joint_player_has_no_edits_of_its_own() -> None:
    names = [Coalition((0, 1)), Coalition((2,))]
    found = attribute_change(names, [(0, 1)], {0: Fraction(1), 7: Fraction(0)}.get)
    assert (found.shares, found.edits) == ({(0, 1): -1}, {})


def test_partitions_are_all_and_the_finest_come_first() -> None:
    assert [len(list_partitions(names)) for names in range(7)] == [1, 1, 2, 5, 15, 52, 203]
    assert list_partitions(3)[0] == ((0,), (1,), (2,))
    assert list_partitions(3)[-1] == ((0, 1, 2),)


# What the module's own example says: rows are outputs, columns the subsets of two edits; in points.
EXAMPLE = {"old output": (100, 100, 60, 60), "new output": (90, 40, 70, 40)}


def test_the_worked_example_of_the_module_is_true() -> None:
    rows = [*EXAMPLE.values()]
    names = [Coalition((0, 1)), Coalition((2,))]
    found = attribute_change(names, [(0,), (1,)], lambda mask: Fraction(rows[mask >> 2][mask & 3]))
    assert (found.old, found.new) == (100, 40)
    assert found.shares == {(0,): -45, (1,): -15}
    assert (found.first, found.last) == ({(0,): -40, (1,): -10}, {(0,): -50, (1,): -20})
    assert [found.edits[edit].share for edit in (0, 1)] == [-20, -25]
    for name, row in EXAMPLE.items():
        assert f"    {name} {''.join(f'{points:8}' for points in row)}\n" in (attribution.__doc__ or "")


@pytest.mark.parametrize("decisive", [1, 2, 4, 9])
def test_of_alike_items_only_as_many_count_as_decide(decisive: int) -> None:
    items = AlikeItems(((0, True), (1, False), (2, True), (4, False)), frozenset(), decisive)
    assert (items.added, items.removed) == (0b00101, 0b10010)

    def count_present(mask: int) -> int:
        return sum(mask >> bit & 1 == adds for bit, adds in items.bits)

    for mask in range(1 << 5):
        merged = items.merge(mask)
        assert count_present(merged) == min(count_present(mask), decisive)
        assert merged & 0b01000 == mask & 0b01000  # which belongs to others
    assert len({items.merge(mask) & 0b10111 for mask in range(1 << 5)}) == min(decisive, 4) + 1


@given(st.integers(1, 3), st.lists(st.booleans(), min_size=1, max_size=5), seeds)
def test_items_that_come_and_go_share_what_enough_of_them_decide(needed: int, adds: list[bool], seed: int) -> None:
    """A check that needs so many hits, and another edit beside it: every edit alone against classes of edits."""
    other, size = len(adds), len(adds)

    def cell(mask: int) -> Fraction:
        present = sum(mask >> bit & 1 == comes for bit, comes in enumerate(adds))
        return random_cell(seed, min(present, needed) << 1 | mask >> other & 1)

    names = [Coalition((Coalition(tuple(range(size))), other))]
    classes = EditClass(needed, adds=False), EditClass(needed, adds=True)
    alike = {bit: classes[comes] for bit, comes in enumerate(adds)}
    assert attribute_change(names, [(0,)], cell, alike) == attribute_change(names, [(0,)], cell)
