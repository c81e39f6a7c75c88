"""Writes an audit that graded nothing as a page: the ends between which each share is proved to be."""

from __future__ import annotations

from collections.abc import Sequence

from evalstore.report.pages.html import make_element, make_page
from evalstore.report.pages.tables import format_cell, format_head, format_items, format_row, format_table

_HEAD = ("", "score", "passes", "differs in", "what is proved")
_NUMBERS = _HEAD[1:4]


def write_page(sentence: str, conditions: Sequence[str], table: Sequence[Sequence[str]], facts: Sequence[str]) -> str:
    """Return the page; `table` has a row for each run, player and line."""
    rows = [
        format_row(
            format_head(head),
            *(format_cell(name, word, is_number=name in _NUMBERS) for name, word in zip(_HEAD[1:], cells, strict=True)),
        )
        for head, *cells in table
    ]
    caption = "In points of a hundred. Nothing was graded: a share lies between both ends, wherever in it."
    return make_page(
        "Audit of records alone",
        make_element("h1", "Why the score changed, as far as records prove"),
        make_element("p", sentence, class_="answer"),
        format_items(conditions),
        make_element("h2", "What can have moved it"),
        format_table(_HEAD, rows, caption, numbers=_NUMBERS),
        make_element("h2", "What else to know"),
        format_items(facts),
    )
