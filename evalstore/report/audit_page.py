"""Writes an audit as one HTML page that loads nothing and needs no script: the sentence, what moved, who, and where."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evalstore.audits import Audit, Cause, Origin
from evalstore.audits.conditions import AuditReport
from evalstore.report.html_page import Markup, join_markup, make_element, make_page
from evalstore.report.moved_page import MovedList, format_moved
from evalstore.report.people import describe_origin
from evalstore.report.text_layout import count_noun
from evalstore.report.waterfall_page import format_share, format_waterfall

MOST_EDITS, _MOST_IDS, _MOST_DRIFTS = 100, 200, 50
_LEAST_COLUMNS = 2


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
    questions, rules = format_moved(moved)
    return make_page(
        f"Audit: {audit.a.model} to {audit.b.model}",
        make_element("h1", "Why the score changed"),
        make_element("p", audit.sentence, class_="answer"),
        _format_items(conditions),
        _format_runs(audit),
        make_element("h2", "What moved it"),
        format_waterfall(audit),
        _format_edits(audit, edits),
        questions,
        _format_slices(slices),
        _format_lines(audit),
        make_element("h2", "What else to know"),
        _format_items(facts),
        rules=rules,
    )


def list_moving_edits(audit: Audit) -> tuple[Cause, ...]:
    """Return the edits that moved a score or a verdict, those that moved most first; a page has the first of them."""
    causes = [
        cause for factor in audit.factors for cause in factor.causes if cause.share or cause.passes or cause.moved
    ]
    return tuple(sorted(causes, key=lambda cause: -abs(cause.share)))[:MOST_EDITS]


def _format_runs(audit: Audit) -> Markup:
    rows = [
        make_element(
            "tr",
            make_element("th", name, scope="row"),
            make_element("td", side.model, class_="words", data_name="model"),
            make_element("td", make_element("code", side.run), data_name="run"),
            make_element("td", side.dataset, data_name="dataset"),
            make_element("td", ", ".join(side.rubrics), data_name="rubrics"),
            make_element("td", f"{side.scored:,} of {side.questions:,}", class_="n", data_name="scored"),
        )
        for name, side in (("A", audit.a), ("B", audit.b))
    ]
    return _format_table(("", "model", "run", "dataset", "rubrics", "scored"), rows)


def _format_edits(audit: Audit, edits: Sequence[Cause]) -> Markup:
    count = sum(1 for factor in audit.factors for cause in factor.causes if cause.share or cause.passes or cause.moved)
    silent = sum(len(factor.causes) for factor in audit.factors) - count
    rows = [
        make_element(
            "tr",
            format_share(cause.share, "score"),
            format_share(cause.passes, "passes"),
            make_element("td", make_element("span", *_describe_edit(cause)), class_="words", data_name="edit"),
            make_element("td", _describe_step(cause.source.origin), data_name="versions"),
            make_element("td", describe_origin(cause.source.origin), data_name="by"),
            make_element("td", f"{cause.moved:,}", class_="n", data_name="questions"),
            id=f"e{number}",
        )
        for number, cause in enumerate(edits)
    ]
    notes = [f"{count_noun(count - len(edits), 'more edit')} moved less."] if count > len(edits) else []
    notes += [f"{count_noun(silent, 'other edit')} moved nothing."] if silent else []
    head = ("score", "passes", "edit", "versions", "by", "questions")
    return join_markup(
        make_element("h2", "Edits, and who made them"),
        _format_table(head, rows) if rows else make_element("p", "No edit moved anything."),
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


def _format_slices(slices: Sequence[Sequence[str]]) -> Markup:
    if len(slices) < _LEAST_COLUMNS:
        return Markup()
    head, *rows = slices
    cells = [
        make_element("tr", *(make_element("td", cell, data_name=name) for name, cell in zip(head, row, strict=True)))
        for row in rows
    ]
    return join_markup(make_element("h2", "By slice"), _format_table(head, cells))


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
    parts = [_format_ids(f"Questions {title}", ids) for title, ids in lists if ids]
    if lines.failed_checks:
        failures = [
            f"{failed.check} failed in {failed.run} on {count_noun(failed.questions, 'question')}: {failed.error}"
            for failed in lines.failed_checks[:_MOST_IDS]
        ]
        parts.append(_format_details("Checks that failed", len(lines.failed_checks), failures))
    if audit.drift:
        shown = [f"{drift.run} {drift.id}: {drift.what}" for drift in audit.drift[:_MOST_DRIFTS]]
        more = [f"and {len(audit.drift) - _MOST_DRIFTS:,} more"] if len(audit.drift) > _MOST_DRIFTS else []
        parts.append(_format_details("Recorded results that were not reproduced", len(audit.drift), [*shown, *more]))
    return join_markup(make_element("h2", "Questions that are not compared"), *parts) if parts else Markup()


def _format_ids(title: str, ids: Sequence[str]) -> Markup:
    more = [f"and {len(ids) - _MOST_IDS:,} more"] if len(ids) > _MOST_IDS else []
    return _format_details(title, len(ids), [*ids[:_MOST_IDS], *more])


def _format_details(title: str, count: int, items: Sequence[str]) -> Markup:
    summary = make_element("summary", f"{title} ({count:,})")
    return make_element("details", summary, make_element("div", _format_items(items)))


def _format_items(items: Sequence[str]) -> Markup:
    return make_element("ul", *(make_element("li", item) for item in items)) if items else Markup()


def _format_table(head: Sequence[str], rows: Sequence[Markup]) -> Markup:
    words = (make_element("th", word, scope="col" if word else "") for word in head)
    return make_element("table", make_element("thead", make_element("tr", *words)), *rows, class_="stack")
