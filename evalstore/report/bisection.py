"""Renders the versions at which the score of a run changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from evalstore.audits.wording.points import format_change
from evalstore.report.formats.markdown import escape_prose, format_code, format_table
from evalstore.report.json_values import select_json_keys
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
    from evalstore.audits.bisection import Bisection, ChangePoint, CommitChange
    from evalstore.audits.side_replay import RunTotals

_LABEL, _SUBJECT = 24, 48
_NAMED = 3  # commits in a sentence
_HEAD = ("version", "score", "", "passes", "commit", "date", "author", "subject")


def text(bisection: Bisection, screen: Screen = PAPER) -> str:
    """Return the answer in a sentence, and a line for each change point with commit and author."""
    rows = [row for point in bisection.points for row in _point_rows(point)]
    lines = format_columns([_HEAD, *rows]).split("\n") if rows else []
    # A narrow screen drops the subject column.
    if lines and max(map(len, lines)) > screen.width:
        lines = format_columns([row[:-1] for row in (_HEAD, *rows)]).split("\n")
    lines = [screen.paint(Part.QUIET, line) for line in lines[:1]] + [
        screen.paint_change(line) for line in lines[1:]
    ]
    return join_blocks(
        screen.wrap(_summarize(bisection), inner=""), lines, screen.wrap(*_list_notes(bisection))
    )


def markdown(bisection: Bisection) -> str:
    """Return the same for a pull request."""
    rows = [row for point in bisection.points for row in _point_rows(point)]
    return join_blocks(
        "### evalstore history",
        f"{format_code(bisection.name)} on {format_code(bisection.run)}",
        f"**{escape_prose(_summarize(bisection))}**",
        format_table(_HEAD, rows) if rows else "",
        *map(escape_prose, _list_notes(bisection)),
    )


def document(bisection: Bisection) -> dict[str, Any]:
    """Return the document that schema/output/bisect.schema.json describes."""
    return {
        **select_json_keys(bisection, "ref=name run question versions"),
        "first": _write_end(*bisection.first),
        "last": _write_end(*bisection.last),
        **select_json_keys(bisection, "points last_good first_bad calls notes"),
    }


def _write_end(version: str, totals: RunTotals) -> dict[str, Any]:
    return {"version": version, **select_json_keys(totals, "score pass_rate")}


def _point_rows(point: ChangePoint) -> Iterator[tuple[str, ...]]:
    """Yield a row for a change point with its commit.

    If several commits made it, each has a row below.
    """
    label, over = point.version or "unreleased", point.passed_over
    if over:
        label = f"{over[0]} {'to' if over[1:] else 'or'} {label}"
    passes = " -> ".join(format_percent(totals.pass_rate) for totals in (point.old, point.new))
    made_by = (
        "unknown: some could not be graded" if over else count_noun(len(point.commits), "commit")
    )
    lone = _commit_cells(point.commits[0]) if len(point.commits) == 1 else ("", "", made_by, "")
    yield (
        make_excerpt(label, _LABEL),
        *_format_span(point.old.score, point.new.score),
        passes,
        *lone,
    )
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
        which = (
            f"all of {versions}"
            if bisection.versions > 1
            else f"{last}, the only version that was graded"
        )
        return f"{what} is {format_percent(totals.score)} under {which}."
    changes = f"{what} changed at {len(bisection.points):,} of {versions}."
    bad = bisection.first_bad
    if bad is None:
        return f"{changes} No version scores higher than {bisection.last[0]}."
    if bad.passed_over:
        others = join_names(bad.passed_over, _NAMED)
        which = f"{bad.version or 'a commit'}, or {others} before it, which could not be graded"
        return f"{changes} The first to score lower than {bisection.last_good} is {which}."
    what = bad.version or (bad.main and f"commit {bad.main.commit.oid[:COMMIT]}") or "a commit"
    noun = "release" if bad.version else "commit"
    who = f" (by {bad.main.commit.author})" if bad.main else ""
    return (
        f"{changes} {what}{who} is the first {noun} that scores lower than {bisection.last_good}."
    )


def _list_notes(bisection: Bisection) -> Iterator[str]:
    if bisection.calls:
        calls = count_noun(bisection.calls, "judge call")
        yield f"versions without judge replies were skipped; {calls} would grade them: --judge-url"
    yield from (f"note: {make_printable(note)}" for note in bisection.notes)
