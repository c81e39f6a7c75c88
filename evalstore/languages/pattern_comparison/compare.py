"""Searches several languages at once for the combinations of them that texts have, each with its shortest text.

A text is in some of the languages and not in the others: a combination. Every language becomes an
automaton that is made deterministic as it is read; the search goes through the product of all of
them, breadth first, what people can type before anything else. A combination that a complete search
does not find, no text has.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
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
from evalstore.languages.pattern_comparison.languages import Expression, build_pattern_language
from evalstore.languages.patterns.alphabet import PLAIN_CHARS, Alphabet, build_alphabet
from evalstore.languages.patterns.matcher import compile_matcher
from evalstore.languages.patterns.pattern_graph import PatternGraph
from evalstore.languages.patterns.syntax_tree import NOTHING, Neighbour, RegexTree, UndecidedError

# About a third of a second on a slow machine; ordinary patterns take a hundredth of it.
QUESTION_STEPS = 200_000
_OUT_OF_STEPS = "comparing them takes too many steps"

# Whether a text is of a language, as somebody else finds; None where they cannot say.
Acceptor = Callable[[str], bool | None]


class LanguageRelation(StrEnum):
    """What the new language is to the old one."""

    EQUAL = "equal"
    NARROWER = "narrower"
    WIDER = "wider"
    INCOMPARABLE = "incomparable"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class LanguageComparison:
    """The answer; each text is a shortest one of that side only, and `why` is a clause that says what is undecided."""

    relation: LanguageRelation
    only_old: str | None = None
    only_new: str | None = None
    why: str = ""

    def is_confirmed_by(self, old: Acceptor, new: Acceptor) -> bool:
        """Whether each text is accepted by its own side and refused by the other, as others find."""
        examples = ((self.only_old, old, new), (self.only_new, new, old))
        return all(
            text is None or (own(text), other(text)) == (True, False)
            for text, own, other in examples
        )


def compare_patterns(
    old: Expression, new: Expression, budget: SharedBudget | None = None
) -> LanguageComparison:
    """Return what the texts that match `new` are to those that match `old`; the engine has confirmed the examples.

    It never raises: what is not supported, or takes more steps than the budget has, is undecided.
    """
    try:
        languages = build_pattern_language(old), build_pattern_language(new)
        compared = compare_languages(*languages, budget or SharedBudget(QUESTION_STEPS))
    except UndecidedError as error:
        return LanguageComparison(LanguageRelation.UNDECIDED, why=str(error))
    if not compared.is_confirmed_by(partial(_match, old), partial(_match, new)):
        return LanguageComparison(
            LanguageRelation.UNDECIDED, why="the engine and the comparison disagree"
        )
    if languages[0] != languages[1] and _find_limit(old) != _find_limit(new):
        return replace(
            compared, relation=LanguageRelation.UNDECIDED, why="one of them can take too many steps"
        )
    return compared


def compare_languages(old: RegexTree, new: RegexTree, budget: SharedBudget) -> LanguageComparison:
    """Return what the texts of `new` are to those of `old`; an example of a language that is undecided may be there.

    Raises `UndecidedError` where a language is beyond what is read.
    """
    if old == new:
        return LanguageComparison(LanguageRelation.EQUAL)
    found = _search((old, new), budget, apart=True)
    texts = found.texts.get(_ONLY_OLD), found.texts.get(_ONLY_NEW)
    if not found.is_complete:
        return LanguageComparison(LanguageRelation.UNDECIDED, *texts, _OUT_OF_STEPS)
    return LanguageComparison(_RELATIONS[texts[0] is None, texts[1] is None], *texts)


# By whether no text is of the old language only, and none of the new one only.
_RELATIONS = {
    (True, True): LanguageRelation.EQUAL,
    (True, False): LanguageRelation.WIDER,
    (False, True): LanguageRelation.NARROWER,
    (False, False): LanguageRelation.INCOMPARABLE,
}


def _find_limit(expression: Expression) -> object:
    """Return what says on which ordinary texts a pattern takes too many steps; None where it never does."""
    matcher = compile_matcher(*expression)
    return expression if isinstance(matcher, str) else matcher.ordinary_length


def _match(expression: Expression, text: str) -> bool | None:
    matcher = compile_matcher(*expression)
    return None if isinstance(matcher, str) else matcher.is_found(text)


# Whether a text is in each language, in their order.
Membership = tuple[bool, ...]
_ONLY_OLD, _ONLY_NEW = (True, False), (False, True)


class MembershipTable(NamedTuple):
    """A shortest text for each combination that was found; when complete, no text has another one."""

    texts: dict[Membership, str]
    is_complete: bool


def find_memberships(languages: Sequence[RegexTree], budget: SharedBudget) -> MembershipTable:
    """Return the combinations of some languages that texts have; incomplete when the budget ended the search.

    Raises `UndecidedError` where a language is beyond what is read.
    """
    return _search(languages, budget)


def _search(
    languages: Sequence[RegexTree], budget: SharedBudget, *, apart: bool = False
) -> MembershipTable:
    """Return what `find_memberships` does; if `apart`, only the shortest texts that tell two languages apart."""
    combinations = (
        (_ONLY_OLD, _ONLY_NEW) if apart else product((False, True), repeat=len(languages))
    )
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


@dataclass(slots=True)
class _Search:
    """One search, breadth first, until each of the combinations `wanted` has a text, or none is left to be read."""

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
        partial: list[tuple[int, Neighbour, tuple[Formula, ...]]] = [
            (letters, neighbour, ()) for neighbour, letters in self.alphabet.by_neighbour.items()
        ]
        for formula in state.formulas:
            moves = self._list_moves(formula, state.before)
            self.budget.spend(len(partial))
            partial = [
                (both, neighbour, (*formulas, following))
                for letters, neighbour, formulas in partial
                for mask, kind, following in moves
                if kind == neighbour and (both := letters & mask)
            ]
        # Readable letters have low numbers: of the shortest texts, a readable one is found first.
        partial.sort(key=lambda one: one[0] & -one[0])
        return (
            (letters, _CombinedState(neighbour, formulas))
            for letters, neighbour, formulas in partial
        )

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


def _find_lowest_bit(mask: int) -> int:
    return (mask & -mask).bit_length() - 1
