"""Attribution on random cells, without rubrics: the Owen value is the mean over all orders that keep factors together."""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction
from itertools import permutations, product

from hypothesis import given
from hypothesis import strategies as st

from evalstore.audits import attribution
from evalstore.audits.attribution import Cell, Cells, attribute_change

levels = st.tuples(*[st.sampled_from([(), (1,), (1, 1), (2,), (1, 2)])] * 3)
seeds = st.integers(0, 2**32)


def random_cells(seed: int) -> Cells:
    return lambda cell: Fraction(random.Random(f"{seed}{cell}").randint(0, 12), 12)  # noqa: S311  # no secret


def orders(cell: Cell) -> Iterator[list[tuple[int, int]]]:
    """Yield every order of (factor, edit) in which the edits of one factor follow each other."""
    for factors in permutations(range(len(cell))):
        for blocks in product(*(permutations(range(len(cell[factor]))) for factor in factors)):
            yield [(factor, edit) for factor, block in zip(factors, blocks, strict=True) for edit in block]


def zeros(cell: Cell) -> Cell:
    return tuple((0,) * len(edits) for edits in cell)


@given(levels, seeds)
def test_edits_get_their_mean_over_all_orders(cell: Cell, seed: int) -> None:
    cells, found = random_cells(seed), attribute_change(cell, random_cells(seed))
    assert found is not None
    gains = {(f, e, step): [] for f, edits in enumerate(cell) for e, steps in enumerate(edits) for step in range(steps)}
    for order in orders(cell):
        state = [list(edits) for edits in zeros(cell)]
        for factor, edit in order:
            for step in range(cell[factor][edit]):
                before = cells(tuple(map(tuple, state)))
                state[factor][edit] += 1
                gains[factor, edit, step].append(cells(tuple(map(tuple, state))) - before)
    for (factor, edit, step), seen in gains.items():
        assert found.edits[factor][edit][step].share == sum(seen) / len(seen)


@given(levels, seeds)
def test_shares_and_edits_add_up(cell: Cell, seed: int) -> None:
    cells, found = random_cells(seed), attribute_change(cell, random_cells(seed))
    assert found is not None
    assert (found.old, found.new) == (cells(zeros(cell)), cells(cell))
    assert sum(found.shares) == found.new - found.old
    assert [sum(step.share for steps in edits for step in steps) for edits in found.edits] == list(found.shares)


@given(levels, seeds)
def test_with_two_factors_the_share_is_midway_between_first_and_last(cell: Cell, seed: int) -> None:
    found = attribute_change((cell[0], (), cell[2]), random_cells(seed))
    assert found is not None
    for share, first, last in zip(found.shares, found.first, found.last, strict=True):
        assert share == (first + last) / 2


def test_a_hybrid_without_a_score_is_worth_nothing_yet() -> None:
    # The old check goes (first edit) and the new one comes (second edit); with neither there is nothing to score.
    scores = {(0, 0): Fraction(1), (1, 0): None, (0, 1): Fraction(1, 2), (1, 1): Fraction(0)}
    found = attribute_change(((1, 1), (), ()), lambda cell: scores[cell[0]])
    assert found is not None
    # Going first: 0, then 1/2 lost by the other; coming first: 1/2 lost, and 1/2 more by the going.
    assert [steps[0].share for steps in found.edits[0]] == [Fraction(-1, 4), Fraction(-3, 4)]


def test_a_cell_of_whole_factors_without_a_score_makes_the_question_inseparable() -> None:
    assert attribute_change(((1,), (), (1,)), lambda cell: None if cell == ((1,), (), (0,)) else Fraction(1)) is None


# What the module's own example says: rows are outputs, columns the subsets of two edits; in points.
EXAMPLE = {"old output": (100, 100, 60, 60), "new output": (90, 40, 70, 40)}
COLUMNS = {(0, 0): 0, (1, 0): 1, (0, 1): 2, (1, 1): 3}


def test_the_worked_example_of_the_module_is_true() -> None:
    rows = [*EXAMPLE.values()]
    found = attribute_change(((1, 1), (), (1,)), lambda cell: Fraction(rows[sum(cell[2])][COLUMNS[cell[0]]]))
    assert found is not None
    assert (found.old, found.new) == (100, 40)
    assert found.shares == (-45, 0, -15)
    assert (found.first, found.last) == ((-40, 0, -10), (-50, 0, -20))
    assert [steps[0].share for steps in found.edits[0]] == [-20, -25]
    for name, row in EXAMPLE.items():
        assert f"    {name} {''.join(f'{points:8}' for points in row)}\n" in (attribution.__doc__ or "")
