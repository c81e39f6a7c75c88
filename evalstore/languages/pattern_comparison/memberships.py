"""Searches several languages at once for the combinations that texts have, with a text of each.

A text is in some of the languages and not in the others: a combination. Every language becomes an
automaton that is made deterministic as it is read; the search goes through the product of all of
them, breadth first, what people can type before anything else. If a complete search does not find a
combination, no text has it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import NamedTuple

from evalstore.budget import OutOfStepsError, SharedBudget
from evalstore.languages.pattern_comparison.automaton import (
    AlternatingAutomaton,
    Formula,
    make_literal,
)
from evalstore.languages.patterns.alphabet import (
    PLAIN_CHARS,
    Alphabet,
    build_alphabet,
    iterate_bits,
    merge_neighbours,
)
from evalstore.languages.patterns.anchors import NOTHING, Neighbour
from evalstore.languages.patterns.pattern_graph import PatternGraph
from evalstore.languages.patterns.syntax_tree import RegexTree, UndecidedError

# Whether a text is in each language, in their order.
Membership = tuple[bool, ...]
ONLY_OLD, ONLY_NEW = (True, False), (False, True)


class MembershipTable(NamedTuple):
    """A shortest text for each combination found; if complete, texts have no other combination."""

    texts: dict[Membership, str]
    is_complete: bool


def find_memberships(languages: Sequence[RegexTree], budget: SharedBudget) -> MembershipTable:
    """Return the combinations of languages that texts have; incomplete if the budget ended first.

    Raises `UndecidedError` for a language beyond what is supported.
    """
    return search_languages(languages, budget)


def search_languages(
    languages: Sequence[RegexTree], budget: SharedBudget, *, apart: bool = False
) -> MembershipTable:
    """Return what `find_memberships` returns.

    If `apart`, only the shortest texts in which two languages differ.
    """
    combinations = (ONLY_OLD, ONLY_NEW) if apart else product((False, True), repeat=len(languages))
    texts: dict[Membership, str] = {}
    try:
        alphabet = build_alphabet(languages, budget)
        graph = PatternGraph(alphabet.masks, budget)
        starts = tuple(make_literal(graph.add_tree(tree, graph.any_rest)) for tree in languages)
        neighbours = tuple(merge_neighbours(alphabet, tree) for tree in languages)
        automaton, wanted = AlternatingAutomaton(graph), {*combinations}
        _Search(automaton, alphabet, neighbours, budget, wanted, texts, apart).run(starts)
    except OutOfStepsError:
        return MembershipTable(texts, is_complete=False)
    except RecursionError:
        raise UndecidedError("a pattern is nested too deeply") from None
    return MembershipTable(texts, is_complete=True)


# A state of one language: what the rest must meet, after a letter of some kind.
_State = tuple[Formula, Neighbour]
# One of all languages: the numbers of their states.
_CombinedState = tuple[int, ...]


@dataclass(slots=True)
class _Search:
    """One search, breadth first, until each combination `wanted` has a text or nothing is left."""

    automaton: AlternatingAutomaton
    alphabet: Alphabet
    neighbours: Sequence[Mapping[Neighbour, int]]
    budget: SharedBudget
    wanted: set[Membership]
    texts: dict[Membership, str]
    apart: bool
    states: list[_State] = field(default_factory=list)
    ends: list[bool] = field(default_factory=list)
    numbers: dict[_State, int] = field(default_factory=dict)
    rows: dict[int, list[int]] = field(default_factory=dict)

    def run(self, starts: tuple[Formula, ...]) -> None:
        # The shortest texts that distinguish two languages may be any; among others, typeable ones
        # come first.
        readable = len(self.alphabet.examples) if self.apart else self._count_plain_letters()
        start = tuple(self._number_state(formula, NOTHING) for formula in starts)
        seen = {start}
        typed, others = deque([(start, "")]), deque[tuple[_CombinedState, str]]()
        self._note(start, "")
        while self.wanted and (typed or others):
            # What is reached by typing alone is followed first, whatever else leads to the same
            # state.
            is_typed = bool(typed)
            state, text = (typed or others).popleft()
            if not is_typed:
                if state in seen:
                    continue
                seen.add(state)
                self._note(state, text)
            # Readable letters have low numbers, so a readable one of the shortest texts is found
            # first.
            for letter, following in enumerate(self._list_successors(state)):
                # Once two languages ask for the same, no text distinguishes them any more.
                if following in seen or (self.apart and following[0] == following[1]):
                    continue
                reached = text + self.alphabet.examples[letter]
                if is_typed and letter < readable:
                    seen.add(following)
                    self._note(following, reached)
                    typed.append((following, reached))
                else:
                    others.append((following, reached))

    def _note(self, state: _CombinedState, text: str) -> None:
        membership = tuple(self.ends[number] for number in state)
        if membership in self.wanted:
            self.wanted.remove(membership)
            self.texts[membership] = text

    def _list_successors(self, state: _CombinedState) -> Iterator[_CombinedState]:
        """Yield where each letter leads."""
        self.budget.spend(len(state))
        return zip(*map(self._read_row, state, self.neighbours), strict=True)

    def _read_row(self, number: int, neighbours: Mapping[Neighbour, int]) -> list[int]:
        """Return where each letter leads from a state of one language."""
        if number not in self.rows:
            formula, before = self.states[number]
            row = [0] * len(self.alphabet.examples)
            for neighbour, letters in neighbours.items():
                expanded = self.automaton.expand(formula, before, neighbour)
                for group in self.automaton.group_letters(letters, (expanded,)):
                    following = self.automaton.read_letter(expanded, next(iterate_bits(group)))
                    found = self._number_state(following, neighbour)
                    for letter in iterate_bits(group):
                        row[letter] = found
            self.rows[number] = row
        return self.rows[number]

    def _number_state(self, formula: Formula, before: Neighbour) -> int:
        state = formula, before
        if state not in self.numbers:
            self.numbers[state] = len(self.states)
            self.states.append(state)
            self.ends.append(self.automaton.can_end(formula, before))
        return self.numbers[state]

    def _count_plain_letters(self) -> int:
        """Return how many letters can be typed; they are the first ones."""
        return sum(example in PLAIN_CHARS for example in self.alphabet.examples)
