"""Renders the outputs of a run, each with its checks and their reasons."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from evalstore.checks import find_check_kind
from evalstore.model import Verdict
from evalstore.report.json_values import select_json_keys, write_json_value
from evalstore.report.run_words import describe_choice, describe_run, name_output
from evalstore.report.text_layout import (
    PAPER,
    Part,
    Screen,
    draw_sparkline,
    format_percent,
    join_blocks,
    wrap_beside,
    wrap_lines,
)
from evalstore.text import count_noun, make_excerpt, make_printable

if TYPE_CHECKING:
    from evalstore.model import CheckResult
    from evalstore.runs import GradedRow
    from evalstore.runs.run_view import RunView


_PARTS = {Verdict.FAIL: Part.MAJOR, Verdict.UNSCORED: Part.MINOR, Verdict.PASS: Part.PATCH}
NAME_LENGTH = 40  # characters of a check's id
_LINES = 40  # lines of a text shown in full
_EXCERPT = 240  # characters of an output among others
_AFTER = 60  # of them after a marked text
_SHOWN = 40  # outputs on a screen
_NOTHING = re.compile(r"(?!)")
_NO_BREAK = "\u00a0"
_FOUND = re.compile(r"found '(.+)'", re.DOTALL)


def text(view: RunView, screen: Screen = PAPER) -> str:
    """Return the result of the run, and a block for each output, worst first.

    Questions without output come last.
    """
    shown = view.rows if screen.whole else view.rows[:_SHOWN]
    blocks = (_format_row(view, row, screen) for row in shown)
    tail = [*_format_missing(view, screen), *_format_rest(view, len(shown), screen)]
    return join_blocks(_format_head(view, screen), *blocks, tail)


def html(view: RunView) -> str:
    """Return the outputs that a view kept as a page, with filters."""
    from evalstore.report.pages.run import prepare_pages
    from evalstore.runs.run_view import read_kept_rows

    return "".join(prepare_pages(read_kept_rows(view)).write_part(0))


def csv(view: RunView) -> str:
    """Return the same as a table for a spreadsheet."""
    from evalstore.report.run_table import write_table

    return write_table(view)


def document(view: RunView) -> dict[str, Any]:
    """Return the document that schema/output/show_run.schema.json describes."""
    from evalstore.runs.run_view import list_missing

    return {
        **select_json_keys(
            view.run, "run=path model dataset=dataset.ref unreleased score pass_rate rest_score"
        ),
        **select_json_keys(
            view.run,
            "rest_pass_rate series ungraded coverage empty_checks questions scored asked_otherwise",
        ),
        **select_json_keys(view.run, "unread_rows log_status"),
        "outputs": view.total,
        "found": view.found,
        "rows": [_write_row(row, view.choice.list_checks(row)) for row in view.rows],
        "missing_outputs": dict(list_missing(view)),
        "notes": list(view.run.notes),
    }


def _write_row(row: GradedRow, checks: Sequence[CheckResult]) -> dict[str, Any]:
    keys = "id sample score verdict rubric reason group input asked output=output.text"
    calls = row.output.tool_calls
    return {
        **select_json_keys(row, keys),
        "tool_calls": None if calls is None else len(calls),
        "checks": write_json_value(checks),
    }


def _format_head(view: RunView, screen: Screen) -> list[str]:
    run = view.run
    name = f"{run.dataset.ref if run.dataset else run.name}   {run.model}".rstrip()
    lines = [*describe_run(view), *filter(None, [describe_choice(view)])]
    if screen.drawn and any(view.histogram):
        lines.append(f"0 {draw_sparkline(view.histogram)} 100")
    return [screen.paint(Part.HEAD, make_excerpt(name, screen.width)), *screen.wrap(*lines)]


def _format_row(view: RunView, row: GradedRow, screen: Screen) -> Iterator[str]:
    word = str(row.verdict).upper() if row.verdict is not Verdict.PASS else "pass"
    lead = f"{word:<8}  {format_percent(row.score):>6}  "
    room = max(screen.width - len(lead), NAME_LENGTH)
    yield screen.paint(_PARTS[row.verdict], lead) + screen.paint(
        Part.HEAD, make_excerpt(name_output(row), room)
    )
    about = "; ".join(filter(None, [row.rubric, row.reason]))
    margin = " " * len(lead)
    yield from screen.wrap(about, lead=margin, inner=margin, part=Part.QUIET)
    checks = view.choice.list_checks(row)
    width = max((len(make_excerpt(check.id, NAME_LENGTH)) for check in checks), default=0)
    for check in checks:
        yield from _format_check(check, width, screen)
    if view.choice.question is not None and (row.input or row.output.text):
        yield from format_whole("asked", row.input if row.asked is None else row.asked, screen)
        if row.asked is not None:
            yield from format_whole("the question", row.input, screen)
        yield from format_whole("answered", row.output.text, screen)
    elif row.output.text.strip():
        yield from _format_excerpt(row.output.text, find_marked_text(checks), screen)
    if calls := len(row.output.tool_calls or ()):
        yield f"          and {count_noun(calls, 'tool call')}"


def _format_check(check: CheckResult, width: int, screen: Screen) -> Iterator[str]:
    lead = (
        f"  {check.verdict:<8}{format_percent(check.score):>6}  "
        f"{make_excerpt(check.id, NAME_LENGTH):<{width}}  "
    )
    lines = wrap_beside(lead, check.reason, screen) or [lead.rstrip()]
    word = f"  {check.verdict}"
    yield (
        screen.paint(None if check.verdict is Verdict.PASS else _PARTS[check.verdict], word)
        + lines[0][len(word) :]
    )
    yield from lines[1:]


def find_marked_text(checks: Sequence[CheckResult]) -> str:
    """Return the text that a check found and should not have; empty if no check says so."""
    for check in checks:
        if check.verdict is not Verdict.FAIL or not find_check_kind(check.kind).quotes_found:
            continue
        if found := _FOUND.fullmatch(check.reason):
            return found[1]
    return ""


def _format_excerpt(text_: str, marked: str, screen: Screen) -> Iterator[str]:
    """Yield the beginning of an output, or the part around the text that is marked in it."""
    whole = " ".join(text_.split())
    start = whole.lower().find(marked.lower()) if marked else -1
    first = max(start + len(marked) + _AFTER - _EXCERPT, 0) if start >= 0 else 0
    shown = ("…" if first else "") + make_excerpt(whole[first:], _EXCERPT)
    pattern = (
        re.compile(re.escape(make_printable(marked)), re.IGNORECASE) if start >= 0 else _NOTHING
    )
    # No-break spaces keep the marked text in one piece.
    joined = pattern.sub(lambda found: found[0].replace(" ", _NO_BREAK), shown)
    pieces = re.compile(pattern.pattern.replace("\\ ", _NO_BREAK), re.IGNORECASE)

    def mark(found: re.Match[str]) -> str:
        words = found[0].replace(_NO_BREAK, " ")
        return screen.paint(Part.MAJOR, words) if screen.colours else f"»{words}«"

    for line in wrap_lines(joined, width=screen.width - 2, lead="  output  ", inner=" " * 10):
        yield pieces.sub(mark, line)


def format_whole(
    name: str, whole: str, screen: Screen, limit: int | None = _LINES
) -> Iterator[str]:
    """Yield a text below its name, with the lines beyond `limit` counted (None: all of it)."""
    lines = whole.split("\n")
    shown = lines[:limit]
    yield f"  {name}"
    for line in shown:
        yield from screen.wrap(line, lead="    ", inner="    ") or [""]
    if more := len(lines) - len(shown):
        yield f"    and {count_noun(more, 'more line')}; --format json has all of them"


def _format_missing(view: RunView, screen: Screen) -> list[str]:
    from evalstore.runs.run_view import list_missing

    sentences = (f"no output  {id_}: {reason}" for id_, reason in list_missing(view))
    return screen.shorten_list(screen.wrap(*sentences, inner=" " * len("no output  ")))


def _format_rest(view: RunView, shown: int, screen: Screen) -> Iterator[str]:
    if view.found > shown:
        more = count_noun(view.found - shown, "more output")
        yield f"and {more}; --verbose lists them all, --failed those that did not pass"
    yield from (screen.paint_lead(f"note: {make_printable(note)}") for note in view.run.notes)
