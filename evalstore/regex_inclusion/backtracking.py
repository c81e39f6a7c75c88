"""Looks for patterns that the engine may try in very many ways: on some outputs they run out of their time.

A language says which outputs match, and nothing of the time it takes to see it; an output that one pattern answers in
time and the other does not is one that moves. Looked for are loops with two ways round for one text, which is
exponential in the text, and many places with two ways on, which is so in the pattern. The test is cautious: counted
repeats are taken for endless ones, places and look-ahead for nothing. Time that grows as a low power is let pass.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from evalstore.budget import SharedBudget
from evalstore.regex_inclusion.state_graph import Graph, Op
from evalstore.regex_inclusion.syntax_tree import Ahead, Atom, Choice, Repeat, Row, Tree

# More places than these with two ways on are too many.
_FORKS = 8


class _Ways(NamedTuple):
    """From a node to the next letter: each letter's node with the number of ways there, and the loops passed."""

    letters: Counter[int]
    loops: frozenset[int]


class _RoundError(Exception):
    """A way goes round without a letter: what is repeated can be empty."""


def may_explode(tree: Tree, masks: Mapping[Atom, int], budget: SharedBudget) -> bool:
    """Whether some text may have exponentially many ways to match a part of the tree."""
    graph = Graph(masks, budget)
    start = graph.build(_endless(tree), graph.all)
    walk = _Walk(graph)
    try:
        return walk.forks(start) > _FORKS or any(walk.returns_twice(loop) for loop in graph.loops)
    except _RoundError:
        return True


def _endless(tree: Tree) -> Tree:
    if isinstance(tree, Row | Choice):
        return type(tree)(tuple(map(_endless, tree.parts)))
    if isinstance(tree, Ahead):
        return Ahead(_endless(tree.body), tree.wanted)
    if isinstance(tree, Repeat):
        once = tree.most is not None and tree.most <= 1
        return Repeat(_endless(tree.body), min(tree.least, 1), tree.most if once else None)
    return tree


@dataclass(slots=True)
class _Walk:
    graph: Graph
    _known: dict[int, _Ways] = field(default_factory=dict)

    def forks(self, start: int) -> int:
        """Return from how many places one text leads on in two ways."""
        places = {start, *(node.next[0] for node in self.graph.nodes if node.op is Op.CHAR)}
        ways = map(self._ways, places)
        return sum(any(apart for *_, apart in self._steps(here, here, apart=False)) for here in ways)

    def returns_twice(self, loop: int) -> bool:
        """Whether two readers can leave a loop, read the same text in two ways, and both be back."""
        seen: set[tuple[int, int, bool]] = set()
        waiting = list(self._steps(self._ways(loop), self._ways(loop), apart=False))
        while waiting:
            step = waiting.pop()
            if step in seen:
                continue
            seen.add(step)
            left, right = (self._ways(self.graph.nodes[one].next[0]) for one in step[:2])
            if step[2] and loop in left.loops & right.loops:
                return True
            waiting += self._steps(left, right, apart=step[2])
        return False

    def _steps(self, left: _Ways, right: _Ways, *, apart: bool) -> Iterator[tuple[int, int, bool]]:
        for one, ways in left.letters.items():
            for other in right.letters:
                self.graph.budget.spend()
                if self.graph.nodes[one].arg & self.graph.nodes[other].arg:
                    yield one, other, apart or one != other or ways > 1

    def _ways(self, number: int) -> _Ways:
        path, within = [number], set[int]()
        while path:
            node = path[-1]
            missing = [follow for follow in self._on(node) if follow not in self._known]
            if node in self._known or not missing:
                self._known.setdefault(node, self._joined(path.pop()))
            elif within.intersection(missing):
                raise _RoundError
            else:
                within.add(node)
                path += missing
        return self._known[number]

    def _on(self, number: int) -> tuple[int, ...]:
        node = self.graph.nodes[number]
        return () if node.op is Op.CHAR else node.next

    def _joined(self, number: int) -> _Ways:
        self.graph.budget.spend()
        if self.graph.nodes[number].op is Op.CHAR:
            return _Ways(Counter({number: 1}), frozenset())
        parts = [self._known[follow] for follow in self._on(number)]
        letters: Counter[int] = Counter()
        for part in parts:
            self.graph.budget.spend(len(part.letters))
            letters.update(part.letters)
        return _Ways(letters, frozenset({number} & self.graph.loops).union(*(part.loops for part in parts)))
