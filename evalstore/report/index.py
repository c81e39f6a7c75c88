"""Renders what `evalstore index` wrote, as text and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalstore.report.text_layout import count_noun
from evalstore.text import make_printable

if TYPE_CHECKING:
    from evalstore.index.written_index import IndexProblem, WrittenIndex
    from evalstore.report.screen import Screen

_SHOWN = 20
_COUNTED = ("store", "artifact", "release", "pin", "finding")  # a run has several rows


def text(index: WrittenIndex, screen: Screen) -> str:
    """Return the file, how many rows it has of each record, and what could not be read."""
    stores, *counts = (count_noun(index.rows[record], record) for record in _COUNTED)
    runs = f"{count_noun(index.rows['run'], 'row')} of runs"
    shown = index.problems if screen.whole else index.problems[:_SHOWN]
    head = f"{make_printable(str(index.out))}: {stores}\n{', '.join([*counts, runs])}"
    lines = [head, *map(_describe_problem, shown)]
    if left := len(index.problems) - len(shown):
        lines.append(f"and {count_noun(left, 'more problem')}: --verbose, or the rows whose record is problem")
    return "\n".join(lines)


def _describe_problem(problem: IndexProblem) -> str:
    place = f"{problem.store}: {problem.file}" if problem.file else problem.store
    hint = f" ({problem.hint})" if problem.hint else ""
    return make_printable(f"{problem.severity}: {place}: {problem.message}{hint}")
