"""Distributes one question's change in score among the factors, and each factor's share among its edits; exact, pure.

Factors are players, and the edits of one factor are a coalition (Owen value): within it, a subset of edits is worth
what it adds on average over the orders in which the other factors come before. So the edits' shares sum to the
factor's, and the factors' to the whole.

An example in points: a rubric changes by two edits, `ban` and `brief`, and the output changes.

                no edit     ban   brief    both
    old output      100     100      60      60
    new output       90      40      70      40

The score falls by 60. The output takes 10 when it changes first (100 to 90) and 20 when it changes last (60 to 40): its
share is -15. The rubric takes 40 first (100 to 60) and 50 last (90 to 40): -45. Within the rubric a subset of edits is
worth its mean over both outputs: `ban` (0 - 50) / 2 = -25, `brief` (-40 - 20) / 2 = -30, both together -45. So `ban`
adds -25 before `brief` and -45 + 30 = -15 after it: its share is -20. `brief` adds -30 before and -20 after: -25.
The edits sum to -45, and with the output to -60.

A cell of whole factors without a score makes the question inseparable: it has no shares. Within a factor a subset of
edits may make a rubric that scores nothing (its only check is removed, and the new one not added yet); such a subset
is worth nothing, as if none of its edits had been made. The sums stay exact.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from evalstore.audits.shapley import (
    Estimate,
    Estimates,
    State,
    build_state,
    compute_shapley,
    compute_weight,
    list_coalitions,
)

# For each factor, how many steps each of its edits has taken; a factor without edits did not change.
Cell = tuple[State, ...]
Cells = Callable[[Cell], Fraction | None]


@dataclass(frozen=True, slots=True)
class Attribution:
    """One question: its scores, and for each factor its share, its effect when first and last, and its edits'."""

    old: Fraction
    new: Fraction
    shares: tuple[Fraction, ...]
    first: tuple[Fraction, ...]
    last: tuple[Fraction, ...]
    edits: tuple[Estimates, ...]


def attribute_change(levels: Cell, cells: Cells) -> Attribution | None:
    """Share `cells(levels) - cells(zeros)` out; None when a cell of whole factors has no score."""
    cells = cache(cells)
    changed = tuple(int(any(edits)) for edits in levels)
    # A factor that did not change is no player: its share is 0, and it halves the number of cells.
    players = [factor for factor, flag in enumerate(changed) if flag]
    if any(cells(_build_cell(levels, entered)) is None for entered in list_coalitions(players)):
        return None

    def whole(state: State) -> Fraction:
        return _score_cell(cells, _build_cell(levels, [factor for factor, flag in enumerate(state) if flag]))

    shares = tuple(sum((step.share for step in steps), Fraction(0)) for steps in compute_shapley(changed, whole))
    return Attribution(
        old=whole(tuple(0 for _ in levels)),
        new=whole(changed),
        shares=shares,
        first=tuple(whole(build_state(changed, [f])) - whole(build_state(changed, [])) for f in range(len(levels))),
        last=tuple(whole(changed) - whole(_remove_player(changed, f)) for f in range(len(levels))),
        edits=tuple(_share_within_factor(levels, cells, factor, shares[factor]) for factor in range(len(levels))),
    )


def _share_within_factor(levels: Cell, cells: Cells, factor: int, share: Fraction) -> Estimates:
    """Return the shares of one factor's edits."""
    # A single step is the whole share of its factor; it needs no further cells.
    if sum(levels[factor]) == 1:
        return tuple(tuple(Estimate(share) for _ in range(steps)) for steps in levels[factor])
    # The outer coalition: the weight of each set of factors that came before this one.
    others = [other for other, edits in enumerate(levels) if other != factor and any(edits)]
    outer = [
        (compute_weight(len(entered), len(others) + 1), _build_cell(levels, entered))
        for entered in list_coalitions(others)
    ]

    @cache
    def gain(state: State) -> Fraction:
        return sum((part * _compute_gain(cells, cell, factor, state) for part, cell in outer), Fraction(0))

    return compute_shapley(levels[factor], gain)


def _compute_gain(cells: Cells, cell: Cell, factor: int, state: State) -> Fraction:
    # A subset of edits without a score adds nothing yet (see the top of this module).
    after = cells((*cell[:factor], state, *cell[factor + 1 :]))
    return Fraction(0) if after is None else after - _score_cell(cells, cell)


def _build_cell(levels: Cell, entered: list[int] | tuple[int, ...]) -> Cell:
    return tuple(edits if factor in entered else (0,) * len(edits) for factor, edits in enumerate(levels))


def _score_cell(cells: Cells, cell: Cell) -> Fraction:
    score = cells(cell)
    if score is None:
        raise AssertionError("a cell of whole factors lost its score")
    return score


def _remove_player(state: State, player: int) -> State:
    return (*state[:player], 0, *state[player + 1 :])
