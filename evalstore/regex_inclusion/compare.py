"""Decides which of two checks lets more outputs through, with the shortest outputs that show it, replayed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import NamedTuple

from evalstore.budget import OutOfStepsError, SharedBudget
from evalstore.checks.patterns import compile_pattern, matches
from evalstore.regex_inclusion.alphabet import alphabet_of
from evalstore.regex_inclusion.automaton import Automaton, literal
from evalstore.regex_inclusion.backtracking import may_explode
from evalstore.regex_inclusion.languages import Expression, language
from evalstore.regex_inclusion.product import Apart, relate
from evalstore.regex_inclusion.state_graph import Graph
from evalstore.regex_inclusion.syntax_tree import Tree
from evalstore.regex_inclusion.unsupported import UndecidedError

# About a third of a second on a slow machine; ordinary patterns take a hundredth of it.
QUESTION_STEPS = 200_000
# What all questions of one diff may take together.
TOTAL_STEPS = 3 * QUESTION_STEPS
_TOO_MANY = "comparing them takes too many steps"
_SAME = Apart(None, None, done=True)


class Relation(StrEnum):
    """What the new language is beside the old one."""

    EQUAL = "equal"
    NARROWER = "narrower"
    WIDER = "wider"
    APART = "apart"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class Comparison:
    """The answer; each text is a shortest one that only that side lets through, and `why` says why it is open."""

    relation: Relation
    only_old: str | None = None
    only_new: str | None = None
    why: str = ""


class Side(NamedTuple):
    """One side: its language (raises `UndecidedError`), and what the scorer says of a text (None: it cannot).

    `room` is how long a text it is asked of, None where any is.
    """

    language: Callable[[], Tree]
    passes: Callable[[str], bool | None]
    room: Callable[[], int | None] = lambda: None


def compare_patterns(old: Expression, new: Expression, budget: SharedBudget | None = None) -> Comparison:
    """Return what the texts that match `new` are beside those that match `old`."""
    before, after = (Side(partial(language, one), partial(_matches, one)) for one in (old, new))
    return compare_sides(before, after, budget or SharedBudget(QUESTION_STEPS))


def compare_sides(old: Side, new: Side, budget: SharedBudget) -> Comparison:
    """Return what the texts that `new` lets through are beside those of `old`; open when a replay disagrees."""
    try:
        apart, why = _compared((old.language(), new.language()), budget)
    except UndecidedError as error:
        return Comparison(Relation.OPEN, why=str(error))
    except OutOfStepsError:
        return Comparison(Relation.OPEN, why=_TOO_MANY)
    for text, mine, other in ((apart.only_old, old, new), (apart.only_new, new, old)):
        if text is not None and (mine.passes(text), other.passes(text)) != (True, False):
            return Comparison(Relation.OPEN, why="the scorer answers otherwise than the comparison")
    rooms = {old.room(), new.room()}
    if None not in rooms and len(rooms) > 1:
        why = "the longer pattern is not run on outputs as long as the other is"
    return Comparison(Relation.OPEN if why else _relation(apart), apart.only_old, apart.only_new, why)


def _matches(expression: Expression, text: str) -> bool | None:
    compiled = compile_pattern(expression.pattern, expression.flags)
    return None if isinstance(compiled, str) else matches(compiled, expression.mode, text)


def _compared(trees: tuple[Tree, Tree], budget: SharedBudget) -> tuple[Apart, str]:
    """Return what only one side has, and why that does not settle it."""
    if trees[0] == trees[1]:
        return _SAME, ""
    alphabet = alphabet_of(trees, budget)
    graph = Graph(alphabet.masks, budget)
    old, new = (literal(graph.build(tree, graph.all)) for tree in trees)
    apart = relate(Automaton(graph), alphabet, (old, new))
    if not apart.done:
        return apart, _TOO_MANY
    explodes = any(may_explode(tree, alphabet.masks, budget) for tree in trees)
    return apart, "one of them may run out of its time" if explodes else ""


def _relation(apart: Apart) -> Relation:
    if apart.only_old is None:
        return Relation.EQUAL if apart.only_new is None else Relation.WIDER
    return Relation.NARROWER if apart.only_new is None else Relation.APART
