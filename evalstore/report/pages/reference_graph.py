"""Draws who refers to whom in a store: three columns, or on a phone a single one with arcs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from evalstore.report.pages.html import read_own, render_page

if TYPE_CHECKING:
    from evalstore.site.values import SiteGraph

# Everything is in pixels at the width that each drawing is made for, with boxes as in
# `references.html.jinja`; a letter is about 7 wide.
_BOX, _GAP, _ROW, _HEAD = 210, 64, 34, 26
_ARC = 100  # how far the widest arc extends beyond the column
_LABEL = 28  # letters; the whole id is in the title


class GraphLayout(NamedTuple):
    """One of the two drawings: its size, boxes, heads and the room for arcs.

    Boxes are by name. A head is its left edge, its middle and its layer.
    """

    look: str
    width: int
    height: int
    boxes: Mapping[str, DrawnBox]
    heads: Sequence[tuple[int, int, Sequence[str]]]
    room: int


class DrawnBox(NamedTuple):
    """Where an artifact is drawn: its layer, its left edge, and its vertical middle."""

    layer: int
    x: int
    y: int


def write_page(graph: SiteGraph) -> str:
    """Return the page.

    It is drawn twice, and the window's width decides which drawing is visible.
    """
    return render_page(
        "references",
        title=f"{graph.title}: references",
        rules=read_own("references.css"),
        graph=graph,
        has_records=not all(one.scores for one in graph.references),
        drawings=[_draw(graph, _place_columns(graph)), _draw(graph, _place_arcs(graph))],
    )


def _place_columns(graph: SiteGraph) -> GraphLayout:
    boxes, heads = {}, []
    for number, layer in enumerate(graph.layers):
        left = number * (_BOX + _GAP)
        heads.append((left, _HEAD // 2, layer))
        for place, name in enumerate(layer):
            boxes[name] = DrawnBox(number, left, _HEAD + _ROW * place + _ROW // 2)
    # Arrows within the last layer leave on its right.
    width = len(graph.layers) * (_BOX + _GAP)
    height = _HEAD + _ROW * max(map(len, graph.layers))
    return GraphLayout("columns", width, height, boxes, heads, _GAP)


def _place_arcs(graph: SiteGraph) -> GraphLayout:
    boxes, heads, y = dict[str, DrawnBox](), list[tuple[int, int, Sequence[str]]](), 0
    for layer in graph.layers:
        heads.append((0, y + _HEAD // 2, layer))
        y += _HEAD
        for name in layer:
            boxes[name] = DrawnBox(0, 0, y + _ROW // 2)
            y += _ROW
    return GraphLayout("arcs", _BOX + _ARC + 2, y, boxes, heads, _ARC)


def _draw(graph: SiteGraph, layout: GraphLayout) -> dict[str, Any]:
    """Return the paths of lines and tips, and the places of heads and boxes."""
    lines = {True: list[str](), False: list[str]()}
    tips = set[str]()
    for one in graph.references:
        line, tip = _draw_reference(layout.boxes[one.user], layout.boxes[one.used], layout.room)
        lines[one.scores].append(line)
        tips.add(tip)
    return {
        "look": layout.look,
        "width": layout.width,
        "height": layout.height,
        "lines": "".join(lines[True]),
        "records": "".join(lines[False]),
        "tips": "".join(sorted(tips)),
        "heads": [(x, y, f"{layer[0].partition('/')[0]}s") for x, y, layer in layout.heads],
        "boxes": [_prepare_box(name, box) for name, box in layout.boxes.items()],
    }


def _prepare_box(name: str, box: DrawnBox) -> dict[str, Any]:
    return {"name": name, "label": _shorten_id(name.partition("/")[2]), "x": box.x, "y": box.y}


def _draw_reference(user: DrawnBox, used: DrawnBox, room: int) -> tuple[str, str]:
    """Return a curve and its tip: across to another layer, or in an arc to the right within one."""
    if user.layer == used.layer:
        start = used.x + _BOX
        # A control point of a cubic curve pulls it three quarters of the way.
        reach = min(12 + abs(user.y - used.y) // 4, room * 5 // 4)
        curve = (
            f"M{start} {user.y}C{start + reach} {user.y} {start + reach} {used.y} {start} {used.y}"
        )
        return curve, f"M{start} {used.y}l7-3.5v7z"
    onward = user.layer < used.layer
    start, end = (user.x + _BOX, used.x) if onward else (user.x, used.x + _BOX)
    points = [(start, user.y), (end, used.y)]
    if abs(user.layer - used.layer) > 1:
        # A line past the layer in between goes where two of its rows meet, not behind a box.
        y = _HEAD + _ROW * round(((user.y + used.y) / 2 - _HEAD) / _ROW)
        passed = _BOX + _GAP
        points[1:1] = (
            [(passed, y), (passed + _BOX, y)] if onward else [(passed + _BOX, y), (passed, y)]
        )
    curve = f"M{start} {user.y}" + "".join(_draw_curve(*pair) for pair in pairwise(points))
    return curve, f"M{end} {used.y}{'l-7-3.5v7z' if onward else 'l7-3.5v7z'}"


def _draw_curve(start: tuple[int, int], end: tuple[int, int]) -> str:
    middle = (start[0] + end[0]) // 2
    return f"C{middle} {start[1]} {middle} {end[1]} {end[0]} {end[1]}"


def _shorten_id(id_: str) -> str:
    return id_ if len(id_) <= _LABEL else f"{id_[: _LABEL - 1]}…"
