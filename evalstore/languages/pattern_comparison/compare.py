"""Searches several languages at once for the combinations of them that texts have, each with its shortest text.

A text is in some of the languages and not in the others: a combination. Every language becomes an automaton that is
made deterministic as it is read; the search goes through the product of all of them, breadth first, what people can
type before anything else. A combination that a complete search does not find, no text has.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from operator import itemgetter
from typing import NamedTuple

from evalstore.budget import OutOfStepsError, SharedBudget
from evalstore.languages.pattern_comparison.automaton import FALSE, TRUE, AlternatingAutomaton, Formula, make_literal
from evalstore.languages.pattern_comparison.languages import Expression, build_pattern_language
from evalstore.languages.patterns.alphabet import PLAIN_CHARS, Alphabet, build_alphabet
from evalstore.languages.patterns.matcher import compile_matcher
from evalstore.languages.patterns.pattern_graph import PatternGraph
from evalstore.languages.patterns.syntax_tree import NOTHING, Neighbour, RegexTree, UndecidedError


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


# About a third of a second on a slow machine; ordinary patterns take a hundredth of it.
QUESTION_STEPS = 200_000
# What all questions that belong together may take.
TOTAL_STEPS = 3 * QUESTION_STEPS
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
        return all(text is None or (own(text), other(text)) == (True, False) for text, own, other in examples)


def compare_patterns(old: Expression, new: Expression, budget: SharedBudget | None = None) -> LanguageComparison:
    """Return what the texts that match `new` are to those that match `old`; the engine has confirmed the examples.

    It never raises: what is not supported, or takes more steps than the budget has, is undecided.
    """
    try:
        languages = build_pattern_language(old), build_pattern_language(new)
        compared = compare_languages(*languages, budget or SharedBudget(QUESTION_STEPS))
    except UndecidedError as error:
        return LanguageComparison(LanguageRelation.UNDECIDED, why=str(error))
    if not compared.is_confirmed_by(partial(_match, old), partial(_match, new)):
        return LanguageComparison(LanguageRelation.UNDECIDED, why="the engine and the comparison disagree")
    if languages[0] != languages[1] and (_may_exceed(old) or _may_exceed(new)):
        return replace(compared, relation=LanguageRelation.UNDECIDED, why="one of them can take too many steps")
    return compared


def compare_languages(old: RegexTree, new: RegexTree, budget: SharedBudget) -> LanguageComparison:
    """Return what the texts of `new` are to those of `old`; an example of a language that is undecided may be there.

    Raises `UndecidedError` where the steps end before the search for examples does begin, or after it.
    """
    try:
        difference, why = _compare_trees((old, new), budget)
    except OutOfStepsError:
        raise UndecidedError(_OUT_OF_STEPS) from None
    relation = LanguageRelation.UNDECIDED if why else _classify(difference)
    return LanguageComparison(relation, difference.only_old, difference.only_new, why)


def _compare_trees(trees: tuple[RegexTree, RegexTree], budget: SharedBudget) -> tuple[LanguageDifference, str]:
    """Return what only one side has, and why that does not settle it."""
    if trees[0] == trees[1]:
        return LanguageDifference(None, None, is_complete=True), ""
    alphabet = build_alphabet(trees, budget)
    graph = PatternGraph(alphabet.masks, budget)
    old, new = (make_literal(graph.add_tree(tree, graph.any_rest)) for tree in trees)
    difference = find_difference(AlternatingAutomaton(graph), alphabet, (old, new))
    if not difference.is_complete:
        return difference, _OUT_OF_STEPS
    return difference, ""


def _classify(difference: LanguageDifference) -> LanguageRelation:
    if difference.only_old is None:
        return LanguageRelation.EQUAL if difference.only_new is None else LanguageRelation.WIDER
    return LanguageRelation.NARROWER if difference.only_new is None else LanguageRelation.INCOMPARABLE


def _may_exceed(expression: Expression) -> bool:
    matcher = compile_matcher(*expression)
    return isinstance(matcher, str) or matcher.may_exceed


def _match(expression: Expression, text: str) -> bool | None:
    matcher = compile_matcher(*expression)
    return None if isinstance(matcher, str) else matcher.is_found(text)


# Whether a text is in each language, in their order.
Membership = tuple[bool, ...]


class MembershipTable(NamedTuple):
    """A shortest text for each combination that was found; when complete, no text has another one."""

    texts: dict[Membership, str]
    is_complete: bool


def find_memberships(languages: Sequence[RegexTree], budget: SharedBudget) -> MembershipTable:
    """Return the combinations of some languages that texts have; incomplete when the budget ended the search.

    Raises `UndecidedError` where a language is beyond what is read.
    """
    texts: dict[Membership, str] = {}
    try:
        alphabet = build_alphabet(languages, budget)
        graph = PatternGraph(alphabet.masks, budget)
        starts = tuple(make_literal(graph.add_tree(tree, graph.any_rest)) for tree in languages)
        _Search(AlternatingAutomaton(graph), alphabet, budget, texts).run(starts)
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
    automaton: AlternatingAutomaton
    alphabet: Alphabet
    budget: SharedBudget
    texts: dict[Membership, str]
    moves: dict[tuple[Formula, Neighbour], list[_Move]] = field(default_factory=dict)

    def run(self, starts: tuple[Formula, ...]) -> None:
        plain = self._select_plain_letters()
        start = _CombinedState(NOTHING, starts)
        seen, last = {start}, 1 << len(starts)
        typed, others = deque([(start, "")]), deque[_Reached]()
        while len(self.texts) < last and (typed or others):
            # What is reached by typing alone is followed first, whatever else leads to the same state.
            is_typed = bool(typed)
            state, text = (typed or others).popleft()
            if not is_typed and state in seen:
                continue
            seen.add(state)
            self.texts.setdefault(self._find_membership(state), text)
            if all(formula in {TRUE, FALSE} for formula in state.formulas):
                continue
            for letters, following in self._list_successors(state):
                if following in seen:
                    continue
                char = self.alphabet.examples[_find_lowest_bit(letters & plain or letters)]
                if is_typed and char in PLAIN_CHARS:
                    seen.add(following)
                    typed.append((following, text + char))
                else:
                    others.append((following, text + char))

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
        return ((letters, _CombinedState(neighbour, formulas)) for letters, neighbour, formulas in partial)

    def _list_moves(self, formula: Formula, before: Neighbour) -> list[_Move]:
        key = formula, before
        if key not in self.moves:
            moves: dict[tuple[Neighbour, Formula], int] = {}
            for neighbour, letters in self.alphabet.by_neighbour.items():
                expanded = self.automaton.expand(formula, before, neighbour)
                for group in self.automaton.group_letters(letters, (expanded,)):
                    way = neighbour, self.automaton.read_letter(expanded, _find_lowest_bit(group))
                    moves[way] = moves.get(way, 0) | group
            self.moves[key] = [(mask, neighbour, following) for (neighbour, following), mask in moves.items()]
        return self.moves[key]

    def _select_plain_letters(self) -> int:
        return sum(1 << letter for letter, char in enumerate(self.alphabet.examples) if char in PLAIN_CHARS)


def _find_lowest_bit(mask: int) -> int:
    return (mask & -mask).bit_length() - 1
