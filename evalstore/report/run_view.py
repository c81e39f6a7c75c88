"""Renders a run: its score, the outputs that went worst, or every output with each check and its reason."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from evalstore.model import Verdict
from evalstore.report.json_values import select_json_keys, write_json_value
from evalstore.report.run_words import (
    count_unreleased,
    describe_choice,
    describe_correction,
    describe_run,
    describe_score,
    name_output,
)
from evalstore.report.text_layout import (
    PAPER,
    Part,
    Screen,
    draw_sparkline,
    format_columns,
    format_percent,
    join_blocks,
    join_names,
    wrap_beside,
    wrap_columns,
    wrap_lines,
)
from evalstore.runs import CheckSummary, Run
from evalstore.text import count_noun, make_excerpt, make_printable

if TYPE_CHECKING:
    from evalstore.model import CheckResult
    from evalstore.runs import GradedRow
    from evalstore.runs.run_view import CheckCorrection, RunView, WrittenRun


_PARTS = {Verdict.FAIL: Part.MAJOR, Verdict.UNSCORED: Part.MINOR, Verdict.PASS: Part.PATCH}
_NAME, _LINES = 40, 40  # characters of a check's id; lines of a text that is shown in full
_EXCERPT = 240  # characters of an output among others
_AFTER = 60  # of them behind a text that is marked
_SHOWN = 40  # outputs on a screen
_NOTHING = re.compile(r"(?!)")
_NO_BREAK = "\u00a0"
_FOUND = re.compile(r"found '(.+)'", re.DOTALL)


def text(view: RunView, screen: Screen = PAPER) -> str:
    """Return what the run came to, a block for each output, the worst first, and what has no output."""
    shown = view.rows if screen.whole else view.rows[:_SHOWN]
    blocks = (_format_row(view, row, screen) for row in shown)
    tail = [*_format_missing(view, screen), *_format_rest(view, len(shown), screen)]
    return join_blocks(_format_head(view, screen), *blocks, tail)


def html(view: RunView) -> str:
    """Return the same as a page of its own, with filters."""
    from evalstore.report.pages.run import write_page

    return write_page(view)


def document(view: RunView) -> dict[str, Any]:
    """Return the document that schema/output/show_run.schema.json describes."""
    from evalstore.runs.run_view import list_missing

    rows = [
        {
            **select_json_keys(row, "id sample score verdict rubric reason group input asked output=output.text"),
            "tool_calls": None if row.output.tool_calls is None else len(row.output.tool_calls),
            "checks": write_json_value(view.choice.list_checks(row)),
        }
        for row in view.rows
    ]
    return {
        **select_json_keys(view.run, "run=path model dataset=dataset.ref unreleased score pass_rate rest_score"),
        **select_json_keys(view.run, "rest_pass_rate ungraded questions scored asked_otherwise unread_rows log_status"),
        "outputs": view.total,
        "found": view.found,
        "rows": rows,
        "missing_outputs": dict(list_missing(view)),
        "notes": list(view.run.notes),
    }


def _format_head(view: RunView, screen: Screen) -> list[str]:
    run = view.run
    name = f"{run.dataset.ref if run.dataset else run.name}   {run.model}"
    lines = [*describe_run(view), *filter(None, [describe_choice(view)])]
    if screen.drawn and any(view.histogram):
        lines.append(f"0 {draw_sparkline(view.histogram)} 100")
    return [screen.paint(Part.HEAD, make_excerpt(name, screen.width)), *screen.wrap(*lines)]


def _format_row(view: RunView, row: GradedRow, screen: Screen) -> Iterator[str]:
    word = str(row.verdict).upper() if row.verdict is not Verdict.PASS else "pass"
    lead = f"{word:<8}  {format_percent(row.score):>6}  "
    room = max(screen.width - len(lead), _NAME)
    yield screen.paint(_PARTS[row.verdict], lead) + screen.paint(Part.HEAD, make_excerpt(name_output(row), room))
    about = "; ".join(filter(None, [row.rubric, row.reason]))
    margin = " " * len(lead)
    yield from screen.wrap(about, lead=margin, inner=margin, part=Part.QUIET)
    checks = view.choice.list_checks(row)
    width = max((len(make_excerpt(check.id, _NAME)) for check in checks), default=0)
    for check in checks:
        yield from _format_check(check, width, screen)
    if view.choice.question is not None and (row.input or row.output.text):
        yield from _format_whole("asked", row.input if row.asked is None else row.asked, screen)
        if row.asked is not None:
            yield from _format_whole("the question", row.input, screen)
        yield from _format_whole("answered", row.output.text, screen)
    elif row.output.text.strip():
        yield from _format_excerpt(row.output.text, find_marked_text(checks), screen)
    if calls := len(row.output.tool_calls or ()):
        yield f"          and {count_noun(calls, 'tool call')}"


def _format_check(check: CheckResult, width: int, screen: Screen) -> Iterator[str]:
    lead = f"  {check.verdict:<8}{format_percent(check.score):>6}  {make_excerpt(check.id, _NAME):<{width}}  "
    lines = wrap_beside(lead, check.reason, screen) or [lead.rstrip()]
    word = f"  {check.verdict}"
    yield screen.paint(None if check.verdict is Verdict.PASS else _PARTS[check.verdict], word) + lines[0][len(word) :]
    yield from lines[1:]


def find_marked_text(checks: Sequence[CheckResult]) -> str:
    """Return the text that a check found and should not have; empty where none says so."""
    failed = (check for check in checks if check.verdict is Verdict.FAIL and check.kind == "must_not_contain")
    return next((found[1] for check in failed if (found := _FOUND.fullmatch(check.reason))), "")


def _format_excerpt(text_: str, marked: str, screen: Screen) -> Iterator[str]:
    """Yield the beginning of an output, or the part around the text that is marked in it."""
    whole = " ".join(text_.split())
    start = whole.lower().find(marked.lower()) if marked else -1
    first = max(start + len(marked) + _AFTER - _EXCERPT, 0) if start >= 0 else 0
    shown = ("…" if first else "") + make_excerpt(whole[first:], _EXCERPT)
    pattern = re.compile(re.escape(make_printable(marked)), re.IGNORECASE) if start >= 0 else _NOTHING
    # Blanks that no line is broken at keep the marked text in one piece.
    joined = pattern.sub(lambda found: found[0].replace(" ", _NO_BREAK), shown)
    pieces = re.compile(pattern.pattern.replace("\\ ", _NO_BREAK), re.IGNORECASE)

    def mark(found: re.Match[str]) -> str:
        words = found[0].replace(_NO_BREAK, " ")
        return screen.paint(Part.MAJOR, words) if screen.colours else f"»{words}«"

    for line in wrap_lines(joined, width=screen.width - 2, lead="  output  ", inner=" " * 10):
        yield pieces.sub(mark, line)


def _format_whole(name: str, whole: str, screen: Screen) -> Iterator[str]:
    lines = whole.split("\n")
    yield f"  {name}"
    for line in lines[:_LINES]:
        yield from screen.wrap(line, lead="    ", inner="    ") or [""]
    if len(lines) > _LINES:
        yield f"    and {count_noun(len(lines) - _LINES, 'more line')}; --format json has all of them"


def _format_missing(view: RunView, screen: Screen) -> list[str]:
    from evalstore.runs.run_view import list_missing

    sentences = (f"no output  {id_}: {reason}" for id_, reason in list_missing(view))
    return screen.shorten_list(screen.wrap(*sentences, inner=" " * len("no output  ")))


def _format_rest(view: RunView, shown: int, screen: Screen) -> Iterator[str]:
    if view.found > shown:
        more = count_noun(view.found - shown, "more output")
        yield f"and {more}; --verbose lists them all, --failed those that did not pass"
    yield from (screen.paint_lead(f"note: {make_printable(note)}") for note in view.run.notes)


def text_score(run: Run, screen: Screen = PAPER) -> str:
    """Return the score, what it was measured with, and a line for each check that did not pass everywhere."""
    return "\n".join(_run_lines(run, screen))


def _run_lines(run: Run, screen: Screen) -> Iterator[str]:
    dataset = run.dataset.ref if run.dataset else run.name
    mark = "   unreleased" if run.unreleased else ""
    yield screen.paint(Part.HEAD, f"{make_printable(dataset)}   {make_excerpt(run.model, 60)}{mark}")
    yield ""
    lead = f"score      {_format_hundredths(run.score)}   "
    yield from screen.wrap(describe_score(run), lead=lead, inner=" " * len(lead))
    rest = "" if run.rest_pass_rate is None else f"   the rest: {format_percent(run.rest_pass_rate)}"
    yield f"pass rate  {_format_hundredths(run.pass_rate)}{rest}"
    if run.unscored:
        yield f"unscored   {run.unscored:>6,}   counted in no mean"
    if run.outputs > run.questions:
        yield f"outputs    {run.outputs:>6,}   samples of {count_noun(run.questions, 'question')}, each by its mean"
    if kept := int(run.harness.get("replies_kept", 0)):
        asked = int(run.harness.get("replies_asked", 0))
        yield f"replies    {kept + asked:>6,}   {kept:,} kept from before, {asked:,} asked now"
    if run.unreleased:
        yield f"unreleased         {count_unreleased(run)}"
    yield ""
    yield from _check_table(run.checks, screen)
    yield ""
    yield f"run  {make_printable(str(run.path))}"


_FEW = 3  # checks with nothing to say that have a row each, as the others have
_NAMED = 3  # of more of them


def _check_table(checks: Mapping[str, CheckSummary], screen: Screen) -> Iterator[str]:
    """Yield a row for each check; one for all that every output passed, where they are many."""
    perfect = [id_ for id_, check in checks.items() if check.mean == 1 and not check.fail + check.unscored]
    left_out = set() if screen.whole or len(perfect) <= _FEW else {*perfect}
    rows = [
        (
            make_excerpt(id_, 60),
            "-" if check.mean is None else format(float(check.mean * 100), ".2f"),
            *(f"{count:,}" for count in (check.scored - check.fail, check.fail, check.unscored - check.errors)),
            f"{check.errors:,}",
        )
        for id_, check in checks.items()
        if id_ not in left_out
    ]
    if rows:
        head, *lines = format_columns(
            [("check", "mean", "pass", "fail", "missing", "error"), *rows], right=range(1, 6)
        ).split("\n")
        yield screen.paint(Part.QUIET, head)
        yield from lines
    if left_out:
        names = join_names((make_excerpt(id_, _NAME) for id_ in perfect), _NAMED)
        yield f"{count_noun(len(perfect), 'check')} that every output passed: {names}"


def _format_hundredths(score: Fraction | None) -> str:
    return f"{'-' if score is None else format(float(score * 100), '.2f'):>6}"


_PARTS_OF_WORST = {Verdict.FAIL: Part.MAJOR, Verdict.UNSCORED: Part.MINOR}
_REASON = 200


def text_written(scored: WrittenRun, screen: Screen = PAPER) -> str:
    """Return the score and the checks, and the three worst outputs with a reason."""
    corrections = _format_corrections(scored.corrections, screen)
    return "\n".join([text_score(scored.run, screen), *corrections, *_format_worst(scored, screen)])


def document_written(scored: WrittenRun) -> Any:
    """Return the document of the run, with the corrected pass rates where they were asked for."""
    corrected = {"corrected": write_json_value(scored.corrections)} if scored.corrections else {}
    return {**write_json_value(scored.run), **corrected}


def _format_corrections(corrections: Sequence[CheckCorrection], screen: Screen) -> Iterator[str]:
    """Yield the pass rate of each judged check as it was judged, and without the errors of its judge."""
    if not corrections:
        return
    yield ""
    rows = [
        (make_excerpt(one.check, _NAME), *describe_correction(one.corrected), f"{one.judge}, {_describe_rates(one)}")
        for one in corrections
        if one.corrected
    ]
    if rows:
        head = ("passes", "judged", "corrected", "95 % interval", "by")
        first, *lines = wrap_columns([head, *rows], screen.width, right={1, 2})
        yield screen.paint(Part.QUIET, first)
        yield from lines
    for one in corrections:
        if not one.corrected:
            lead = f"{make_excerpt(one.check, _NAME)} is not corrected: "
            yield from screen.wrap(one.problem, lead=lead)


def _describe_rates(one: CheckCorrection) -> str:
    rates = ((name, rate) for name, rate in (("TPR", one.good), ("TNR", one.bad)) if rate)
    return ", ".join(f"{name} {rate.hits:,} of {rate.of:,}" for name, rate in rates)


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
        first, *more = wrap_beside(f"{lead.ljust(width)}  ", _find_reason(row), screen) or [lead]
        word = f"  {str(row.verdict).upper()}"
        yield screen.paint(_PARTS_OF_WORST.get(row.verdict), word) + first[len(word) :]
        yield from more


def _find_reason(row: GradedRow) -> str:
    """Return why an output did not pass: what its first check that did not says, the failed ones first."""
    ranked = sorted(
        (check for check in row.checks if check.verdict in _PARTS_OF_WORST),
        key=lambda one: list(_PARTS_OF_WORST).index(one.verdict),
    )
    return make_excerpt(f"{ranked[0].id}: {ranked[0].reason}" if ranked else row.reason, _REASON)
