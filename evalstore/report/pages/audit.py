"""Writes an audit as one HTML page that loads nothing and needs no script: the sentence, what moved, who, and where."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evalstore.audits import Audit, Cause, Origin
from evalstore.audits.conditions import AuditReport
from evalstore.report.pages.html import Markup, join_markup, make_element, make_page
from evalstore.report.pages.moved import MovedList, format_moved
from evalstore.report.pages.sides import format_sides
from evalstore.report.pages.tables import (
    format_cell,
    format_folded,
    format_items,
    format_row,
    format_table,
)
from evalstore.report.pages.timeline import CAPTION, format_timeline
from evalstore.report.pages.waterfall import format_share, format_waterfall, is_resolved
from evalstore.report.people import describe_origin
from evalstore.report.text_layout import count_noun
from evalstore.text import make_excerpt

MOST_EDITS = 100
# Bytes for all that has a length, outputs and what was asked left aside: a page stays below 300 kB beside them.
_BUDGET, _LEAST_BUDGET = 250_000, 50_000
_NAME = 24
_FEWEST_ROWS = 2
_SLICE_NUMBERS = ("questions", "change", "p", "p (Holm)")


def write_page(
    report: AuditReport, *, conditions: Sequence[str], slices: Sequence[Sequence[str]], facts: Sequence[str]
) -> str:
    """Return the page.

    `conditions` are the answers to conditions in words, `slices` the rows of the table of slices with its head first,
    `facts` what else is to be said.
    """
    audit = report.audit
    edits = list_moving_edits(audit)
    moved = MovedList(audit.moved, audit.moved_count, tuple(cause.source for cause in edits))
    above = (
        make_element("h1", "Why the score changed"),
        make_element("p", audit.sentence, class_="answer"),
        format_items(conditions),
        format_sides(audit.a, audit.b),
        make_element("h2", "What moved it"),
        format_waterfall(audit),
        _format_edits(audit, edits),
        *_format_timelines(report),
    )
    below = (
        _format_slices(slices),
        _format_lines(audit),
        make_element("h2", "What else to know"),
        format_items(facts),
    )
    rest = sum(len(part.encode()) for part in (*above, *below))
    questions, rules = format_moved(moved, max(_BUDGET - rest, _LEAST_BUDGET))
    return make_page(f"Audit: {audit.a.model} to {audit.b.model}", *above, questions, *below, rules=rules)


def list_moving_edits(audit: Audit) -> tuple[Cause, ...]:
    """Return the edits that moved a score or a verdict, those that moved most first; a page has the first of them."""
    causes = [
        cause for factor in audit.factors for cause in factor.causes if cause.share or cause.passes or cause.moved
    ]
    return tuple(sorted(causes, key=lambda cause: -abs(cause.share)))[:MOST_EDITS]


def _format_edits(audit: Audit, edits: Sequence[Cause]) -> Markup:
    count = sum(1 for factor in audit.factors for cause in factor.causes if cause.share or cause.passes or cause.moved)
    silent = sum(len(factor.causes) for factor in audit.factors) - count
    resolved = {cause.source for factor in audit.factors if is_resolved(factor) for cause in factor.causes}
    rows = [
        format_row(
            make_element("th", *_describe_edit(cause), scope="row", class_="words"),
            format_share("score", cause.share, is_open=cause.source not in resolved),
            format_share("passes", cause.passes, is_open=cause.source not in resolved),
            format_cell("versions", _describe_step(cause.source.origin)),
            format_cell("by", describe_origin(cause.source.origin)),
            format_cell("questions", f"{cause.moved:,}", is_number=True),
            id_=f"e{number}",
        )
        for number, cause in enumerate(edits)
    ]
    notes = [f"{count_noun(count - len(edits), 'more edit')} moved less."] if count > len(edits) else []
    notes += [f"{count_noun(silent, 'other edit' if edits else 'edit')} moved nothing."] if silent else []
    head = ("edit", "score", "passes", "versions", "by", "questions")
    return join_markup(
        make_element("h2", "Edits, and who made them"),
        format_table(head, rows, numbers=("score", "passes", "questions"))
        if rows
        else make_element("p", "No edit moved anything."),
        *(make_element("p", note, class_="quiet") for note in notes),
    )


def _describe_edit(cause: Cause) -> Iterator[str]:
    yield cause.source.message or cause.source.part
    if cause.source.rule:
        yield " "
        yield make_element("code", cause.source.rule, class_="quiet")
    if cause.error:
        yield f" (sampled, \u00b1 {cause.error * 100:.2f})"


def _describe_step(origin: Origin) -> str:
    return f"{origin.ref + ' ' if origin.ref else ''}{origin.old} \u2192 {origin.new}"


def _format_timelines(report: AuditReport) -> Iterator[Markup]:
    """Yield a table for each artifact that was edited: what both runs' outputs get under each of its releases."""
    timelines = report.timelines
    if timelines is None or not (timelines.histories or timelines.notes):
        return
    yield make_element("h2", "Releases, with the score of each on the same outputs")
    runs = (report.audit.a, report.audit.b)
    names = [make_excerpt(f"{side} {run.model}", _NAME) for side, run in zip("AB", runs, strict=True)]
    for place, history in enumerate(timelines.histories):
        yield make_element("h3", make_element("code", history.name))
        yield format_timeline(history, names, "" if place else CAPTION)
    yield from (make_element("p", note, class_="quiet") for note in timelines.notes)


def _format_slices(slices: Sequence[Sequence[str]]) -> Markup:
    if len(slices) < _FEWEST_ROWS:
        return Markup()
    head, *rows = slices
    cells = [
        format_row(
            *(format_cell(name, cell, is_number=name in _SLICE_NUMBERS) for name, cell in zip(head, row, strict=True))
        )
        for row in rows
    ]
    return join_markup(make_element("h2", "By slice"), format_table(head, cells, numbers=_SLICE_NUMBERS))


def _format_lines(audit: Audit) -> Markup:
    """Return the questions behind the lines, which no player moved, and what was not reproduced."""
    lines = audit.lines
    lists = (
        ("added to the dataset", lines.questions.added),
        ("removed from the dataset", lines.questions.removed),
        ("with nothing to grade in one run", lines.questions.ungraded),
        ("without an answer in A", lines.silent_a),
        ("without an answer in B", lines.silent_b),
        ("that judges graded in one run only", lines.errors),
    )
    parts = [format_folded(f"Questions {title}", ids) for title, ids in lists if ids]
    if lines.failed_checks:
        failures = [
            f"{failed.check} failed in {failed.run} on {count_noun(failed.questions, 'question')}: {failed.error}"
            for failed in lines.failed_checks
        ]
        parts.append(format_folded("Checks that failed", failures))
    if audit.drift:
        lost = [f"{drift.run} {drift.id}: {drift.what}" for drift in audit.drift]
        parts.append(format_folded("Recorded results that were not reproduced", lost))
    return join_markup(make_element("h2", "Questions that are not compared"), *parts) if parts else Markup()
