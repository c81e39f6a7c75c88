"""Searches several languages at once for the combinations that texts have, with a text of each.

A text is in some of the languages and not in the others: a combination. Every language becomes an
automaton that is made deterministic as it is read; the search goes through the product of all of
them, breadth first, what people can type before anything else. A combination that a complete search
does not find, no text has.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import NamedTuple

from evalstore.budget import OutOfStepsError, SharedBudget
from evalstore.languages.pattern_comparison.automaton import (
    FALSE,
    TRUE,
    AlternatingAutomaton,
    Formula,
    make_literal,
)
from evalstore.languages.patterns.alphabet import PLAIN_CHARS, Alphabet, build_alphabet
from evalstore.languages.patterns.anchors import NOTHING, Neighbour
from evalstore.languages.patterns.pattern_graph import PatternGraph
from evalstore.languages.patterns.syntax_tree import RegexTree, UndecidedError

# Whether a text is in each language, in their order.
Membership = tuple[bool, ...]
ONLY_OLD, ONLY_NEW = (True, False), (False, True)


class MembershipTable(NamedTuple):
    """A shortest text for each combination found; when complete, no text has another one."""

    texts: dict[Membership, str]
    is_complete: bool


def find_memberships(languages: Sequence[RegexTree], budget: SharedBudget) -> MembershipTable:
    """Return the combinations of languages that texts have; incomplete if the budget ended first.

    Raises `UndecidedError` where a language is beyond what is read.
    """
    return search_languages(languages, budget)


def search_languages(
    languages: Sequence[RegexTree], budget: SharedBudget, *, apart: bool = False
) -> MembershipTable:
    """Return what `find_memberships` does.

    If `apart`, only the shortest texts that two languages differ in.
    """
    combinations = (ONLY_OLD, ONLY_NEW) if apart else product((False, True), repeat=len(languages))
    texts: dict[Membership, str] = {}
    try:
        alphabet = build_alphabet(languages, budget)
        graph = PatternGraph(alphabet.masks, budget)
        starts = tuple(make_literal(graph.add_tree(tree, graph.any_rest)) for tree in languages)
        _Search(AlternatingAutomaton(graph), alphabet, budget, {*combinations}, texts, apart).run(
            starts
        )
    except OutOfStepsError:
        return MembershipTable(texts, is_complete=False)
    except RecursionError:
        raise UndecidedError("a pattern is nested too deeply") from None
    return MembershipTable(texts, is_complete=True)


class _CombinedState(NamedTuple):
    before: Neighbour
    formulas: tuple[Formula, ...]


# A state, and the text that leads to it.
_Reached = tuple[_CombinedState, str]
# Letters as a mask, what an anchor can ask of them, and the formula that each of them leads to.
_Move = tuple[int, Neighbour, Formula]
# The same of the first languages together.
_PartialMove = tuple[int, Neighbour, tuple[Formula, ...]]


@dataclass(slots=True)
class _Search:
    """One search, breadth first, until each combination `wanted` has a text or nothing is left."""

    automaton: AlternatingAutomaton
    alphabet: Alphabet
    budget: SharedBudget
    wanted: set[Membership]
    texts: dict[Membership, str]
    apart: bool
    moves: dict[tuple[Formula, Neighbour], list[_Move]] = field(default_factory=dict)

    def run(self, starts: tuple[Formula, ...]) -> None:
        # The shortest texts that tell two languages apart may be any; of others, those come first
        # that can be typed.
        plain = self._select_plain_letters()
        start = _CombinedState(NOTHING, starts)
        seen = {start}
        typed, others = deque([(start, "")]), deque[_Reached]()
        while self.wanted and (typed or others):
            # What is reached by typing alone is followed first, whatever else leads to the same
            # state.
            is_typed = bool(typed)
            state, text = (typed or others).popleft()
            if not is_typed and state in seen:
                continue
            seen.add(state)
            self._note(self._find_membership(state), text)
            if all(formula in {TRUE, FALSE} for formula in state.formulas):
                continue
            for letters, following in self._list_successors(state):
                # Where two languages ask for the same, no text tells them apart any more.
                if following in seen or (
                    self.apart and following.formulas[0] == following.formulas[1]
                ):
                    continue
                letter = _find_lowest_bit(letters & plain or letters)
                reached = following, text + self.alphabet.examples[letter]
                if is_typed and plain >> letter & 1:
                    seen.add(following)
                    typed.append(reached)
                else:
                    others.append(reached)

    def _note(self, membership: Membership, text: str) -> None:
        if membership in self.wanted:
            self.wanted.remove(membership)
            self.texts[membership] = text

    def _find_membership(self, state: _CombinedState) -> Membership:
        return tuple(self.automaton.can_end(formula, state.before) for formula in state.formulas)

    def _list_successors(self, state: _CombinedState) -> Iterator[tuple[int, _CombinedState]]:
        """Yield where the letters lead, those together that lead to the same."""
        partial: list[_PartialMove] = [
            (letters, neighbour, ()) for neighbour, letters in self.alphabet.by_neighbour.items()
        ]
        for formula in state.formulas:
            moves = self._list_moves(formula, state.before)
            self.budget.spend(len(partial))
            partial = [*_combine_moves(partial, moves)]
        # Readable letters have low numbers: of the shortest texts, a readable one is found first.
        partial.sort(key=lambda one: one[0] & -one[0])
        for letters, neighbour, formulas in partial:
            yield letters, _CombinedState(neighbour, formulas)

    def _list_moves(self, formula: Formula, before: Neighbour) -> list[_Move]:
        key = formula, before
        if key not in self.moves:
            moves: dict[tuple[Neighbour, Formula], int] = {}
            for neighbour, letters in self.alphabet.by_neighbour.items():
                expanded = self.automaton.expand(formula, before, neighbour)
                for group in self.automaton.group_letters(letters, (expanded,)):
                    way = neighbour, self.automaton.read_letter(expanded, _find_lowest_bit(group))
                    moves[way] = moves.get(way, 0) | group
            self.moves[key] = [
                (mask, neighbour, following) for (neighbour, following), mask in moves.items()
            ]
        return self.moves[key]

    def _select_plain_letters(self) -> int:
        examples = enumerate(self.alphabet.examples)
        return sum(1 << letter for letter, char in examples if self.apart or char in PLAIN_CHARS)


def _combine_moves(partial: list[_PartialMove], moves: list[_Move]) -> Iterator[_PartialMove]:
    """Yield the moves of several languages together with those of one more."""
    for letters, neighbour, formulas in partial:
        for mask, kind, following in moves:
            if kind == neighbour and (both := letters & mask):
                yield both, neighbour, (*formulas, following)


def _find_lowest_bit(mask: int) -> int:
    return (mask & -mask).bit_length() - 1
