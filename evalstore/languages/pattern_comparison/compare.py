"""Compares two languages or patterns: texts of one side only, or the proof that there are none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial

from evalstore.budget import SharedBudget
from evalstore.languages.pattern_comparison.languages import Expression, build_pattern_language
from evalstore.languages.pattern_comparison.memberships import ONLY_NEW, ONLY_OLD, search_languages
from evalstore.languages.patterns.matcher import compile_matcher
from evalstore.languages.patterns.parser import parse_pattern
from evalstore.languages.patterns.syntax_tree import (
    Group,
    RegexTree,
    UndecidedError,
    replace_children,
)

# About a third of a second on a slow machine; ordinary patterns take a hundredth of that.
QUESTION_STEPS = 200_000
_OUT_OF_STEPS = "comparing them takes too many steps"

# Whether somebody else finds a text to be in a language; None if they cannot say.
Acceptor = Callable[[str], bool | None]


class LanguageRelation(StrEnum):
    """How the new language relates to the old one."""

    EQUAL = "equal"
    NARROWER = "narrower"
    WIDER = "wider"
    INCOMPARABLE = "incomparable"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class LanguageComparison:
    """The answer; each text is a shortest one of that side only.

    `why` is a clause that says what is undecided.
    """

    relation: LanguageRelation
    only_old: str | None = None
    only_new: str | None = None
    why: str = ""

    def is_confirmed_by(self, old: Acceptor, new: Acceptor) -> bool:
        """Whether others find each text accepted by its own side and refused by the other."""
        return _is_apart(self.only_old, old, new) and _is_apart(self.only_new, new, old)


def _is_apart(text: str | None, own: Acceptor, other: Acceptor) -> bool:
    """Whether a text, if there is one, is accepted by its own side and refused by the other."""
    return text is None or (own(text), other(text)) == (True, False)


def compare_patterns(
    old: Expression, new: Expression, budget: SharedBudget | None = None
) -> LanguageComparison:
    """Return how the texts that match `new` relate to those of `old`; the engine confirms examples.

    It never raises: what is not supported, or exceeds the budget, is undecided.
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
    if find_step_limit(old) != find_step_limit(new):
        return replace(
            compared, relation=LanguageRelation.UNDECIDED, why="one of them can take too many steps"
        )
    return compared


def compare_languages(old: RegexTree, new: RegexTree, budget: SharedBudget) -> LanguageComparison:
    """Return how the texts of `new` relate to those of `old`.

    An undecided answer may have examples.

    Raises `UndecidedError` for a language beyond what is supported.
    """
    if old == new:
        return LanguageComparison(LanguageRelation.EQUAL)
    found = search_languages((old, new), budget, apart=True)
    texts = found.texts.get(ONLY_OLD), found.texts.get(ONLY_NEW)
    if not found.is_complete:
        return LanguageComparison(LanguageRelation.UNDECIDED, *texts, _OUT_OF_STEPS)
    return LanguageComparison(_find_relation(*texts), *texts)


def _find_relation(only_old: str | None, only_new: str | None) -> LanguageRelation:
    if only_old is None:
        return LanguageRelation.EQUAL if only_new is None else LanguageRelation.WIDER
    return LanguageRelation.NARROWER if only_new is None else LanguageRelation.INCOMPARABLE


def find_step_limit(expression: Expression) -> object:
    """Return what decides on which ordinary texts a pattern is too slow; None if on none.

    The length up to which it is never too slow does not decide that: beyond it, the number of steps
    depends on each text, on what is matched and where.
    """
    matcher = compile_matcher(*expression)
    if isinstance(matcher, str):
        return expression
    if matcher.ordinary_length is None:
        return None
    tree = parse_pattern(expression.pattern, expression.flags)
    return _drop_groups(tree), expression.mode


def _drop_groups(tree: RegexTree) -> RegexTree:
    """Return a tree without its groups, which take no steps beyond those of their bodies."""
    if isinstance(tree, Group):
        return _drop_groups(tree.body)
    return replace_children(tree, _drop_groups)


def _match(expression: Expression, text: str) -> bool | None:
    matcher = compile_matcher(*expression)
    return None if isinstance(matcher, str) else matcher.is_found(text)
