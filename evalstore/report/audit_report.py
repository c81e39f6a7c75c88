"""Renders an audit with the answers to its conditions.

It writes text, JSON, and Markdown for a pull request.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evalstore.audits import Audit, Cause
from evalstore.audits.claims import describe_certainty
from evalstore.audits.conditions import AuditReport, ConditionResult, format_value
from evalstore.audits.wording.answer import write_answer
from evalstore.audits.wording.points import format_points
from evalstore.report import audit as plain
from evalstore.report.blame import describe_origin
from evalstore.report.formats.markdown import escape_prose, format_code, format_table
from evalstore.report.json_values import write_json_value
from evalstore.report.text_layout import (
    PAPER,
    Part,
    Screen,
    format_percent,
    join_blocks,
    wrap_columns,
)
from evalstore.text import make_excerpt, make_printable

_NAME = 40
_SLICE_HEAD = ("slice", "in A", "in B", "both", "change", "p", "p (Holm)", "of it")
_MOST_EDITS, _MOST_FLIPS = 20, 20
_ANSWERS = {"holds": Part.PATCH, "fails": Part.MAJOR, "cannot tell": Part.MINOR}
_MARKS = {"holds": "\u2705", "fails": "\u274c", "cannot tell": "\u2753"}


def text(report: AuditReport, screen: Screen = PAPER) -> str:
    """Return the audit, and a line for each condition."""
    slices = _write_slices(report.audit, screen) if report.audit.slices else ()
    return plain.text(
        report.audit, screen, slices=slices, results=format_results(report.results, screen)
    )


def document(report: AuditReport) -> dict[str, Any]:
    """Return the document that schema/output/audit.schema.json describes."""
    return {
        **plain.document(report.audit),
        "slices": write_json_value(report.audit.slices),
        "conditions": write_json_value(report.results),
    }


def markdown(report: AuditReport) -> str:
    """Return a pull request comment: answer, conditions, waterfall, edits and their authors."""
    audit, slices = report.audit, _tabulate_slices(report.audit)
    edits = list(_list_moving_causes(audit))
    rows = list(map(_list_edit_cells, edits[:_MOST_EDITS]))
    return join_blocks(
        "### evalstore audit",
        f"{format_code(audit.a.run)} \u2192 {format_code(audit.b.run)}",
        f"**{escape_prose(audit.sentence)}**",
        escape_prose(write_answer(audit)),
        map(_write_condition_item, report.results),
        format_table(("points", "score", "passes", ""), _list_waterfall(audit)),
        format_table(("score", "passes", "edit", "by"), rows) if rows else "",
        f"and {len(edits) - _MOST_EDITS:,} more edits" if len(edits) > _MOST_EDITS else "",
        _list_flips(audit),
        format_table(slices[0], slices[1:]) if audit.slices else "",
        (f"- {escape_prose(note)}" for note in audit.notes),
    )


def html(report: AuditReport, links: Mapping[str, str] | None = None, trail: str = "") -> str:
    """Return a page: the same with bars, filters, and every moved question in full.

    `links` lead to the pages of the steps between two releases, `trail` to the page's site.
    """
    from evalstore.report.pages.audit import write_page

    conditions = [describe_result(result) for result in report.results]
    facts = [*plain.list_facts(report.audit)]
    slices = _tabulate_slices(report.audit)
    return write_page(
        report, conditions=conditions, slices=slices, facts=facts, links=links, trail=trail
    )


def format_results(results: Sequence[ConditionResult], screen: Screen) -> list[str]:
    """Return the answers to conditions as lines, each answer in its colour."""
    return [
        screen.paint_words(line, _ANSWERS) for line in screen.wrap(*map(describe_result, results))
    ]


def describe_result(result: ConditionResult) -> str:
    """Return the answer to one condition in words."""
    metric = result.condition.metric
    value = "" if result.value is None else f" at {format_value(metric, result.value)}"
    return f"{result.condition}: {result.answer}{value} ({make_printable(result.reason)})"


def _tabulate_slices(audit: Audit) -> list[tuple[str, ...]]:
    """Return the table of slices, headings first.

    Empty columns are left out: slices of checks have no p.
    """
    rows = [*_list_slices(audit)]
    filled = [at for at in range(len(_SLICE_HEAD)) if any(row[at] for row in rows)]
    return [tuple(row[at] for at in filled) for row in (_SLICE_HEAD, *rows)]


def _write_slices(audit: Audit, screen: Screen) -> list[str]:
    rows = _tabulate_slices(audit)
    right = [at for at, name in enumerate(rows[0]) if name in _SLICE_HEAD[1:7]]
    return wrap_columns(rows, screen.width, right)


def _write_condition_item(one: ConditionResult) -> str:
    return f"- {_MARKS[str(one.answer)]} {escape_prose(describe_result(one))}"


def _list_edit_cells(cause: Cause) -> tuple[str, ...]:
    source, points = cause.source, map(format_points, (cause.share, cause.passes))
    return *points, source.message or source.part, describe_origin(source.origin)


def _list_slices(audit: Audit) -> Iterator[tuple[str, ...]]:
    for one in audit.slices:
        named = {name.replace("_", " "): share for name, share in one.shares.items()}
        shares = ", ".join(f"{name} {format_points(share)}" for name, share in named.items())
        p_values = ["" if p is None else f"{p:.3f}" for p in (one.p, one.p_holm)]
        yield (
            make_excerpt(one.name, _NAME),
            *(f"{count:,}" for count in (one.scored_a, one.scored_b, one.questions)),
            "-" if one.change is None else format_points(one.change),
            *p_values,
            shares,
        )


def _list_waterfall(audit: Audit) -> Iterator[tuple[str, ...]]:
    yield (
        "A",
        format_percent(audit.a.score),
        format_percent(audit.a.passes),
        plain.describe_side(audit.a.model, audit.a),
    )
    for factor in audit.factors:
        if factor.changed or factor.share:
            yield (
                factor.label,
                format_points(factor.share),
                format_points(factor.passes),
                describe_certainty(factor),
            )
    for name, line in audit.lines.told.items():
        yield audit.lines.labels[name], format_points(line.score), format_points(line.passes), ""
    yield (
        "B",
        format_percent(audit.b.score),
        format_percent(audit.b.passes),
        plain.describe_side(audit.b.model, audit.b),
    )


def _list_moving_causes(audit: Audit) -> list[Cause]:
    causes = [
        cause for factor in audit.factors for cause in factor.causes if cause.share or cause.passes
    ]
    return sorted(causes, key=lambda cause: -abs(cause.share))


def _list_flips(audit: Audit) -> Iterator[str]:
    for title, ids in (
        ("from pass to fail", audit.flips.pass_to_fail),
        ("from fail to pass", audit.flips.fail_to_pass),
    ):
        if ids:
            shown = ", ".join(map(format_code, ids[:_MOST_FLIPS]))
            more = f" and {len(ids) - _MOST_FLIPS:,} more" if len(ids) > _MOST_FLIPS else ""
            yield f"- {title} ({len(ids):,}): {shown}{more}"
