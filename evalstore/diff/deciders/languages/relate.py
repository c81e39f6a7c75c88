"""Compares two languages: all texts at once, the shortest first, until each side has one that the other has not."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from evalstore.diff.deciders.languages.alphabet import NOTHING, Beside, Letter
from evalstore.diff.deciders.languages.automaton import Automaton
from evalstore.diff.deciders.languages.budget import UndecidedError
from evalstore.diff.deciders.languages.formula import Formula


class Apart(NamedTuple):
    """The shortest text that only the first language has, and only the second; `done`: there are no others."""

    only_old: str | None
    only_new: str | None
    done: bool


class _State(NamedTuple):
    before: Beside
    old: Formula
    new: Formula


_Ways = dict[_State, tuple[_State | None, str]]


def relate(automaton: Automaton, letters: Sequence[Letter], sides: tuple[Formula, Formula]) -> Apart:
    """Return what only one of two languages has; not `done` when the budget ended the search."""
    found: dict[bool, str] = {}
    try:
        _search(automaton, letters, _State(NOTHING, *sides), found)
    except UndecidedError:
        return Apart(found.get(False), found.get(True), done=False)
    return Apart(found.get(False), found.get(True), done=True)


def _search(automaton: Automaton, letters: Sequence[Letter], start: _State, found: dict[bool, str]) -> None:
    """Find the shortest text that only the second language has (True), and only the first (False)."""
    reached: _Ways = {start: (None, "")}
    waiting = deque([start])
    while waiting and not {False, True} <= found.keys():
        state = waiting.popleft()
        old, new = (automaton.accepts(side, state.before) for side in (state.old, state.new))
        if old is not new and new not in found:
            found[new] = _text(state, reached)
        for following, char in _next(automaton, letters, state):
            # Where both sides ask for the same, no text tells them apart.
            if following.old != following.new and following not in reached:
                reached[following] = state, char
                waiting.append(following)


def _next(automaton: Automaton, letters: Sequence[Letter], state: _State) -> Iterator[tuple[_State, str]]:
    opened: dict[Beside, tuple[Formula, Formula]] = {}
    for index, (char, beside) in enumerate(letters):
        if beside not in opened:
            opened[beside] = (
                automaton.open(state.old, state.before, beside),
                automaton.open(state.new, state.before, beside),
            )
        old, new = opened[beside]
        yield _State(beside, automaton.read(old, index), automaton.read(new, index)), char


def _text(state: _State, reached: _Ways) -> str:
    chars: list[str] = []
    step: _State | None = state
    while step is not None:
        step, char = reached[step]
        chars.append(char)
    return "".join(reversed(chars))
