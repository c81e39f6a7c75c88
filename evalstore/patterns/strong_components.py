"""Divides a graph into its strongly connected components (Tarjan 1972), without recursion."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import TypeVar

_Node = TypeVar("_Node", bound=Hashable)


def list_components(graph: Mapping[_Node, Iterable[_Node]]) -> list[list[_Node]]:
    """Return the components, each before those that it leads to; `graph` says where each node leads."""
    order: dict[_Node, int] = {}
    lowest: dict[_Node, int] = {}
    open_nodes: dict[_Node, None] = {}
    components: list[list[_Node]] = []
    for root in graph:
        path = [] if root in order else [(root, iter(graph[root]))]
        while path:
            node, successors = path[-1]
            if node not in order:
                order[node] = lowest[node] = len(order)
                open_nodes[node] = None
            fresh = next((one for one in successors if _look_at(one, node, order, lowest, open_nodes)), None)
            if fresh is not None:
                path.append((fresh, iter(graph[fresh])))
                continue
            path.pop()
            if path:
                above = path[-1][0]
                lowest[above] = min(lowest[above], lowest[node])
            if lowest[node] == order[node]:
                components.append(_close(node, open_nodes))
    return components[::-1]


def _look_at(
    successor: _Node,
    node: _Node,
    order: Mapping[_Node, int],
    lowest: dict[_Node, int],
    open_nodes: Mapping[_Node, None],
) -> bool:
    """Whether a successor is new; one whose component is still open is noted."""
    if successor in open_nodes:
        lowest[node] = min(lowest[node], order[successor])
    return successor not in order


def _close(node: _Node, open_nodes: dict[_Node, None]) -> list[_Node]:
    component: list[_Node] = []
    while not component or component[-1] != node:
        component.append(open_nodes.popitem()[0])
    return component
