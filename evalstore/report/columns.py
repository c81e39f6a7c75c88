"""Rows of text in aligned columns, safe to show."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from evalstore.text import make_printable

_GAP = "  "


def align_columns(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> str:
    """Return one line a row, every column as wide as its widest cell; outside text is escaped here.

    Columns stand on the left, those of `right`, numbers, on the right.
    """
    cells = [[make_printable(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    sides = [str.rjust if index in right else str.ljust for index in range(len(widths))]

    def line(row: Sequence[str]) -> str:
        return _GAP.join(side(cell, width) for side, cell, width in zip(sides, row, widths, strict=True)).rstrip()

    return "\n".join(map(line, cells))
