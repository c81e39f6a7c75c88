"""Writes the two runs of an audit for its page: the model, the file, and what graded it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalstore.report.pages.html import Markup, make_element
from evalstore.report.pages.tables import format_cell, format_head, format_refs, format_row, format_table

if TYPE_CHECKING:
    from evalstore.audits import RunSide

_HEAD = ("", "model", "run", "dataset", "rubrics", "scored")


def format_sides(a: RunSide, b: RunSide) -> Markup:
    """Return a table with a row for each run."""
    rows = [
        format_row(
            format_head(name),
            format_cell("model", side.model, class_="words"),
            format_cell("run", make_element("code", side.run)),
            format_cell("dataset", format_refs([side.dataset]), class_="refs"),
            format_cell("rubrics", format_refs(side.rubrics), class_="refs"),
            format_cell("scored", f"{side.scored:,} of {side.questions:,}", is_number=True),
        )
        for name, side in (("A", a), ("B", b))
    ]
    return format_table(_HEAD, rows, numbers=("scored",))
