"""Compares two languages: all texts at once, the shortest first, until each side has one that the other has not."""

from __future__ import annotations

from collections import deque
from operator import itemgetter
from typing import NamedTuple

from evalstore.budget import OutOfStepsError
from evalstore.regex_inclusion.alphabet import NOTHING, Alphabet, Beside
from evalstore.regex_inclusion.automaton import Automaton, Formula


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


def relate(automaton: Automaton, alphabet: Alphabet, sides: tuple[Formula, Formula]) -> Apart:
    """Return what only one of two languages has; not `done` when the budget ended the search."""
    found: dict[bool, str] = {}
    try:
        _search(automaton, alphabet, _State(NOTHING, *sides), found)
    except OutOfStepsError:
        return Apart(found.get(False), found.get(True), done=False)
    return Apart(found.get(False), found.get(True), done=True)


def _search(automaton: Automaton, alphabet: Alphabet, start: _State, found: dict[bool, str]) -> None:
    """Find the shortest text that only the second language has (True), and only the first (False)."""
    reached: _Ways = {start: (None, "")}
    waiting = deque([start])
    while waiting and not {False, True} <= found.keys():
        state = waiting.popleft()
        old, new = (automaton.accepts(side, state.before) for side in (state.old, state.new))
        if old is not new and new not in found:
            found[new] = _text(state, reached)
        for letter, following in _next(automaton, alphabet, state):
            # Where both sides ask for the same, no text tells them apart.
            if following.old != following.new and following not in reached:
                reached[following] = state, alphabet.chars[letter]
                waiting.append(following)


def _next(automaton: Automaton, alphabet: Alphabet, state: _State) -> list[tuple[int, _State]]:
    """Return where one more letter leads, with the number of the first letter that leads there."""
    ways: list[tuple[int, _State]] = []
    for beside, letters in alphabet.beside.items():
        old, new = (automaton.open(side, state.before, beside) for side in (state.old, state.new))
        ways += [
            (letter, _State(beside, automaton.read(old, letter), automaton.read(new, letter)))
            for letter in automaton.telling(letters, (old, new))
        ]
    return sorted(ways, key=itemgetter(0))


def _text(state: _State, reached: _Ways) -> str:
    chars: list[str] = []
    step: _State | None = state
    while step is not None:
        step, char = reached[step]
        chars.append(char)
    return "".join(reversed(chars))
