"""Writes the outputs of a run as CSV for a spreadsheet: a row per output, three columns per check.

A spreadsheet takes a cell that begins like a formula for one, and outputs, questions and the names
of checks are other people's text: such a cell gets an apostrophe in front, which makes it text
(https://owasp.org/www-community/attacks/CSV_Injection).
"""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from fractions import Fraction
from typing import TYPE_CHECKING

from evalstore.model import format_decimal
from evalstore.runs.run_view import list_missing

if TYPE_CHECKING:
    from evalstore.runs import GradedRow
    from evalstore.runs.run_view import RunView

_Cell = str | int | float
_COLUMNS = (
    *("id", "sample", "verdict", "score", "reason", "rubric", "group"),
    *("input", "asked", "output", "tool_calls"),
)
_NO_OUTPUT = "no output"
# Excel recognises UTF-8 by this mark alone; every other reader of UTF-8 skips it.
_BYTE_ORDER_MARK = "\ufeff"
# White space before the sign may be trimmed when the file is opened; the last four are wide forms.
_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?")
_FORMULA = re.compile(r"[\s\ufeff\u200b-\u200f\u2060]*[=+\-@\uff1d\uff0b\uff0d\uff20]")
_CELL_UNITS = 32_767  # UTF-16 units in a cell of Excel, which puts the rest into the next row
_REST = "… (cut; --format json has all of it)"


def write_table(view: RunView) -> str:
    """Return the requested outputs, then the questions without one.

    Outputs are in the order of the view.
    """
    rows = [_make_row(view, row) for row in view.rows]
    for id_, reason in list_missing(view):
        rows.append({"id": id_, "verdict": _NO_OUTPUT, "reason": reason})
    columns = dict.fromkeys([*_COLUMNS, *(column for row in rows for column in row)])
    file = io.StringIO(newline="")
    # Every text is quoted: without quotes some spreadsheets split it at semicolons, too.
    writer = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow(map(_guard_cell, columns))
    for row in rows:
        writer.writerow(_guard_cell(row.get(column, "")) for column in columns)
    return _BYTE_ORDER_MARK + file.getvalue()


def _make_row(view: RunView, row: GradedRow) -> dict[str, _Cell]:
    """Return the cells of an output by column; those of a check are named by its id."""
    calls = row.output.tool_calls
    values = (
        *(row.id, row.sample, row.verdict, _write_score(row.score), row.reason, row.rubric),
        *(row.group or "", row.input, row.asked or "", row.output.text),
        "" if calls is None else len(calls),
    )
    cells = dict(zip(_COLUMNS, values, strict=True))
    for check in view.choice.list_checks(row):
        cells[f"{check.id}.verdict"] = check.verdict
        cells[f"{check.id}.score"] = _write_score(check.score)
        cells[f"{check.id}.reason"] = check.reason
    return cells


def _write_score(score: Fraction | None) -> _Cell:
    return "" if score is None else float(format_decimal(score))


def _guard_cell(cell: _Cell) -> _Cell:
    """Return a cell as text that no spreadsheet runs or splits and no terminal obeys.

    Numbers stay as they are.
    """
    if not isinstance(cell, str):
        return cell
    text = "".join(map(_show_control, cell.replace("\r\n", "\n")))
    is_formula = _FORMULA.match(text) and not _NUMBER.fullmatch(text)
    guarded = f"'{text}" if is_formula else text
    if len(guarded) * 2 <= _CELL_UNITS:  # no text has more than two units per character
        return guarded
    units = guarded.encode("utf-16-le")
    if len(units) <= 2 * _CELL_UNITS:
        return guarded
    return units[: 2 * (_CELL_UNITS - len(_REST))].decode("utf-16-le", "ignore") + _REST


def _show_control(char: str) -> str:
    is_control = unicodedata.category(char) in {"Cc", "Cs"} and char not in "\n\t"
    return char.encode("unicode_escape").decode("ascii") if is_control else char
