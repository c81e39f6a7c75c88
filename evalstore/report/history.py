"""Renders the scores of runs under every release of an artifact, and the versions at which a score changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from evalstore.audits.wording import format_change
from evalstore.report.formats.markdown import escape_prose, format_code, format_table
from evalstore.report.json_values import select_json_keys, write_json_value
from evalstore.report.text_layout import (
    COMMIT,
    DAY,
    PAPER,
    Part,
    Screen,
    format_columns,
    format_percent,
    join_blocks,
    join_names,
)
from evalstore.text import count_noun, make_excerpt, make_printable

if TYPE_CHECKING:
    from fractions import Fraction

    from evalstore.audits.bisection import Bisection, ChangePoint, CommitChange
    from evalstore.audits.score_history import ScoredRun, ScoreHistory
    from evalstore.audits.side_replay import RunTotals


_LABEL, _SUBJECT, _NAMED = 24, 48, 3
_HEAD = ("version", "score", "", "passes", "commit", "date", "author", "subject")


def text_bisection(bisection: Bisection, screen: Screen = PAPER) -> str:
    """Return the answer in a sentence, and a line for each change point with its commit and author."""
    rows = [row for point in bisection.points for row in _point_rows(point)]
    lines = format_columns([_HEAD, *rows]).split("\n") if rows else []
    # The subject is the column that a narrow screen does without.
    if lines and max(map(len, lines)) > screen.width:
        lines = format_columns([row[:-1] for row in (_HEAD, *rows)]).split("\n")
    lines = [screen.paint(Part.QUIET, line) for line in lines[:1]] + [screen.paint_change(line) for line in lines[1:]]
    return join_blocks(screen.wrap(_summarize(bisection), inner=""), lines, screen.wrap(*_list_notes(bisection)))


def markdown_bisection(bisection: Bisection) -> str:
    """Return the same for a pull request."""
    rows = [row for point in bisection.points for row in _point_rows(point)]
    return join_blocks(
        "### evalstore history",
        f"{format_code(bisection.name)} on {format_code(bisection.run)}",
        f"**{escape_prose(_summarize(bisection))}**",
        format_table(_HEAD, rows) if rows else "",
        *map(escape_prose, _list_notes(bisection)),
    )


def document_bisection(bisection: Bisection) -> dict[str, Any]:
    """Return the document that schema/output/bisect.schema.json describes."""
    ends = {
        name: {"version": version, **select_json_keys(totals, "score pass_rate")}
        for name, (version, totals) in (("first", bisection.first), ("last", bisection.last))
    }
    return {
        **select_json_keys(bisection, "ref=name run question versions"),
        **ends,
        **select_json_keys(bisection, "points last_good first_bad calls notes"),
    }


def _point_rows(point: ChangePoint) -> Iterator[tuple[str, ...]]:
    """Yield a row for a change point with its commit; where several commits made it, one for each below."""
    label, over = point.version or "unreleased", point.passed_over
    label = f"{over[0]} {'to' if over[1:] else 'or'} {label}" if over else label
    passes = " -> ".join(format_percent(totals.pass_rate) for totals in (point.old, point.new))
    made_by = "unknown: some could not be graded" if over else count_noun(len(point.commits), "commit")
    lone = _commit_cells(point.commits[0]) if len(point.commits) == 1 else ("", "", made_by, "")
    yield (make_excerpt(label, _LABEL), *_format_span(point.old.score, point.new.score), passes, *lone)
    for change in point.commits if len(point.commits) > 1 else ():
        yield ("", *_format_span(change.old.score, change.new.score), "", *_commit_cells(change))


def _commit_cells(change: CommitChange) -> tuple[str, ...]:
    commit = change.commit
    people = ", ".join([commit.author, *commit.co_authors])
    return commit.oid[:COMMIT], commit.date[:DAY], people, make_excerpt(commit.summary, _SUBJECT)


def _format_span(old: Any, new: Any) -> tuple[str, str]:
    return f"{format_percent(old)} -> {format_percent(new)}", format_change(old, new)


def _summarize(bisection: Bisection) -> str:
    what = f"The score of question {bisection.question}" if bisection.question else "The score"
    versions = f"{count_noun(bisection.versions, 'version')} of {bisection.name}"
    if not bisection.points:
        last, totals = bisection.last
        which = f"all of {versions}" if bisection.versions > 1 else f"{last}, the only version that was graded"
        return f"{what} is {format_percent(totals.score)} under {which}."
    changes = f"{what} changed at {len(bisection.points):,} of {versions}."
    bad = bisection.first_bad
    if bad is None:
        return f"{changes} It is as good under {bisection.last[0]} as under any."
    if bad.passed_over:
        others = join_names(bad.passed_over, _NAMED)
        which = f"{bad.version or 'a commit'}, or {others} before it, which could not be graded"
        return f"{changes} First bad since the last good ({bisection.last_good}): {which}."
    who = f", by {bad.main.commit.author} in {bad.main.commit.oid[:COMMIT]}" if bad.main else ""
    return f"{changes} First bad since the last good ({bisection.last_good}): {bad.version or 'a commit'}{who}."


def _list_notes(bisection: Bisection) -> Iterator[str]:
    if bisection.calls:
        calls = count_noun(bisection.calls, "judge call")
        yield f"versions without judge replies were skipped; {calls} would grade them: --judge-url"
    yield from (f"note: {make_printable(note)}" for note in bisection.notes)


_GAP = 2
# Of a screen, at most this share is for names, and never less than so many characters.
_SHARE, _NAME, _LONG_NAME = 2, 32, 200
_MARK = "*"  # behind the cell that the run recorded
_pick_score, _pick_pass_rate = attrgetter("score"), attrgetter("pass_rate")


def text(history: ScoreHistory, screen: Screen = PAPER) -> str:
    """Return a table of scores and one of pass rates: a row for each run, a column for each release."""
    blocks = [
        block
        for title, pick in (("score, points of 100", _pick_score), ("passes, of 100", _pick_pass_rate))
        for block in _format_tables(title, history, pick, screen.width)
    ]
    notes = screen.wrap(*_list_marks(history), *list_notes(history))
    return "\n\n".join([history.name, *blocks, "\n".join(notes)])


def markdown(history: ScoreHistory) -> str:
    """Return both tables for a pull request."""
    parts = [f"### evalstore history\n\n{format_code(history.name)}"]
    for title, pick in (("score", _pick_score), ("passes", _pick_pass_rate)):
        rows = [(_name_run(run), *_list_cells(run, history.versions, pick)) for run in history.runs]
        parts.append("\n".join(format_table((title, *history.versions), rows)))
    return join_blocks(*parts, *map(escape_prose, (*_list_marks(history), *list_notes(history))))


def html(history: ScoreHistory) -> str:
    """Return the same as a page of its own: a row for each release, a bar for each run."""
    from evalstore.report.pages.history import write_page

    return write_page(history, [*list_notes(history)])


def document(history: ScoreHistory) -> dict[str, Any]:
    """Return the document that schema/output/history.schema.json describes."""
    return {
        "ref": history.name,
        "runs": [run.run for run in history.runs],
        "models": [run.model for run in history.runs],
        "versions": list(history.versions),
        "releases": [select_json_keys(one, "commit author date bump summary") for one in history.releases],
        "cells": [write_json_value([cell.score for cell in run.cells]) for run in history.runs],
        "passes": [write_json_value([cell.pass_rate for cell in run.cells]) for run in history.runs],
        "recorded": [run.recorded for run in history.runs],
        "unreleased": [run.unreleased for run in history.runs],
        "not_graded": [[cell.missing for cell in run.cells] for run in history.runs],
        "ungraded": [run.ungraded for run in history.runs],
        **select_json_keys(history, "calls notes"),
    }


def _format_tables(
    title: str, history: ScoreHistory, pick: Callable[[RunTotals], Fraction | None], width: int
) -> Iterator[str]:
    """Yield tables no wider than the screen, each with as many releases as fit."""
    names = [title, *(_shorten_name(_name_run(run), max(_NAME, width // _SHARE)) for run in history.runs)]
    cells = [
        [*map(make_printable, history.versions)],
        *(_list_cells(run, history.versions, pick) for run in history.runs),
    ]
    widths = [max(len(row[index]) for row in cells) + _GAP for index in range(len(history.versions))]
    start, room = 0, width - max(map(len, names))
    while start < len(widths):
        end = start + 1
        while end < len(widths) and sum(widths[start : end + 1]) <= room:
            end += 1
        rows = [(name, *row[start:end]) for name, row in zip(names, cells, strict=True)]
        yield format_columns(rows, right=range(1, end - start + 1))
        start = end


def _list_cells(run: ScoredRun, versions: Sequence[str], pick: Callable[[RunTotals], Fraction | None]) -> list[str]:
    marks = [_MARK if version == run.recorded else " " for version in versions]
    around = "({})" if run.ungraded else "{}"
    return [around.format(format_percent(pick(cell))) + mark for cell, mark in zip(run.cells, marks, strict=True)]


def _name_run(run: ScoredRun) -> str:
    mark, lead = ", unreleased" if run.unreleased else "", "no score: " if run.ungraded else ""
    return make_excerpt(f"{lead}{run.model} ({run.run.rpartition('/')[2]}{mark})", _LONG_NAME)


def _shorten_name(name: str, limit: int) -> str:
    """Return a name with its middle left out: runs of one suite differ at their ends."""
    tail = limit // 2
    return name if len(name) <= limit else f"{name[: limit - tail - 1]}…{name[-tail:]}"


def _list_marks(history: ScoreHistory) -> list[str]:
    known = any(run.recorded for run in history.runs)
    return [f"{_MARK} the release that the run was graded with"] if known else []


def list_notes(history: ScoreHistory) -> Iterator[str]:
    """Yield what else a reader should know: what is missing, and what comes out otherwise than it was recorded."""
    for run in history.runs:
        if run.ungraded:
            yield f"{_name_run(run)}: {run.ungraded}; the numbers in parentheses are what the rest comes to"
            continue
        at = next(
            (cell for cell, version in zip(run.cells, history.versions, strict=True) if version == run.recorded), None
        )
        if (
            at
            and at.score is not None
            and (at.score, at.pass_rate) != (run.recorded_totals.score, run.recorded_totals.pass_rate)
        ):
            then = format_percent(run.recorded_totals.score)
            yield f"{_name_run(run)} recorded {then} under {run.recorded}, and gets {format_percent(at.score)} now"
        lacking = [version for cell, version in zip(run.cells, history.versions, strict=True) if cell.missing]
        if lacking and not history.calls:
            yield f"{_name_run(run)} has outputs that {join_names(lacking, _NAMED)} cannot grade"
    if history.calls:
        calls = count_noun(history.calls, "judge call")
        yield f"{calls} would fill the cells with a dash: name an endpoint with --judge-url"
    yield from (f"note: {note}" for note in history.notes)
