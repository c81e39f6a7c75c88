"""One question's change in score, shared out among the factors and the edits within each; pure and exact.

Factors are players, and the edits of one factor are a coalition (Owen value): within it, a subset of edits is worth
what it adds on average over the orders in which the other factors come before. So the edits' shares sum to the
factor's, and the factors' to the whole.

A cell of whole factors without a score makes the question inseparable: it has no shares. Within a factor a subset of
edits may make a rubric that scores nothing (its only check is gone, and the new one has not come); such a subset is
worth nothing yet, as if none of its edits had been made. The sums stay exact.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from evalstore.audits.shapley import Estimate, Estimates, State, coalitions, shapley, state_of, weight

# For each factor, how many steps each of its edits has taken; a factor without edits did not change.
Cell = tuple[State, ...]
Cells = Callable[[Cell], Fraction | None]


@dataclass(frozen=True, slots=True)
class Attribution:
    """One question: its two corners, and for each factor its share, the first-in and last-in effect, and its edits'."""

    old: Fraction
    new: Fraction
    shares: tuple[Fraction, ...]
    first: tuple[Fraction, ...]
    last: tuple[Fraction, ...]
    edits: tuple[Estimates, ...]


def attribute(levels: Cell, cells: Cells) -> Attribution | None:
    """Share `cells(levels) - cells(zeros)` out; None when a cell of whole factors has no score."""
    cells = cache(cells)
    changed = tuple(int(any(edits)) for edits in levels)
    players = [factor for factor, flag in enumerate(changed) if flag]
    if any(cells(_build_cell(levels, entered)) is None for entered in coalitions(players)):
        return None

    def whole(state: State) -> Fraction:
        return _score_cell(cells, _build_cell(levels, [factor for factor, flag in enumerate(state) if flag]))

    shares = tuple(sum((step.share for step in steps), Fraction(0)) for steps in shapley(changed, whole))
    return Attribution(
        old=whole(tuple(0 for _ in levels)),
        new=whole(changed),
        shares=shares,
        first=tuple(whole(state_of(changed, [f])) - whole(state_of(changed, [])) for f in range(len(levels))),
        last=tuple(whole(changed) - whole(_remove_player(changed, f)) for f in range(len(levels))),
        edits=tuple(_share_within_factor(levels, cells, factor, shares[factor]) for factor in range(len(levels))),
    )


def _share_within_factor(levels: Cell, cells: Cells, factor: int, share: Fraction) -> Estimates:
    """Return the shares of one factor's edits."""
    if sum(levels[factor]) == 1:
        return tuple(tuple(Estimate(share) for _ in range(steps)) for steps in levels[factor])
    others = [other for other, edits in enumerate(levels) if other != factor and any(edits)]
    outer = [(weight(len(entered), len(others) + 1), _build_cell(levels, entered)) for entered in coalitions(others)]

    @cache
    def gain(state: State) -> Fraction:
        return sum((part * _compute_gain(cells, cell, factor, state) for part, cell in outer), Fraction(0))

    return shapley(levels[factor], gain)


def _compute_gain(cells: Cells, cell: Cell, factor: int, state: State) -> Fraction:
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
