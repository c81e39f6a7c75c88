"""Renders an audit that graded nothing: between which ends each share is proved to be, as text, JSON and Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalstore.report.audit import MOST_LINES, paint_answer
from evalstore.report.audit_report import describe_result
from evalstore.report.formats.markdown import escape_prose, format_code, format_table
from evalstore.report.json_values import select_json_keys, write_json_value
from evalstore.report.static_words import list_facts, list_rows, write_answer, write_sentence
from evalstore.report.text_layout import PAPER, Part, Screen, format_columns, join_blocks
from evalstore.text import count_noun, make_excerpt

if TYPE_CHECKING:
    from evalstore.audits.conditions import StaticReport
    from evalstore.audits.static_audit import StaticAudit

_NAME = 44
_BLANK_LINES = 4
_HEAD = ("points", "score", "passes", "differs in", "proved")


def text(report: StaticReport, screen: Screen = PAPER) -> str:
    """Return the sentence and the answer, the table of bounds, what was proved, the conditions, and the answer again.

    Without --verbose all of it has at most 20 lines at 80 columns, as long as there are few conditions.
    """
    audit = report.audit
    runs = [
        (name, make_excerpt(side.model, _NAME), side.dataset, count_noun(side.scored, "scored question"))
        for name, side in (("A", audit.a), ("B", audit.b))
    ]
    sentence = screen.wrap(write_sentence(audit), inner="", part=Part.HEAD)
    answer = paint_answer(write_answer(audit), screen)
    results = screen.wrap(*map(describe_result, report.results))
    table = format_columns([_HEAD, *list_rows(audit)], right={1, 2, 3})
    head, tail = [*sentence, *answer], [*results, *answer]
    room = MOST_LINES - len(head) - len(tail) - len(runs) - len(table.split("\n")) - _BLANK_LINES
    return join_blocks(head, format_columns(runs), table, _list_facts(audit, screen, max(room, 1)), tail)


def _list_facts(audit: StaticAudit, screen: Screen, most: int) -> list[str]:
    """Return the lines of what else the records say; without --verbose at most so many."""
    lines = screen.wrap(*list_facts(audit))
    if screen.whole or len(lines) <= most:
        return lines
    return [*lines[: most - 1], f"and {count_noun(len(lines) - most + 1, 'line')} more: --verbose"]


def markdown(report: StaticReport) -> str:
    """Return a comment for a pull request."""
    audit = report.audit
    return join_blocks(
        "### evalstore audit --static",
        f"{format_code(audit.a.run)} \u2192 {format_code(audit.b.run)}",
        f"**{escape_prose(write_sentence(audit))}**",
        escape_prose(write_answer(audit)),
        (f"- {escape_prose(describe_result(one))}" for one in report.results),
        format_table(_HEAD, list_rows(audit)),
        (f"- {escape_prose(fact)}" for fact in list_facts(audit)),
    )


def html(report: StaticReport) -> str:
    """Return a page of its own."""
    from evalstore.report.pages.audit import write_static_page

    return write_static_page(report.audit, [*map(describe_result, report.results)])


def document(report: StaticReport) -> dict[str, Any]:
    """Return the document that schema/output/audit_static.schema.json describes."""
    audit = report.audit
    return {
        "answer": write_answer(audit),
        "sentence": write_sentence(audit),
        **select_json_keys(audit, "delta passes_delta a b common factors own lines"),
        "flips": {"pass_to_fail": audit.flips[0], "fail_to_pass": audit.flips[1]},
        **select_json_keys(audit, "proved"),
        "outputs_not_stored": {"a": audit.unstored[0], "b": audit.unstored[1]},
        "conditions": write_json_value(report.results),
        "notes": list(audit.notes),
    }
