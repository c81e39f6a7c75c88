"""Compares two languages: parses, builds one graph of both, searches for texts of one side only, replays them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial

from evalstore.budget import OutOfStepsError, SharedBudget
from evalstore.patterns.alphabet import build_alphabet
from evalstore.patterns.matcher import compile_matcher
from evalstore.patterns.pattern_graph import PatternGraph
from evalstore.patterns.syntax_tree import RegexTree
from evalstore.patterns.unsupported import UndecidedError
from evalstore.regex_inclusion.automaton import AlternatingAutomaton, make_literal
from evalstore.regex_inclusion.languages import Expression, build_pattern_language
from evalstore.regex_inclusion.product import LanguageDifference, find_difference

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
        return LanguageComparison(LanguageRelation.UNDECIDED, why="the engine answers otherwise than the comparison")
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
