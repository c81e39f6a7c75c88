"""Renders a run that was just written: what it came to, and the outputs that went worst."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from evalstore.model import Verdict
from evalstore.report.json_values import write_json_value
from evalstore.report.run_words import name_output
from evalstore.report.score import text as format_run
from evalstore.report.screen import PAPER, Part, Screen
from evalstore.report.text_layout import count_noun, format_columns, format_percent, wrap_lines
from evalstore.text import make_excerpt

if TYPE_CHECKING:
    from evalstore.runs import GradedRow
    from evalstore.runs.run_view import WrittenRun

_PARTS = {Verdict.FAIL: Part.MAJOR, Verdict.UNSCORED: Part.MINOR}
_NAME, _REASON = 40, 200


def text(scored: WrittenRun, screen: Screen = PAPER) -> str:
    """Return the score and the checks, the three worst outputs with a reason, and how to see them all."""
    return "\n".join([format_run(scored.run), *_format_worst(scored, screen)])


def document(scored: WrittenRun) -> Any:
    """Return the document of the run."""
    return write_json_value(scored.run)


def _format_worst(scored: WrittenRun, screen: Screen) -> Iterator[str]:
    if not scored.failed:
        return
    yield ""
    yield f"{count_noun(scored.failed, 'output')} did not pass" + (
        "" if scored.failed <= len(scored.worst) else ", the worst:"
    )
    rows = [(row.verdict, format_percent(row.score), make_excerpt(name_output(row), _NAME)) for row in scored.worst]
    leads = format_columns(
        [(f"  {str(verdict).upper()}", score, name) for verdict, score, name in rows], right={1}
    ).split("\n")
    width = max(map(len, leads))
    for lead, row in zip(leads, scored.worst, strict=True):
        first, *more = wrap_lines(
            _find_reason(row), width=screen.width, lead=f"{lead.ljust(width)}  ", inner=" " * (width + 2)
        ) or [lead]
        word = f"  {str(row.verdict).upper()}"
        yield screen.paint(_PARTS.get(row.verdict), word) + first[len(word) :]
        yield from more
    yield f"see  evalstore show {shlex.quote(str(scored.run.path))} --failed"


def _find_reason(row: GradedRow) -> str:
    """Return why an output did not pass: what its first check that did not says, the failed ones first."""
    ranked = sorted(
        (check for check in row.checks if check.verdict in _PARTS), key=lambda one: list(_PARTS).index(one.verdict)
    )
    return make_excerpt(f"{ranked[0].id}: {ranked[0].reason}" if ranked else row.reason, _REASON)
