"""Rows of text in aligned columns, safe to show."""

from __future__ import annotations

from collections.abc import Sequence

from evalstore.text import printable

_GAP = "  "


def columns(rows: Sequence[Sequence[str]]) -> str:
    """Return one line a row, every column as wide as its widest cell; outside text is escaped here."""
    cells = [[printable(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = (_GAP.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells)
    return "\n".join(lines)
