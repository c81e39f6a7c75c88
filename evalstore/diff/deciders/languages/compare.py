"""Decides which of two checks lets more outputs through, with the shortest outputs that show it, replayed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import NamedTuple

from evalstore.checks.patterns import compile_pattern, items, matches, room
from evalstore.diff.deciders.languages.alphabet import alphabet_of
from evalstore.diff.deciders.languages.automaton import Automaton
from evalstore.diff.deciders.languages.budget import Budget, UndecidedError
from evalstore.diff.deciders.languages.faults import refuse_faults
from evalstore.diff.deciders.languages.formula import literal
from evalstore.diff.deciders.languages.graph import Graph
from evalstore.diff.deciders.languages.pace import may_explode
from evalstore.diff.deciders.languages.parse import parse
from evalstore.diff.deciders.languages.relate import Apart, relate
from evalstore.diff.deciders.languages.tree import ANYTHING, At, Place, Row, Tree

_LONGEST = 1_000
_FLAGS = frozenset("imsx")
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


class Expression(NamedTuple):
    """A regular expression as a check runs it; `flags` are of `imsx`, `mode` is search, match or fullmatch."""

    pattern: str
    flags: str = ""
    mode: str = "search"


class Side(NamedTuple):
    """One side: its language (raises `UndecidedError`), and what the scorer says of a text (None: it cannot).

    `room` is how long a text it is asked of, None where any is.
    """

    language: Callable[[], Tree]
    passes: Callable[[str], bool | None]
    room: Callable[[], int | None] = lambda: None


def compare_patterns(old: Expression, new: Expression, budget: Budget | None = None) -> Comparison:
    """Return what the texts that match `new` are beside those that match `old`."""
    before, after = (Side(partial(language, one), partial(_matches, one)) for one in (old, new))
    return compare_sides(before, after, budget or Budget())


def compare_sides(old: Side, new: Side, budget: Budget) -> Comparison:
    """Return what the texts that `new` lets through are beside those of `old`; open when a replay disagrees."""
    try:
        apart, why = _compared((old.language(), new.language()), budget)
    except UndecidedError as error:
        return Comparison(Relation.OPEN, why=str(error))
    for text, mine, other in ((apart.only_old, old, new), (apart.only_new, new, old)):
        if text is not None and (mine.passes(text), other.passes(text)) != (True, False):
            return Comparison(Relation.OPEN, why="the scorer answers otherwise than the comparison")
    rooms = {old.room(), new.room()}
    if None not in rooms and len(rooms) > 1:
        why = "the longer pattern is not run on outputs as long as the other is"
    return Comparison(Relation.OPEN if why else _relation(apart), apart.only_old, apart.only_new, why)


def language(expression: Expression) -> Tree:
    """Return the texts for which a pattern passes, as a tree; raises `UndecidedError`."""
    pattern, flags, mode = expression
    if not _FLAGS.issuperset(flags):
        raise UndecidedError("its flags are not of i, m, s, x")
    if len(pattern) > _LONGEST or items(pattern) > _LONGEST:
        raise UndecidedError(f"a pattern is longer than {_LONGEST:,} characters, its repeats written out")
    compiled = compile_pattern(pattern, flags)
    if isinstance(compiled, str):
        raise UndecidedError(compiled)
    tree = parse(pattern, flags)
    refuse_faults(tree)
    if mode == "search":
        return Row((ANYTHING, tree))
    return Row((tree, At(Place.TEXT_END))) if mode == "fullmatch" else tree


def room_of(expression: Expression) -> int | None:
    """Return how long an output a pattern is run on; None for one that does not compile."""
    compiled = compile_pattern(expression.pattern, expression.flags)
    return None if isinstance(compiled, str) else room(compiled)


def _matches(expression: Expression, text: str) -> bool | None:
    compiled = compile_pattern(expression.pattern, expression.flags)
    return None if isinstance(compiled, str) else matches(compiled, expression.mode, text)


def _compared(trees: tuple[Tree, Tree], budget: Budget) -> tuple[Apart, str]:
    """Return what only one side has, and why that does not settle it."""
    if trees[0] == trees[1]:
        return _SAME, ""
    alphabet = alphabet_of(trees, budget)
    graph = Graph(alphabet.masks, budget)
    old, new = (literal(graph.build(tree, graph.all)) for tree in trees)
    apart = relate(Automaton(graph), alphabet, (old, new))
    if not apart.done:
        return apart, "comparing them takes too many steps"
    explodes = any(may_explode(tree, alphabet.masks, budget) for tree in trees)
    return apart, "one of them may run out of its time" if explodes else ""


def _relation(apart: Apart) -> Relation:
    if apart.only_old is None:
        return Relation.EQUAL if apart.only_new is None else Relation.WIDER
    return Relation.NARROWER if apart.only_new is None else Relation.APART
