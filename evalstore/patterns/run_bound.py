r"""Says how much work the engine has with a pattern on one text at most, by how far each loop can read in that text.

From one place, a loop over characters of a class goes on no further than the longest run of them in the text, so it is
a counted repeat: the ways through a pattern multiply, and all places together take as many times that. Where what
follows a loop begins with none of its characters (`\w+` before `\s`), there is one way out of it. `work_bound` knows
more of a pattern and nothing of a text; this one is for ordinary patterns in long texts, where words are short.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations, product
from math import inf
from typing import NamedTuple

from evalstore.patterns.letters import are_disjoint
from evalstore.patterns.program import can_be_empty
from evalstore.patterns.syntax_tree import (
    Alternation,
    Anchor,
    Atom,
    Atomic,
    BackReference,
    Concatenation,
    Conditional,
    Group,
    Lookahead,
    Lookbehind,
    RegexTree,
    Repetition,
    get_children,
    iterate_tree,
)

# With two ways in each, so many rounds are beyond every limit.
_ROUNDS_LIMIT = 64
_KEPT_ANSWERS = 64
# Classes of loops; each is measured in each text.
_UNIONS_LIMIT = 8
# What is looked at behind a loop, and of alternatives: parts and atoms.
_AHEAD_LIMIT, _FIRST_LIMIT, _ALTERNATIVES_LIMIT = 16, 32, 8

CharUnion = frozenset[Atom]
# What stands behind a part: the next part and what stands behind that one.
_Rest = tuple[RegexTree, "_Rest"] | None
# The end of what is looked for, which needs no character; None is an end behind which anything may stand.
_MATCH: _Rest = (Alternation(()), None)


class WaysThrough(NamedTuple):
    """In how many ways a tree can match from one place, the steps of all of them, and how far the longest reads."""

    ways: int
    work: int
    reach: int


class _UncountedError(Exception):
    """The ways do not simply multiply, or are too many."""


class RunBound:
    """The bound of a pattern, for the searches that begin at one place or at all."""

    def __init__(self, tree: RegexTree, *, ends_early: bool) -> None:
        self._tree, self._ends_early = tree, ends_early
        loops = (node for node in iterate_tree(tree) if isinstance(node, Repetition) and node.most is None)
        self._unions = tuple(dict.fromkeys(map(list_atoms, loops)))
        self._count_kept = lru_cache(maxsize=_KEPT_ANSWERS)(self._count_ways)

    def count_steps(self, runs: Mapping[CharUnion, int], places: int) -> float:
        """Return the most steps that some places of a text with such runs take; infinite where they are not known."""
        if len(self._unions) > _UNIONS_LIMIT:
            return inf
        return (self._count_kept(tuple(map(runs.__getitem__, self._unions))) + 1) * places

    def _count_ways(self, runs: tuple[int, ...]) -> float:
        longest = dict(zip(self._unions, runs, strict=True))
        ways = count_ways(self._tree, longest, ends_early=self._ends_early)
        return inf if ways is None else ways.work


def list_atoms(tree: RegexTree) -> CharUnion:
    """Return the atoms of a tree, whose union is all that it reads, but for references."""
    return frozenset(node for node in iterate_tree(tree) if isinstance(node, Atom))


def count_ways(tree: RegexTree, runs: Mapping[CharUnion, int], *, ends_early: bool) -> WaysThrough | None:
    """Return the ways through a pattern, by the longest run of what each endless loop reads; None for no bound.

    With `ends_early` the first match is the end, and of the ways through nothing is left to try.
    """
    try:
        return _WayCounter(runs, _list_groups(tree)).count(tree, _MATCH if ends_early else None)
    except _UncountedError:
        return None


def _list_groups(tree: RegexTree) -> dict[int, RegexTree]:
    groups = [node for node in iterate_tree(tree) if isinstance(node, Group)]
    seen = Counter(group.number for group in groups)
    return {group.number: group.body for group in groups if seen[group.number] == 1}


@dataclass(frozen=True, slots=True)
class _WayCounter:
    """Counts the ways through the parts of a tree, the parts before others first; `rest` stands behind a part."""

    runs: Mapping[CharUnion, int]
    groups: Mapping[int, RegexTree]
    reaches: dict[int, int] = field(default_factory=dict)

    def count(self, tree: RegexTree, rest: _Rest) -> WaysThrough:
        if isinstance(tree, Atom | Anchor):
            return WaysThrough(1, 1, 1)
        if isinstance(tree, Concatenation):
            return self._count_sequence(tree.parts, rest)
        if isinstance(tree, Alternation | Conditional):
            return self._count_alternatives(get_children(tree), rest)
        if isinstance(tree, Repetition):
            return self._count_repeat(tree, rest)
        if isinstance(tree, BackReference):
            if tree.number not in self.reaches:
                raise _UncountedError
            return WaysThrough(1, self.reaches[tree.number] + 1, self.reaches[tree.number])
        if isinstance(tree, Group):
            inner = self.count(tree.body, rest)
            if tree.number in self.groups:
                self.reaches[tree.number] = inner.reach
            return inner
        return self._count_first_way(tree)

    def _count_first_way(self, tree: Atomic | Lookahead | Lookbehind) -> WaysThrough:
        """Return what is left where the first way through the body is the only one."""
        # Behind a place, a body is read from its end to its beginning.
        if isinstance(tree, Lookbehind) and any(isinstance(node, Repetition) for node in iterate_tree(tree)):
            raise _UncountedError
        inner = self.count(tree.body, _MATCH)
        return WaysThrough(1, inner.work + 1, inner.reach)

    def _count_sequence(self, parts: tuple[RegexTree, ...], rest: _Rest) -> WaysThrough:
        behind = [rest]
        for part in reversed(parts):
            behind.append((part, behind[-1]))
        total = WaysThrough(1, 0, 0)
        for part, after in zip(parts, behind[-2::-1], strict=True):
            total = _follow_by(total, self.count(part, after))
        return total

    def _count_alternatives(self, parts: tuple[RegexTree, ...], rest: _Rest) -> WaysThrough:
        found = [self.count(part, rest) for part in parts]
        firsts = [self._find_first((part, None)) for part in parts] if len(parts) <= _ALTERNATIVES_LIMIT else [None]
        is_choice = all(_exclude_each_other(*pair) for pair in combinations(firsts, 2)) and None not in firsts
        ways = [one.ways for one in found]
        return WaysThrough(
            max(ways) if is_choice else sum(ways), sum(one.work + 1 for one in found), max(one.reach for one in found)
        )

    def _count_repeat(self, tree: Repetition, rest: _Rest) -> WaysThrough:
        # Behind the body comes the body again, or what stands behind the repeat.
        body = self.count(tree.body, (Repetition(tree.body, 0, None), rest))
        if tree.most is None:
            return self._count_loop(tree, body, rest)
        if body.ways == 1:
            return WaysThrough(tree.most - tree.least + 1, tree.most * (body.work + 1), tree.most * body.reach)
        return _count_rounds(body, tree.least, tree.most)

    def _count_loop(self, tree: Repetition, body: WaysThrough, rest: _Rest) -> WaysThrough:
        # A round reads a character at least; what a reference reads is of no class.
        inner = list(iterate_tree(tree.body))
        if body.ways > 1 or can_be_empty(tree.body) or any(isinstance(node, BackReference) for node in inner):
            raise _UncountedError
        run = self.runs[list_atoms(tree)]
        work = run * (body.work + 1) + 1
        reach = run if not any(isinstance(node, Lookahead) for node in inner) else run + body.reach
        tried = self._find_first(rest) if isinstance(tree.body, Atom) else None
        if tried is not None and _exclude_each_other(list_atoms(tree), tried):
            return WaysThrough(1, work + run * len(tried), reach)
        return WaysThrough(run + 1, work, reach)

    def _find_first(self, rest: _Rest) -> CharUnion | None:
        """Return the atoms that what the parts match begins with; None where it may be empty, or one is not known."""
        found: CharUnion = frozenset()
        for _ in range(_AHEAD_LIMIT):
            if rest is None:
                return None
            part, rest = rest
            first = self._find_first_of(part)
            if first is None or len(found | first) > _FIRST_LIMIT:
                return None
            found |= first
            if not self._can_be_empty(part):
                return found
        return None

    def _find_first_of(self, tree: RegexTree) -> CharUnion | None:
        if isinstance(tree, Atom):
            return frozenset({tree})
        if isinstance(tree, Anchor):
            return frozenset()
        if isinstance(tree, BackReference):
            is_known = not tree.folds and tree.number in self.reaches
            return self._find_first_of(self.groups[tree.number]) if is_known else None
        if isinstance(tree, Lookahead | Lookbehind | Conditional):
            return None
        parts = get_children(tree)
        if isinstance(tree, Concatenation):
            filled = next((index for index, part in enumerate(parts) if not self._can_be_empty(part)), len(parts))
            parts = parts[: filled + 1]
        found = [self._find_first_of(part) for part in parts]
        return None if None in found else frozenset().union(*(one for one in found if one is not None))

    def _can_be_empty(self, tree: RegexTree) -> bool:
        if isinstance(tree, BackReference) and tree.number in self.groups:
            return can_be_empty(self.groups[tree.number])
        return can_be_empty(tree)


def _exclude_each_other(one: CharUnion | None, other: CharUnion | None) -> bool:
    """Whether no character is of both."""
    return one is not None and other is not None and all(are_disjoint(*pair) for pair in product(one, other))


def _follow_by(first: WaysThrough, second: WaysThrough) -> WaysThrough:
    return WaysThrough(first.ways * second.ways, first.work + first.ways * second.work, first.reach + second.reach)


def _count_rounds(body: WaysThrough, least: int, most: int) -> WaysThrough:
    total, once = WaysThrough(0, 0, 0), WaysThrough(1, 0, 0)
    for count in range(min(most, _ROUNDS_LIMIT) + 1):
        total = WaysThrough(total.ways + (once.ways if count >= least else 0), once.work, most * body.reach)
        once = _follow_by(once, body)
    return total
