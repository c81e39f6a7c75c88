"""Renders an audit that graded nothing: between which ends each share is proved to be, as text, JSON and Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from evalstore.audits.wording import format_points
from evalstore.report import audit as plain
from evalstore.report.audit_report import describe_result, document_result
from evalstore.report.formats.markdown import escape_prose, format_code, format_table
from evalstore.report.text_layout import (
    count_noun,
    document_number,
    format_columns,
    format_percent,
    join_names,
    wrap_lines,
)
from evalstore.text import make_excerpt

if TYPE_CHECKING:
    from evalstore.audits.conditions import StaticReport
    from evalstore.audits.static_audit import BoundedFactor, ProvedDirection, StaticAudit
    from evalstore.audits.static_bounds import ShareBounds

_NAME = 44
_HEAD = ("points", "score", "passes", "differs in", "")
_LINES = (
    ("question mix", "mix"),
    ("no answer", "no_answer"),
    ("judge errors", "judge_errors"),
    ("not reproduced", "not_reproduced"),
)
_DIRECTIONS = {
    "none": "scores cannot move",
    "stricter": "scores can only fall",
    "looser": "scores can only rise",
    "either": "nothing is proved of where scores can go",
}
_VERDICTS = {"stricter": ", and fewer pass", "looser": ", and more pass", "either": ", and verdicts can turn"}


def text(report: StaticReport) -> str:
    """Return the sentence, the table of bounds, what was proved, and the answers to the conditions."""
    audit = report.audit
    runs = [
        (name, make_excerpt(side.model, _NAME), side.dataset, count_noun(side.scored, "scored question"))
        for name, side in (("A", audit.a), ("B", audit.b))
    ]
    parts = (
        "\n".join(wrap_lines(_write_sentence(audit))),
        format_columns(runs),
        format_columns([_HEAD, *_list_rows(audit)], right={1, 2, 3}),
        "\n".join(line for fact in _list_facts(audit) for line in wrap_lines(fact, inner="  ")),
        "\n".join(map(describe_result, report.results)),
    )
    return "\n\n".join(part for part in parts if part)


def markdown(report: StaticReport) -> str:
    """Return a comment for a pull request."""
    audit = report.audit
    parts = [
        "### evalstore audit --static",
        f"{format_code(audit.a.run)} \u2192 {format_code(audit.b.run)}",
        f"**{escape_prose(_write_sentence(audit))}**",
        "\n".join(f"- {escape_prose(describe_result(one))}" for one in report.results),
        "\n".join(format_table(_HEAD, _list_rows(audit))),
        "\n".join(f"- {escape_prose(fact)}" for fact in _list_facts(audit)),
    ]
    return "\n\n".join(part for part in parts if part)


def html(report: StaticReport) -> str:
    """Return a page of its own."""
    from evalstore.report.pages.static import write_page

    audit = report.audit
    conditions = [*map(describe_result, report.results)]
    return write_page(_write_sentence(audit), conditions, [*_list_rows(audit)], [*_list_facts(audit)])


def document(report: StaticReport) -> dict[str, Any]:
    """Return the document that schema/output/audit_static.schema.json describes."""
    audit = report.audit
    return {
        "sentence": _write_sentence(audit),
        **document_number("delta", audit.delta),
        **document_number("passes_delta", audit.passes_delta),
        "a": plain.document_side(audit.a),
        "b": plain.document_side(audit.b),
        "common": audit.common,
        "factors": [
            {
                "name": str(factor.player),
                "changed": factor.changed,
                **_document_bounds("share", factor.score),
                **_document_bounds("passes", factor.passes),
            }
            for factor in audit.factors
        ],
        "own": _document_bounds("share", audit.own),
        "lines": plain.document_lines(audit.lines),
        "flips": {"pass_to_fail": audit.flips[0], "fail_to_pass": audit.flips[1]},
        "proved": [
            {
                "from": one.old,
                "to": one.new,
                "direction": str(one.score),
                "verdict_direction": str(one.verdict),
                "questions": one.questions,
            }
            for one in audit.proved
        ],
        "outputs_not_stored": {"a": audit.unstored[0], "b": audit.unstored[1]},
        "conditions": [document_result(one) for one in report.results],
        "notes": list(audit.notes),
    }


def _document_bounds(name: str, bounds: ShareBounds) -> dict[str, Any]:
    return {**document_number(f"{name}_least", bounds.least), **document_number(f"{name}_most", bounds.most)}


def _write_sentence(audit: StaticAudit) -> str:
    """Return how the score moved, and between which ends each share is proved to be; it says nothing of other data."""
    verb = "fell" if audit.delta < 0 else "rose"
    moved = f"{verb} by {format_points(abs(audit.delta)).lstrip('+')} points" if audit.delta else "did not move"
    shares = [f"{factor.player.label} {_describe_bounds(factor.score)}" for factor in audit.factors]
    effects = [(label, getattr(audit.lines, name).score) for label, name in _LINES]
    lines = [f"{label} {format_points(share)}" for label, share in effects if share]
    named = join_names([*shares, *lines]) or "nothing differs"
    count = count_noun(audit.common, "question")
    return f"The score {moved}. Nothing was graded again; the records of {count} prove, of them alone: {named}."


def _describe_bounds(bounds: ShareBounds) -> str:
    if bounds.least == bounds.most:
        return f"exactly {format_points(bounds.least)}"
    return f"{format_points(bounds.least)} to {format_points(bounds.most)}"


def _list_rows(audit: StaticAudit) -> Iterator[tuple[str, ...]]:
    yield "A", format_percent(audit.a.score), format_percent(audit.a.passes), "", ""
    for factor in audit.factors:
        words = _describe_bounds(factor.score), _describe_bounds(factor.passes)
        yield factor.player.label, *words, f"{factor.changed:,} of {audit.common:,}", _describe_claim(factor)
    for label, name in _LINES:
        effect = getattr(audit.lines, name)
        if effect.score or effect.passes:
            yield label, format_points(effect.score), format_points(effect.passes), "", "exact"
    yield "B", format_percent(audit.b.score), format_percent(audit.b.passes), "", ""


def _describe_claim(factor: BoundedFactor) -> str:
    """Return which sign of a share is proved on these questions."""
    least, most = factor.score
    if least == most:
        return "exact on these questions"
    if most <= 0:
        return "proved: no rise" if most == 0 else f"proved: {format_points(most)} or lower"
    if least >= 0:
        return "proved: no fall" if least == 0 else f"proved: {format_points(least)} or higher"
    return "no sign is proved"


def _list_facts(audit: StaticAudit) -> Iterator[str]:
    yield from map(_describe_proof, audit.proved)
    own = audit.own
    yield f"the outputs' own share, answers that B lacks as 0: {_describe_bounds(own)}"
    yield f"verdicts: {audit.flips[0]:,} from pass to fail, {audit.flips[1]:,} from fail to pass"
    for run, count in zip("AB", audit.unstored, strict=True):
        if count:
            verb = "is" if count == 1 else "are"
            yield f"{count_noun(count, 'output')} of {run} {verb} not stored, and may differ from that of the other run"
    yield from (f"note: {note}" for note in audit.notes)


def _describe_proof(proved: ProvedDirection) -> str:
    effect = _DIRECTIONS[proved.score] + (_VERDICTS.get(proved.verdict, "") if proved.score == "none" else "")
    return f"{proved.old} \u2192 {proved.new} ({count_noun(proved.questions, 'question')}): {effect}"
