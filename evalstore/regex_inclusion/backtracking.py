"""Tells patterns that a backtracking engine may try in exponentially many ways: on some texts it runs out of time.

A language says which texts match, and nothing of the time it takes to see it; a text that one pattern answers in time
and the other does not is one that moves. Looked for is ambiguity: a loop with two ways round for one text, which is
exponential in the text, and many places with two ways on, which is so in the pattern. The test is cautious: counted
repeats are taken for endless ones, anchors and look-ahead for nothing. Time that grows as a low power is let pass.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from evalstore.budget import SharedBudget
from evalstore.patterns.pattern_graph import NodeKind, PatternGraph
from evalstore.patterns.syntax_tree import Alternation, Atom, Concatenation, Lookahead, RegexTree, Repetition

# More places than these with two ways on are too many.
_FORK_LIMIT = 8


class _NextLetters(NamedTuple):
    """From a node to the next letter: each CHAR node with the number of ways there, and the loops passed."""

    ways: Counter[int]
    loops: frozenset[int]


class _EmptyLoopError(Exception):
    """A way goes round without a letter: what is repeated can be empty."""


def may_backtrack_exponentially(tree: RegexTree, masks: Mapping[Atom, int], budget: SharedBudget) -> bool:
    """Whether some text may have exponentially many ways to match a part of the tree; `masks` as in `Alphabet`."""
    graph = PatternGraph(masks, budget)
    start = graph.add_tree(_drop_counts(tree), graph.any_rest)
    search = _AmbiguitySearch(graph)
    try:
        return search.count_forks(start) > _FORK_LIMIT or any(search.is_ambiguous_loop(loop) for loop in graph.loops)
    except _EmptyLoopError:
        return True


def _drop_counts(tree: RegexTree) -> RegexTree:
    """Return the tree with every repeat that may come twice made endless."""
    if isinstance(tree, Concatenation | Alternation):
        return type(tree)(tuple(map(_drop_counts, tree.parts)))
    if isinstance(tree, Lookahead):
        return Lookahead(_drop_counts(tree.body), tree.positive)
    if isinstance(tree, Repetition):
        is_single = tree.most is not None and tree.most <= 1
        return Repetition(_drop_counts(tree.body), min(tree.least, 1), tree.most if is_single else None)
    return tree


@dataclass(slots=True)
class _AmbiguitySearch:
    """Two readers of one text in one graph; they are apart once they have gone two ways."""

    graph: PatternGraph
    _next_letters: dict[int, _NextLetters] = field(default_factory=dict)

    def count_forks(self, start: int) -> int:
        """Return from how many places one text leads on in two ways."""
        places = {start, *(node.successors[0] for node in self.graph.nodes if node.kind is NodeKind.CHAR)}
        letters = map(self._find_next_letters, places)
        return sum(any(apart for *_, apart in self._step_together(here, here, apart=False)) for here in letters)

    def is_ambiguous_loop(self, loop: int) -> bool:
        """Whether two readers can leave a loop, read the same text in two ways, and both be back."""
        seen: set[tuple[int, int, bool]] = set()
        left, right = (self._find_next_letters(loop) for _ in range(2))
        waiting = list(self._step_together(left, right, apart=False))
        # Pairs of nodes, and whether the two ways have parted: the square of the graph.
        while waiting:
            step = waiting.pop()
            if step in seen:
                continue
            seen.add(step)
            left, right = (self._find_next_letters(self.graph.nodes[node].successors[0]) for node in step[:2])
            if step[2] and loop in left.loops & right.loops:
                return True
            waiting += self._step_together(left, right, apart=step[2])
        return False

    def _step_together(
        self, left: _NextLetters, right: _NextLetters, *, apart: bool
    ) -> Iterator[tuple[int, int, bool]]:
        """Yield the pairs of CHAR nodes that can read the same letter, and whether the readers are apart then."""
        for node, ways in left.ways.items():
            for other in right.ways:
                self.graph.budget.spend()
                if self.graph.nodes[node].argument & self.graph.nodes[other].argument:
                    yield node, other, apart or node != other or ways > 1

    def _find_next_letters(self, start: int) -> _NextLetters:
        # Depth first with an explicit path instead of recursion: a graph is deeper than Python's stack.
        path, on_path = [start], set[int]()
        while path:
            node = path[-1]
            missing = [successor for successor in self._skip_empty(node) if successor not in self._next_letters]
            if node in self._next_letters or not missing:
                self._next_letters.setdefault(node, self._merge_successors(path.pop()))
            elif on_path.intersection(missing):
                raise _EmptyLoopError
            else:
                on_path.add(node)
                path += missing
        return self._next_letters[start]

    def _skip_empty(self, number: int) -> tuple[int, ...]:
        """Return where a node leads without a letter."""
        node = self.graph.nodes[number]
        return () if node.kind is NodeKind.CHAR else node.successors

    def _merge_successors(self, number: int) -> _NextLetters:
        self.graph.budget.spend()
        if self.graph.nodes[number].kind is NodeKind.CHAR:
            return _NextLetters(Counter({number: 1}), frozenset())
        parts = [self._next_letters[successor] for successor in self._skip_empty(number)]
        ways: Counter[int] = Counter()
        for part in parts:
            self.graph.budget.spend(len(part.ways))
            ways.update(part.ways)
        return _NextLetters(ways, frozenset({number} & self.graph.loops).union(*(part.loops for part in parts)))
