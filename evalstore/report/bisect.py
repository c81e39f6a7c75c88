"""Renders the versions at which a score changed, as text, JSON and Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from evalstore.audits.wording import format_points
from evalstore.report.formats.markdown import escape_prose, format_code, format_table
from evalstore.report.json_values import select_json_keys
from evalstore.report.screen import PAPER, Screen
from evalstore.report.text_layout import (
    count_noun,
    format_columns,
    format_percent,
    join_names,
    wrap_lines,
)
from evalstore.text import make_excerpt, make_printable

if TYPE_CHECKING:
    from evalstore.audits.bisection import Bisection, ChangePoint, CommitChange

_DAY, _COMMIT, _LABEL, _SUBJECT, _NAMED = 10, 7, 24, 48, 3
_HEAD = ("version", "score", "", "passes", "commit", "date", "author", "subject")


def text(bisection: Bisection, screen: Screen = PAPER) -> str:
    """Return the answer in a sentence, and a line for each change point with its commit and author."""
    rows = [row for point in bisection.points for row in _point_rows(point)]
    lines = format_columns([_HEAD, *rows]).split("\n") if rows else []
    # The subject is the column that a narrow screen does without.
    if lines and max(map(len, lines)) > screen.width:
        lines = format_columns([row[:-1] for row in (_HEAD, *rows)]).split("\n")
    wrapped = [line for note in _list_notes(bisection) for line in wrap_lines(note, width=screen.width, inner="  ")]
    parts = ["\n".join(wrap_lines(_summarize(bisection), width=screen.width)), "\n".join(lines), "\n".join(wrapped)]
    return "\n\n".join(part for part in parts if part)


def markdown(bisection: Bisection) -> str:
    """Return the same for a pull request."""
    rows = [row for point in bisection.points for row in _point_rows(point)]
    parts = [
        "### evalstore bisect",
        f"{format_code(bisection.name)} on {format_code(bisection.run)}",
        f"**{escape_prose(_summarize(bisection))}**",
        "\n".join(format_table(_HEAD, rows)) if rows else "",
        *(escape_prose(note) for note in _list_notes(bisection)),
    ]
    return "\n\n".join(part for part in parts if part)


def document(bisection: Bisection) -> dict[str, Any]:
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
    label = point.version or "unreleased"
    span = _format_span(point.old.score, point.new.score)
    passes = " -> ".join(format_percent(totals.pass_rate) for totals in (point.old, point.new))
    if point.passed_over:
        label = f"{point.passed_over[0]} to {label}" if point.passed_over[1:] else f"{point.passed_over[0]} or {label}"
        yield (make_excerpt(label, _LABEL), *span, passes, "", "", "not known: some could not be graded", "")
        return
    if len(point.commits) == 1:
        yield (make_excerpt(label, _LABEL), *span, passes, *_commit_cells(point.commits[0]))
        return
    yield (make_excerpt(label, _LABEL), *span, passes, "", "", count_noun(len(point.commits), "commit"), "")
    for change in point.commits:
        yield ("", *_format_span(change.old.score, change.new.score), "", *_commit_cells(change))


def _commit_cells(change: CommitChange) -> tuple[str, ...]:
    commit = change.commit
    people = ", ".join([commit.author, *commit.co_authors])
    return commit.oid[:_COMMIT], commit.date[:_DAY], people, make_excerpt(commit.summary, _SUBJECT)


def _format_span(old: Any, new: Any) -> tuple[str, str]:
    return f"{format_percent(old)} -> {format_percent(new)}", "-" if old is None or new is None else format_points(
        new - old
    )


def _summarize(bisection: Bisection) -> str:
    what = f"The score of question {bisection.question}" if bisection.question else "The score"
    versions = f"{count_noun(bisection.versions, 'version')} of {bisection.name}"
    if not bisection.points:
        return f"{what} is {format_percent(bisection.last[1].score)} under all of {versions}."
    changes = f"{what} changed at {len(bisection.points):,} of {versions}."
    bad = bisection.first_bad
    if bad is None:
        return f"{changes} It is as good under {bisection.last[0]} as under any."
    if bad.passed_over:
        others = join_names(bad.passed_over, _NAMED)
        which = f"{bad.version or 'a commit'}, or {others} before it, which could not be graded"
        return f"{changes} First bad since the last good ({bisection.last_good}): {which}."
    who = f", by {bad.main.commit.author} in {bad.main.commit.oid[:_COMMIT]}" if bad.main else ""
    return f"{changes} First bad since the last good ({bisection.last_good}): {bad.version or 'a commit'}{who}."


def _list_notes(bisection: Bisection) -> Iterator[str]:
    if bisection.calls:
        calls = count_noun(bisection.calls, "judge call")
        yield f"versions that lack replies of judges were passed over; {calls} would grade them: --judge-url"
    yield from (f"note: {make_printable(note)}" for note in bisection.notes)
