r"""Says how much work a backtracking engine has with a pattern at most: a polynomial in the length of the text.

The engine's work is the number of ways in which it can have come to a place of the pattern at a place of the text. A
loop multiplies them by the length when two readers of one text can leave what comes before it at different times and
then stay in it together (Weber and Seidl 1991: the degree of ambiguity); among what comes before is the search for a
place to begin. A loop with two ways round for one text has exponentially many, and no bound. Measured, a step is some
30 nanoseconds. Characters that two parts of a pattern share are looked for among a sample, ASCII and what the pattern
names in it: a bound decides who searches a text, and never what is found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product, zip_longest
from math import factorial
from typing import NamedTuple

from evalstore.budget import OutOfStepsError, SharedBudget
from evalstore.patterns.letters import LetterTable, collect_letters
from evalstore.patterns.pattern_graph import NodeKind, PatternGraph
from evalstore.patterns.places import HOLDS_AT, NOTHING, Neighbour
from evalstore.patterns.run_bound import count_ways
from evalstore.patterns.strong_components import list_components
from evalstore.patterns.syntax_tree import (
    ANY_TEXT,
    Alternation,
    Atomic,
    BackReference,
    Chars,
    Concatenation,
    Conditional,
    Group,
    Lookahead,
    Lookbehind,
    RegexTree,
    Repetition,
    iterate_tree,
    replace_children,
)
from evalstore.patterns.unsupported import UndecidedError

_STEPS = 60_000
# Of them for one pair of loops; where they do not suffice, the loops are taken to multiply.
_PAIR_STEPS = 5_000
_DEGREE_LIMIT = 5
_MAY_FAIL = (Atomic, BackReference, Conditional, Lookahead, Lookbehind)
_NOTHING, _NEVER = Concatenation(()), Chars("")


@dataclass(frozen=True, slots=True)
class WorkBound:
    """The steps for a text of n characters: the sum of c * n^d / d! over the coefficients c of the degrees d."""

    coefficients: tuple[int, ...]

    def count_steps(self, length: int) -> int:
        """Return the most steps that a text of some length takes."""
        return sum(number * length**degree // factorial(degree) for degree, number in enumerate(self.coefficients))

    def find_longest(self, steps: int, longest: int) -> int:
        """Return the greatest length, up to `longest`, that takes no more than some steps."""
        low, high = 0, longest
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self.count_steps(middle) <= steps else (low, middle - 1)
        return low


class _Reader(NamedTuple):
    """A place in a pattern after a letter: its node, what the letter is to an anchor."""

    node: int
    neighbour: Neighbour


class _UnboundedError(Exception):
    """No polynomial bounds the work."""


def bound_work(tree: RegexTree, mode: str) -> WorkBound | None:
    """Return the bound of a pattern in a mode: search, match, fullmatch, or findall; None where none is known."""
    if not any(isinstance(node, Repetition) and node.most is None for node in iterate_tree(tree)):
        ways = count_ways(tree, {}, ends_early=False)
        if ways is None:
            return None
        return WorkBound((1, ways.work + 1)) if mode in {"search", "findall"} else WorkBound((ways.work + 1,))
    try:
        body = _simplify(tree)
    except _UnboundedError:
        return None
    whole = body if mode in {"match", "fullmatch"} else Concatenation((ANY_TEXT, body))
    # A search ends with the first match; of a fullmatch or of all matches, one is no end. What `_simplify` takes for
    # passable may fail, and the search goes on.
    ends_early = mode in {"search", "match"} and not any(isinstance(node, _MAY_FAIL) for node in iterate_tree(tree))
    for attempt in (whole, _drop_counts(whole)):
        try:
            return _Analysis(attempt, SharedBudget(_STEPS), ends_early=ends_early).bound()
        except (_UnboundedError, UndecidedError):
            return None
        except OutOfStepsError:
            continue
    return None


def _simplify(tree: RegexTree) -> RegexTree:
    """Return a tree of characters, anchors and repeats that takes no less work."""
    if isinstance(tree, Group | Atomic):
        return _simplify(tree.body)
    if isinstance(tree, BackReference):
        return ANY_TEXT
    if isinstance(tree, Conditional):
        return Alternation((_simplify(tree.yes), _simplify(tree.no)))
    if isinstance(tree, Lookbehind) and any(isinstance(node, Repetition) for node in iterate_tree(tree)):
        raise _UnboundedError
    if isinstance(tree, Lookahead | Lookbehind):
        # The body is tried, and given up: what follows is tried once all the same.
        return Alternation((Concatenation((_simplify(tree.body), _NEVER)), _NOTHING))
    return replace_children(tree, _simplify)


def _drop_counts(tree: RegexTree) -> RegexTree:
    """Return the tree with every repeat that may come more than twice made endless."""
    changed = replace_children(tree, _drop_counts)
    if isinstance(changed, Repetition) and (changed.most or 0) > 2:  # noqa: PLR2004
        return Repetition(changed.body, min(changed.least, 1), None)
    return changed


class _Analysis:
    """The readers of one tree, with the number of ways between them, and the letters that each can have read."""

    def __init__(self, tree: RegexTree, budget: SharedBudget, *, ends_early: bool) -> None:
        self.budget, self._ends_early = budget, ends_early
        table = LetterTable(tree)
        self.graph = PatternGraph(table.masks, budget)
        start = self.graph.add_tree(tree, self.graph.any_rest)
        self.letters = collect_letters(table, tree)
        self._neighbours = sorted({letter.neighbour for letter in self.letters})
        self._ways: dict[tuple[int, Neighbour, Neighbour], Counter[int]] = {}
        self._letters_of: dict[_Reader, int] = {}
        self.starts = self._list_next(start, NOTHING)
        self.next = self._explore()

    def bound(self) -> WorkBound:
        """Return the sum over all readers of the ways to each, times what it tries next."""
        ways = self._count_ways()
        tried: dict[int, tuple[int, ...]] = {}
        for reader, polynomial in ways.items():
            count = 1 + self._count_tries(reader)
            times = tuple(count * number for number in polynomial)
            # Of the readers of one node only those of one kind have read a letter.
            tried[reader.node] = max(tried.get(reader.node, ()), times, key=_order)
        total = [1] + [0] * (_DEGREE_LIMIT + 2)
        for times in tried.values():
            for degree, number in enumerate(times):
                total[degree + 1] += number
        return WorkBound(tuple(total))

    def _explore(self) -> dict[_Reader, Counter[_Reader]]:
        found: dict[_Reader, Counter[_Reader]] = {}
        waiting = list(self.starts)
        while waiting:
            reader = waiting.pop()
            if reader not in found:
                found[reader] = self._list_next(self.graph.nodes[reader.node].successors[0], reader.neighbour)
                waiting += found[reader]
        return found

    def _list_next(self, node: int, left: Neighbour) -> Counter[_Reader]:
        """Return the readers after one more letter, with the number of ways to each."""
        found: Counter[_Reader] = Counter()
        for right in self._neighbours:
            for char, ways in self._find_ways(node, left, right).items():
                self.budget.spend()
                if self.graph.nodes[char].kind is NodeKind.CHAR and self._list_letters(reader := _Reader(char, right)):
                    found[reader] = ways
        return found

    def _find_ways(self, start: int, left: Neighbour, right: Neighbour) -> Counter[int]:
        # Depth first with an explicit path instead of recursion: a graph is deeper than Python's stack.
        path, on_path = [start], set[int]()
        while path:
            number = path[-1]
            if (number, left, right) in self._ways:
                path.pop()
                continue
            successors = self._skip_empty(number, left, right)
            missing = [successor for successor in successors if (successor, left, right) not in self._ways]
            if not missing:
                self._ways[path.pop(), left, right] = self._merge_ways(number, successors, left, right)
            elif on_path.intersection(missing):
                raise _UnboundedError  # what is repeated can be empty
            else:
                on_path.add(number)
                path += missing
        return self._ways[start, left, right]

    def _skip_empty(self, number: int, left: Neighbour, right: Neighbour) -> tuple[int, ...]:
        kind, argument, successors = self.graph.nodes[number]
        if kind is NodeKind.ANY_OF or (kind is NodeKind.AT and HOLDS_AT[argument](left, right)):
            return successors
        return ()

    def _merge_ways(self, number: int, successors: tuple[int, ...], left: Neighbour, right: Neighbour) -> Counter[int]:
        self.budget.spend()
        if self.graph.nodes[number].kind in {NodeKind.CHAR, NodeKind.ALL}:
            return Counter({number: 1})
        ways: Counter[int] = Counter()
        for successor in successors:
            self.budget.spend(len(self._ways[successor, left, right]) // 8)
            ways.update(self._ways[successor, left, right])
        return ways

    def _count_ways(self) -> dict[_Reader, tuple[int, ...]]:
        """Return for each reader how many ways lead to it at one place of a text, as coefficients by degree."""
        loops: list[frozenset[_Reader]] = []
        # Readers that at most one way to begin ever leads to: they come after a match, and it ends the search.
        last: set[_Reader] = set()
        ways: dict[_Reader, tuple[int, ...]] = {}
        # By the node that a reader is at and the one that it comes from: at one place of a text a letter is of one
        # kind, so of the readers of one node only one is there.
        arrivals: dict[_Reader, dict[_Reader | None, tuple[int, ...]]] = {
            reader: {None: (count,)} for reader, count in self.starts.items()
        }
        for component in list_components(self.next):
            members = frozenset(component)
            sources = {source for reader in component for source in arrivals.get(reader, ())}
            if all(map(self._is_match, arrivals.keys() & members)) or sources <= last:
                last |= members
            total = _add_arrivals((reader.node, arrivals.get(reader, {})) for reader in component)
            if self._is_loop(members):
                self._refuse_two_ways_round(members)
                before = [loop for loop in loops if loop <= last or not members <= last]
                if any(self._stay_together(loop, members) for loop in before):
                    total = (0, *total)
                loops.append(members)
            if len(total) > _DEGREE_LIMIT:
                raise _UnboundedError
            for reader in component:
                if self._is_match(reader):
                    last.add(reader)
                ways[reader] = here = (1,) if self._is_match(reader) else total
                for following, count in self.next[reader].items():
                    if following not in members:
                        arrivals.setdefault(following, {})[reader] = tuple(count * number for number in here)
        return ways

    def _is_match(self, reader: _Reader) -> bool:
        """Whether the search ends with the first reader here, after what it tries first."""
        if not self._ends_early:
            return False
        node = self.graph.nodes[reader.node].successors[0]
        places = (self._find_ways(node, reader.neighbour, right) for right in (*self._neighbours, NOTHING))
        return all(self.graph.any_rest in ways for ways in places)

    def _count_tries(self, reader: _Reader) -> int:
        """Return how many places of the pattern are tried after a reader, at most."""
        tries: Counter[Neighbour] = Counter()
        for following, ways in self.next[reader].items():
            tries[following.neighbour] += ways
        return max(tries.values(), default=0)

    def _is_loop(self, members: frozenset[_Reader]) -> bool:
        return any(following in members for reader in members for following in self.next[reader])

    def _refuse_two_ways_round(self, members: frozenset[_Reader]) -> None:
        """Raise where two readers part, read one text in two ways, and meet again, all within a loop."""
        seen: set[tuple[_Reader, _Reader]] = {(reader, reader) for reader in members}
        waiting = list(seen)
        while waiting:
            pair = waiting.pop()
            for left, right in product(*([one for one in self.next[reader] if one in members] for reader in pair)):
                self.budget.spend()
                if left == right:
                    if pair[0] != pair[1] or self.next[pair[0]][left] > 1:
                        raise _UnboundedError
                elif (left, right) not in seen and self._share_letter((left, right)):
                    seen.add((left, right))
                    waiting.append((left, right))

    def _stay_together(self, first: frozenset[_Reader], second: frozenset[_Reader]) -> bool:
        """Whether one text leads from a place of a loop back to it, on to another loop, and round that one."""
        budget = SharedBudget(_PAIR_STEPS)
        try:
            return any(
                self._share_letter((here, there)) and self._find_text(here, there, (first, second), budget)
                for here, there in product(first, second)
            )
        except OutOfStepsError:
            return True  # for all that is known

    def _find_text(
        self, here: _Reader, there: _Reader, loops: tuple[frozenset[_Reader], frozenset[_Reader]], budget: SharedBudget
    ) -> bool:
        """Whether three readers can read one text: round from here, from here to there, and round from there."""
        start, goal = (here, here, there), (here, there, there)
        seen, waiting = {start}, [start]
        while waiting:
            at, passing, ahead = waiting.pop()
            choices = (
                [one for one in self.next[at] if one in loops[0]],
                self.next[passing],
                [one for one in self.next[ahead] if one in loops[1]],
            )
            for step in product(*choices):
                budget.spend()
                if step not in seen and self._share_letter(step):
                    if step == goal:
                        return True
                    seen.add(step)
                    waiting.append(step)
        return False

    def _share_letter(self, readers: Iterable[_Reader]) -> bool:
        shared = -1
        for reader in readers:
            shared &= self._list_letters(reader)
        return shared != 0

    def _list_letters(self, reader: _Reader) -> int:
        """Return the letters that a reader can have read, a bit each."""
        if reader not in self._letters_of:
            mask = self.graph.nodes[reader.node].argument
            self._letters_of[reader] = sum(
                1 << index
                for index, letter in enumerate(self.letters)
                if letter.neighbour == reader.neighbour and letter.atoms & mask
            )
        return self._letters_of[reader]


def _order(polynomial: tuple[int, ...]) -> tuple[int, ...]:
    return len(polynomial), *polynomial[::-1]


def _add_arrivals(arrivals: Iterable[tuple[int, Mapping[_Reader | None, tuple[int, ...]]]]) -> tuple[int, ...]:
    """Return the sum of the ways from each node to each node of a component."""
    greatest: dict[tuple[int, int], tuple[int, ...]] = {}
    for node, sources in arrivals:
        for source, polynomial in sources.items():
            key = (node, -1 if source is None else source.node)
            greatest[key] = max(greatest.get(key, ()), polynomial, key=_order)
    return tuple(map(sum, zip_longest(*greatest.values(), fillvalue=0)))
