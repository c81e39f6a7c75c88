"""Patterns as one graph: from each node the rest of a text matches, or not; what is equal is one node.

A node is made of what follows it, so the same ending of two patterns is the same node. A repeat that may end at any
time is a ladder, each rung of which matches all that the rung below it does: `kin` knows, and one rung stands for all
that are lower.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum, auto
from typing import Any, NamedTuple

from evalstore.budget import SharedBudget
from evalstore.regex_inclusion.syntax_tree import Ahead, At, Atom, Choice, Repeat, Row, Tree
from evalstore.regex_inclusion.unsupported import UndecidedError

_COUNT_LIMIT = 2_000
# Measured: what a new node takes beside one that is known.
_NEW = 4


class Op(IntEnum):
    """What a node asks of the rest."""

    ALL = auto()  # nothing
    CHAR = auto()  # a letter of the mask, then the next
    ANY_OF = auto()  # one of the next
    AT = auto()  # to stand at a place, then the next
    AHEAD = auto()  # both of the next
    NOT_AHEAD = auto()  # not the first and the second of the next


class Node(NamedTuple):
    """One node; `arg` is a mask of letters or a place."""

    op: Op
    arg: Any
    next: tuple[int, ...]


class Kin(NamedTuple):
    """Of two nodes of one family, the one of higher rank matches at least as much."""

    family: int
    rank: int


@dataclass(slots=True)
class Graph:
    """The nodes of both sides of a comparison; `masks` gives the letters of each atom, a bit each."""

    masks: Mapping[Atom, int]
    budget: SharedBudget
    nodes: list[Node] = field(default_factory=list)
    kin: list[Kin] = field(default_factory=list)
    loops: set[int] = field(default_factory=set)
    _known: dict[Any, int] = field(default_factory=dict)
    _families: dict[Any, int] = field(default_factory=dict)
    _trees: dict[Tree, int] = field(default_factory=dict)
    _objects: dict[int, int] = field(default_factory=dict)

    @property
    def all(self) -> int:
        """The node that any rest matches from."""
        return self.add(Op.ALL)

    def add(self, op: Op, arg: Any = None, follow: tuple[int, ...] = (), *, kin: Kin | None = None) -> int:
        """Return the node with this content."""
        self.budget.spend()
        key = (op, arg, follow, kin)
        if key not in self._known:
            self._known[key] = self._new(Node(op, arg, follow), kin)
        return self._known[key]

    def build(self, tree: Tree, follow: int) -> int:
        """Return the node from which a text matches the tree and then what `follow` asks for."""
        if isinstance(tree, Row):
            for part in reversed(tree.parts):
                follow = self.build(part, follow)
            return follow
        if isinstance(tree, Choice):
            return self.add(Op.ANY_OF, None, tuple(self.build(part, follow) for part in tree.parts))
        if isinstance(tree, Repeat):
            return self._repeat(tree, follow)
        if isinstance(tree, At):
            return self.add(Op.AT, tree.place, (follow,))
        if isinstance(tree, Ahead):
            ahead = self.build(tree.body, self.all)
            return self.add(Op.AHEAD if tree.wanted else Op.NOT_AHEAD, None, (ahead, follow))
        return self.add(Op.CHAR, self.masks[tree], (follow,))

    def _repeat(self, tree: Repeat, follow: int) -> int:
        if max(tree.least, tree.most or 0) > _COUNT_LIMIT:
            raise UndecidedError(f"a repeat counts beyond {_COUNT_LIMIT:,}")
        last = self._loop(tree.body, follow) if tree.most is None else self._ladder(tree, follow)
        for _ in range(tree.least):
            last = self.build(tree.body, last)
        return last

    def _loop(self, body: Tree, follow: int) -> int:
        key = ("loop", self._same(body), follow)
        if key not in self._known:
            self._known[key] = loop = self._new(Node(Op.ANY_OF, None, ()), None)
            self.loops.add(loop)
            self.nodes[loop] = Node(Op.ANY_OF, None, (self.build(body, loop), follow))
        return self._known[key]

    def _ladder(self, tree: Repeat, follow: int) -> int:
        family, rung = self._family(("ladder", self._same(tree.body), follow)), follow
        for rank in range(1, (tree.most or 0) - tree.least + 1):
            rung = self.add(Op.ANY_OF, None, (self.build(tree.body, rung), follow), kin=Kin(family, rank))
        return rung

    def _new(self, node: Node, kin: Kin | None) -> int:
        self.budget.spend(_NEW)
        self.nodes.append(node)
        self.kin.append(kin or self._kin(node))
        return len(self.nodes) - 1

    def _kin(self, node: Node) -> Kin:
        ranks = {self.kin[follow].rank for follow in node.next} - {0}
        if len(ranks) != 1 or node.op in {Op.AHEAD, Op.NOT_AHEAD}:
            return Kin(self._family(("own", len(self.nodes))), 0)
        below = tuple((self.kin[follow].family, self.kin[follow].rank > 0) for follow in node.next)
        return Kin(self._family((node.op, node.arg, below)), ranks.pop())

    def _same(self, tree: Tree) -> int:
        """Return the number of a tree and of all that are equal to it; each object is looked at once."""
        if id(tree) not in self._objects:
            self._objects[id(tree)] = self._trees.setdefault(tree, len(self._trees))
        return self._objects[id(tree)]

    def _family(self, key: Any) -> int:
        return self._families.setdefault(key, len(self._families))
