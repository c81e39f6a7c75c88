"""Writes an audit that graded nothing as a page: the ends between which each share is proved to be."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import chain
from typing import TYPE_CHECKING

from evalstore.report.pages.bars import BarScale, draw_range
from evalstore.report.pages.html import Markup, make_element, make_page
from evalstore.report.pages.sides import format_sides
from evalstore.report.pages.tables import format_cell, format_head, format_items, format_row, format_table
from evalstore.report.static_words import list_facts, list_rows, write_sentence

if TYPE_CHECKING:
    from evalstore.audits.static_audit import StaticAudit
    from evalstore.audits.static_bounds import ShareBounds

_HEAD = ("", "score", "", "passes", "", "differs in", "proved of these questions")
_NUMBERS = ("score", "passes", "differs in")


def write_page(audit: StaticAudit, conditions: Sequence[str]) -> str:
    """Return the page; `conditions` are the answers to conditions in words."""
    return make_page(
        f"Audit of records: {audit.a.model} to {audit.b.model}",
        make_element("h1", "Why the score changed, as far as records prove"),
        make_element("p", write_sentence(audit), class_="answer"),
        format_items(conditions),
        format_sides(audit.a, audit.b),
        make_element("h2", "What can have moved it"),
        _format_bounds(audit),
        make_element("h2", "What else to know"),
        format_items([*list_facts(audit)]),
    )


def _format_bounds(audit: StaticAudit) -> Markup:
    """Return the table of runs, players and lines; only players have a range."""
    known = {factor.player.label: (factor.score, factor.passes) for factor in audit.factors}
    scales = [_find_scale([ends[channel] for ends in known.values()]) for channel in (0, 1)]
    rows = []
    for name, score, passes, differs, claim in list_rows(audit):
        bars = [
            format_cell("", draw_range(*ends, scale), class_="bar")
            for ends, scale in zip(known.get(name, ()), scales, strict=False)
        ] or [make_element("td"), make_element("td")]
        cells = (
            format_head(name),
            format_cell("score", score, is_number=True),
            bars[0],
            format_cell("passes", passes, is_number=True),
            bars[1],
            format_cell("differs in", differs, is_number=True),
            format_cell("proved", claim, class_="words"),
        )
        rows.append(format_row(*cells))
    caption = "In points of a hundred. Nothing was graded: a share lies somewhere between its ends; the thin line is 0."
    return format_table(_HEAD, rows, caption, numbers=_NUMBERS)


def _find_scale(bounds: Sequence[ShareBounds]) -> BarScale:
    return BarScale.from_values([Fraction(0), *chain.from_iterable(bounds)])
