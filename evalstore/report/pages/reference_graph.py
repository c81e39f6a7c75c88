"""Draws who refers to whom in a store: three columns where there is room, and one with arcs beside it on a phone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from evalstore.report.pages.html import Markup, make_element, make_page
from evalstore.report.pages.tables import format_items
from evalstore.report.text_layout import count_noun

if TYPE_CHECKING:
    from evalstore.site import SiteGraph, SiteReference

_RULES = """
.graph svg{display:block;width:100%;height:auto;font-size:13px;margin:1rem 0}
.graph .arcs{display:none}
.graph text{fill:currentColor;dominant-baseline:central}
.graph .kind{fill:var(--quiet);font-weight:600}
.graph rect{fill:var(--panel);stroke:var(--edge)}
.graph a:hover rect{stroke:var(--mark)}
.graph path{fill:none;stroke:var(--firm)}
.graph .records{stroke-dasharray:4 3}
.graph .tips{fill:var(--firm);stroke:none}
@media screen and (max-width:40rem){.graph .columns{display:none}.graph .arcs{display:block}}
"""
# All in pixels at the width that each of the two is drawn for; a letter is about 7 wide.
_BOX, _GAP, _ROW, _HEIGHT, _HEAD = 210, 64, 34, 24, 26
_ARC = 100  # how far the widest arc leaves the column
_LABEL = 28  # letters; the whole id is in the title


class GraphLayout(NamedTuple):
    """One of the two drawings: its size, its boxes by name, its heads (left edge, middle, layer), and room for arcs."""

    look: str
    width: int
    height: int
    boxes: Mapping[str, DrawnBox]
    heads: Sequence[tuple[int, int, Sequence[str]]]
    room: int


class DrawnBox(NamedTuple):
    """Where an artifact is drawn: its layer, its left edge, and the middle of its height."""

    layer: int
    x: int
    y: int


def write_page(graph: SiteGraph) -> str:
    """Return the page; it is drawn twice, and the width of the window says which of the two is seen."""
    count = count_noun(len(graph.references), "reference")
    records = "A dashed line is a record that no score goes through." if _has_records(graph.references) else ""
    return make_page(
        f"{graph.title}: references",
        make_element("h1", make_element("a", "all artifacts", href="index.html"), " / references"),
        make_element("p", f"{count}, as the files have them.", class_="answer"),
        make_element("p", f"An arrow leads from an artifact to what it refers to. {records}".strip()),
        format_items(graph.notes),
        make_element("div", _draw_columns(graph), _draw_arcs(graph), class_="graph"),
        rules=_RULES,
    )


def _draw_columns(graph: SiteGraph) -> Markup:
    boxes = {
        name: DrawnBox(number, number * (_BOX + _GAP), _HEAD + _ROW * place + _ROW // 2)
        for number, layer in enumerate(graph.layers)
        for place, name in enumerate(layer)
    }
    # Arrows within the last layer leave it on its right.
    width = len(graph.layers) * (_BOX + _GAP)
    height = _HEAD + _ROW * max(map(len, graph.layers))
    heads = [(number * (_BOX + _GAP), _HEAD // 2, layer) for number, layer in enumerate(graph.layers)]
    return _draw(graph, GraphLayout("columns", width, height, boxes, heads, _GAP))


def _draw_arcs(graph: SiteGraph) -> Markup:
    boxes, heads, y = dict[str, DrawnBox](), list[tuple[int, int, Sequence[str]]](), 0
    for layer in graph.layers:
        heads.append((0, y + _HEAD // 2, layer))
        y += _HEAD
        for name in layer:
            boxes[name] = DrawnBox(0, 0, y + _ROW // 2)
            y += _ROW
    return _draw(graph, GraphLayout("arcs", _BOX + _ARC + 2, y, boxes, heads, _ARC))


def _draw(graph: SiteGraph, layout: GraphLayout) -> Markup:
    boxes = layout.boxes
    lines = {True: list[str](), False: list[str]()}
    tips = set[str]()
    for one in graph.references:
        line, tip = _draw_reference(boxes[one.user], boxes[one.used], layout.room)
        lines[one.scores].append(line)
        tips.add(tip)
    return make_element(
        "svg",
        make_element("path", d="".join(lines[True])),
        make_element("path", d="".join(lines[False]), class_="records"),
        *(make_element("text", _name_layer(layer), x=str(x), y=str(y), class_="kind") for x, y, layer in layout.heads),
        *(_draw_artifact(name, box) for name, box in boxes.items()),
        make_element("path", d="".join(sorted(tips)), class_="tips"),
        viewBox=f"-1 0 {layout.width} {layout.height}",
        class_=layout.look,
        role="group",
        aria_label="who refers to whom",
    )


def _draw_reference(user: DrawnBox, used: DrawnBox, room: int) -> tuple[str, str]:
    """Return a curve and its tip: across to another layer, or in an arc on the right within one."""
    if user.layer == used.layer:
        start = used.x + _BOX
        # A control point of a cubic curve pulls it three quarters of the way.
        reach = min(12 + abs(user.y - used.y) // 4, room * 5 // 4)
        curve = f"M{start} {user.y}C{start + reach} {user.y} {start + reach} {used.y} {start} {used.y}"
        return curve, f"M{start} {used.y}l7-3.5v7z"
    onward = user.layer < used.layer
    start, end = (user.x + _BOX, used.x) if onward else (user.x, used.x + _BOX)
    points = [(start, user.y), (end, used.y)]
    if abs(user.layer - used.layer) > 1:
        # Past the layer between them a line goes where two of its rows meet, not behind a box.
        y = _HEAD + _ROW * round(((user.y + used.y) / 2 - _HEAD) / _ROW)
        passed = _BOX + _GAP
        points[1:1] = [(passed, y), (passed + _BOX, y)] if onward else [(passed + _BOX, y), (passed, y)]
    curve = f"M{start} {user.y}" + "".join(_draw_curve(*pair) for pair in pairwise(points))
    return curve, f"M{end} {used.y}{'l-7-3.5v7z' if onward else 'l7-3.5v7z'}"


def _draw_curve(start: tuple[int, int], end: tuple[int, int]) -> str:
    middle = (start[0] + end[0]) // 2
    return f"C{middle} {start[1]} {middle} {end[1]} {end[0]} {end[1]}"


def _draw_artifact(name: str, box: DrawnBox) -> Markup:
    _, _, artifact_id = name.partition("/")
    label = artifact_id if len(artifact_id) <= _LABEL else f"{artifact_id[: _LABEL - 1]}…"
    top = box.y - _HEIGHT // 2
    return make_element(
        "a",
        make_element("title", name),
        make_element("rect", x=str(box.x), y=str(top), width=str(_BOX), height=str(_HEIGHT), rx="3"),
        make_element("text", label, x=str(box.x + 8), y=str(box.y)),
        href=f"{name}/index.html",
    )


def _name_layer(layer: Sequence[str]) -> str:
    return f"{layer[0].partition('/')[0]}s"


def _has_records(references: Iterable[SiteReference]) -> bool:
    return not all(one.scores for one in references)
