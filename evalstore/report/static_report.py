"""Renders an audit that graded nothing: between which ends each share is proved to be, as text, JSON and Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalstore.report.audit_report import describe_result
from evalstore.report.formats.markdown import escape_prose, format_code, format_table
from evalstore.report.json_values import select_json_keys, write_json_value
from evalstore.report.static_words import list_facts, list_rows, write_sentence
from evalstore.report.text_layout import PAPER, Screen, format_columns, wrap_lines
from evalstore.text import count_noun, make_excerpt

if TYPE_CHECKING:
    from evalstore.audits.conditions import StaticReport

_NAME = 44
_HEAD = ("points", "score", "passes", "differs in", "proved")


def text(report: StaticReport, screen: Screen = PAPER) -> str:
    """Return the sentence, the table of bounds, what was proved, and the answers to the conditions."""
    audit = report.audit
    runs = [
        (name, make_excerpt(side.model, _NAME), side.dataset, count_noun(side.scored, "scored question"))
        for name, side in (("A", audit.a), ("B", audit.b))
    ]
    conditions = map(describe_result, report.results)
    parts = (
        "\n".join(wrap_lines(write_sentence(audit), width=screen.width)),
        format_columns(runs),
        format_columns([_HEAD, *list_rows(audit)], right={1, 2, 3}),
        "\n".join(line for fact in list_facts(audit) for line in wrap_lines(fact, width=screen.width, inner="  ")),
        "\n".join(line for one in conditions for line in wrap_lines(one, width=screen.width, inner="  ")),
    )
    return "\n\n".join(part for part in parts if part)


def markdown(report: StaticReport) -> str:
    """Return a comment for a pull request."""
    audit = report.audit
    parts = [
        "### evalstore audit --static",
        f"{format_code(audit.a.run)} \u2192 {format_code(audit.b.run)}",
        f"**{escape_prose(write_sentence(audit))}**",
        "\n".join(f"- {escape_prose(describe_result(one))}" for one in report.results),
        "\n".join(format_table(_HEAD, list_rows(audit))),
        "\n".join(f"- {escape_prose(fact)}" for fact in list_facts(audit)),
    ]
    return "\n\n".join(part for part in parts if part)


def html(report: StaticReport) -> str:
    """Return a page of its own."""
    from evalstore.report.pages.static import write_page

    return write_page(report.audit, [*map(describe_result, report.results)])


def document(report: StaticReport) -> dict[str, Any]:
    """Return the document that schema/output/audit_static.schema.json describes."""
    audit = report.audit
    factors = [
        {
            "name": str(one.player),
            "changed": one.changed,
            **select_json_keys(
                one, "share_least=score.least share_most=score.most passes_least=passes.least passes_most=passes.most"
            ),
        }
        for one in audit.factors
    ]
    proved = "from=old to=new direction=score verdict_direction=verdict questions"
    return {
        "sentence": write_sentence(audit),
        **select_json_keys(audit, "delta passes_delta a b common"),
        "factors": factors,
        "own": select_json_keys(audit.own, "share_least=least share_most=most"),
        "lines": write_json_value(audit.lines),
        "flips": {"pass_to_fail": audit.flips[0], "fail_to_pass": audit.flips[1]},
        "proved": [select_json_keys(one, proved) for one in audit.proved],
        "outputs_not_stored": {"a": audit.unstored[0], "b": audit.unstored[1]},
        "conditions": write_json_value(report.results),
        "notes": list(audit.notes),
    }
