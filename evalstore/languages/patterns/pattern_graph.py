"""Turns syntax trees into one graph: a node says how the rest of a text must continue.

A node is made from the nodes that follow it (a continuation), and equal nodes are one
(hash-consing), so a common ending of two patterns is one node. A counted repeat that may end at any
time, `a{0,40}`, is a ladder, each rung of which matches everything that the rung below it does:
`rungs` knows, and the highest rung represents all lower ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum, auto
from typing import Any, NamedTuple

from evalstore.budget import SharedBudget
from evalstore.languages.limits import PATTERNS
from evalstore.languages.patterns.syntax_tree import (
    Alternation,
    Anchor,
    Atom,
    Concatenation,
    Group,
    Lookahead,
    RegexTree,
    Repetition,
    UndecidedError,
)


class NodeKind(IntEnum):
    """What a node asks of the rest."""

    ALL = auto()  # nothing
    CHAR = auto()  # a letter of the mask, then the successor
    ANY_OF = auto()  # one of the successors
    AT = auto()  # an anchor, then the successor
    AHEAD = auto()  # both successors
    NOT_AHEAD = auto()  # the second successor, and not the first


class GraphNode(NamedTuple):
    """One node; `argument` is the mask of letters of a CHAR, the kind of anchor of an AT."""

    kind: NodeKind
    argument: Any
    successors: tuple[int, ...]


class LadderRung(NamedTuple):
    """The place of a node in its family: the one of higher rank matches at least as much."""

    family: int
    rank: int


@dataclass(slots=True)
class PatternGraph:
    """The nodes of both sides of a comparison.

    `masks` has the letters of each atom, `loops` the nodes of `*`.
    """

    masks: Mapping[Atom, int]
    budget: SharedBudget
    nodes: list[GraphNode] = field(default_factory=list)
    rungs: list[LadderRung] = field(default_factory=list)
    loops: set[int] = field(default_factory=set)
    _numbers: dict[Any, int] = field(default_factory=dict)
    _family_numbers: dict[Any, int] = field(default_factory=dict)
    _tree_numbers: dict[RegexTree, int] = field(default_factory=dict)
    _object_numbers: dict[int, int] = field(default_factory=dict)

    @property
    def any_rest(self) -> int:
        """The node that any rest matches from."""
        return self.add_node(NodeKind.ALL)

    def add_node(
        self,
        kind: NodeKind,
        argument: Any = None,
        following: tuple[int, ...] = (),
        *,
        rung: LadderRung | None = None,
    ) -> int:
        """Return the node with this content."""
        self.budget.spend()
        key = (kind, argument, following, rung)
        if key not in self._numbers:
            self._numbers[key] = self._append_node(GraphNode(kind, argument, following), rung)
        return self._numbers[key]

    def add_tree(self, tree: RegexTree, following: int) -> int:
        """Return the node from which a text matches the tree and then what `following` asks for."""
        if isinstance(tree, Concatenation):
            for part in reversed(tree.parts):
                following = self.add_tree(part, following)
            return following
        if isinstance(tree, Alternation):
            return self.add_node(
                NodeKind.ANY_OF, None, tuple(self.add_tree(part, following) for part in tree.parts)
            )
        if isinstance(tree, Repetition):
            return self._add_repetition(tree, following)
        if isinstance(tree, Anchor):
            return self.add_node(NodeKind.AT, tree.kind, (following,))
        if isinstance(tree, Group):
            return self.add_tree(tree.body, following)
        if isinstance(tree, Lookahead):
            ahead = self.add_tree(tree.body, self.any_rest)
            return self.add_node(
                NodeKind.AHEAD if tree.positive else NodeKind.NOT_AHEAD, None, (ahead, following)
            )
        if isinstance(tree, Atom):
            return self.add_node(NodeKind.CHAR, self.masks[tree], (following,))
        raise UndecidedError(f"{type(tree).__name__} is of no regular language")

    def _add_repetition(self, tree: Repetition, following: int) -> int:
        if max(tree.least, tree.most or 0) > PATTERNS.repeat_count:
            raise UndecidedError(f"a repeat counts beyond {PATTERNS.repeat_count:,}")
        last = (
            self._add_loop(tree.body, following)
            if tree.most is None
            else self._add_ladder(tree, following)
        )
        for _ in range(tree.least):
            last = self.add_tree(tree.body, last)
        return last

    def _add_loop(self, body: RegexTree, following: int) -> int:
        key = ("loop", self._number_tree(body), following)
        if key not in self._numbers:
            # The loop leads back to itself, so its node exists before its content.
            self._numbers[key] = loop = self._append_node(
                GraphNode(NodeKind.ANY_OF, None, ()), None
            )
            self.loops.add(loop)
            self.nodes[loop] = GraphNode(
                NodeKind.ANY_OF, None, (self.add_tree(body, loop), following)
            )
        return self._numbers[key]

    def _add_ladder(self, tree: Repetition, following: int) -> int:
        family, rung = (
            self._number_family(("ladder", self._number_tree(tree.body), following)),
            following,
        )
        for rank in range(1, (tree.most or 0) - tree.least + 1):
            rung = self.add_node(
                NodeKind.ANY_OF,
                None,
                (self.add_tree(tree.body, rung), following),
                rung=LadderRung(family, rank),
            )
        return rung

    def _append_node(self, node: GraphNode, rung: LadderRung | None) -> int:
        self.budget.spend(4)  # measured: the additional cost of a new node over a known one
        self.nodes.append(node)
        self.rungs.append(rung or self._find_rung(node))
        return len(self.nodes) - 1

    def _find_rung(self, node: GraphNode) -> LadderRung:
        """Return the rung of a node that leads to a ladder's rung, equal for all such nodes."""
        ranks = {self.rungs[successor].rank for successor in node.successors} - {0}
        if len(ranks) != 1 or node.kind in {NodeKind.AHEAD, NodeKind.NOT_AHEAD}:
            return LadderRung(self._number_family(("own", len(self.nodes))), 0)
        below = [self.rungs[successor] for successor in node.successors]
        key = (node.kind, node.argument, tuple((rung.family, rung.rank > 0) for rung in below))
        return LadderRung(self._number_family(key), ranks.pop())

    def _number_tree(self, tree: RegexTree) -> int:
        """Return the number of a tree and all its equals; each object is examined once."""
        if id(tree) not in self._object_numbers:
            self._object_numbers[id(tree)] = self._tree_numbers.setdefault(
                tree, len(self._tree_numbers)
            )
        return self._object_numbers[id(tree)]

    def _number_family(self, key: Any) -> int:
        return self._family_numbers.setdefault(key, len(self._family_numbers))
