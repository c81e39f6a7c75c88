"""Searches the product of two languages, breadth first, for the shortest texts that only one of them has.

Both languages are read at once, letter by letter. Two formulas that are equal accept the same rests, so a pair of equal
ones is not followed further: what this leaves out cannot tell the two languages apart. The search ends, for there are
finitely many formulas, and without a pair that accepts differently the languages are equal (Hopcroft and Karp, 1971,
here with formulas for states). In practice the budget ends it where there are exponentially many.
"""

from __future__ import annotations

from collections import deque
from operator import itemgetter
from typing import NamedTuple

from evalstore.budget import OutOfStepsError
from evalstore.patterns.alphabet import Alphabet
from evalstore.patterns.places import NOTHING, Neighbour
from evalstore.regex_inclusion.automaton import AlternatingAutomaton, Formula


class LanguageDifference(NamedTuple):
    """The shortest text that only the first language has, and only the second; when complete, None means none."""

    only_old: str | None
    only_new: str | None
    is_complete: bool


class _ProductState(NamedTuple):
    before: Neighbour
    old: Formula
    new: Formula


# Each state with the one that it was reached from, and the character that led there.
_Trail = dict[_ProductState, tuple[_ProductState | None, str]]


def find_difference(
    automaton: AlternatingAutomaton, alphabet: Alphabet, sides: tuple[Formula, Formula]
) -> LanguageDifference:
    """Return what only one of two languages has; incomplete when the budget ended the search."""
    found: dict[bool, str] = {}
    try:
        _search_breadth_first(automaton, alphabet, _ProductState(NOTHING, *sides), found)
    except OutOfStepsError:
        return LanguageDifference(found.get(False), found.get(True), is_complete=False)
    return LanguageDifference(found.get(False), found.get(True), is_complete=True)


def _search_breadth_first(
    automaton: AlternatingAutomaton, alphabet: Alphabet, start: _ProductState, found: dict[bool, str]
) -> None:
    """Find the shortest text that only the second language has (True), and only the first (False)."""
    trail: _Trail = {start: (None, "")}
    queue = deque([start])
    while queue and not {False, True} <= found.keys():
        state = queue.popleft()
        old, new = (automaton.can_end(side, state.before) for side in (state.old, state.new))
        if old is not new and new not in found:
            found[new] = _spell_trail(state, trail)
        for letter, following in _find_successors(automaton, alphabet, state):
            # Where both sides ask for the same, no text tells them apart.
            if following.old != following.new and following not in trail:
                trail[following] = state, alphabet.examples[letter]
                queue.append(following)


def _find_successors(
    automaton: AlternatingAutomaton, alphabet: Alphabet, state: _ProductState
) -> list[tuple[int, _ProductState]]:
    """Return where one more letter leads, with the number of the first letter that leads there."""
    successors: list[tuple[int, _ProductState]] = []
    for neighbour, letters in alphabet.by_neighbour.items():
        old, new = (automaton.expand(side, state.before, neighbour) for side in (state.old, state.new))
        successors += [
            (letter, _ProductState(neighbour, automaton.read_letter(old, letter), automaton.read_letter(new, letter)))
            for letter in automaton.split_letters(letters, (old, new))
        ]
    # Readable letters have low numbers: of the shortest texts, a readable one is found first.
    return sorted(successors, key=itemgetter(0))


def _spell_trail(state: _ProductState, trail: _Trail) -> str:
    chars: list[str] = []
    step: _ProductState | None = state
    while step is not None:
        step, char = trail[step]
        chars.append(char)
    return "".join(reversed(chars))
