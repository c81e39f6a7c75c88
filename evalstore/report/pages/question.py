"""Prepares one question of two runs for a page: outputs by rulers, what each check and judge said, and both answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from evalstore.audits.question_view import list_checks
from evalstore.report.pages.html import render_page
from evalstore.report.text_layout import format_percent

if TYPE_CHECKING:
    from evalstore.audits import QuestionCell
    from evalstore.audits.question_view import QuestionView
    from evalstore.model import CheckResult
    from evalstore.runs import GradedRow

_SQUARE = 4  # two outputs under two rulers


def write_page(view: QuestionView, notes: Sequence[str]) -> str:
    """Return the page of one question."""
    found = prepare_question(view.rows, view.cells)
    return render_page("question", title=f"Question {view.id}", view=view, found=found, notes=notes)


def prepare_question(rows: tuple[GradedRow, GradedRow], cells: Sequence[QuestionCell]) -> dict[str, Any]:
    """Return the square of outputs and rulers, the reasons of each check, and the answers side by side."""
    return {
        "rulers": {cell.ruler: cell.rubric for cell in cells},
        "square": {one.output: [cell for cell in cells if cell.output == one.output] for one in cells},
        "checks": [_prepare_check(id_, cells, results) for id_, results in list_checks(cells)],
        "input": rows[1].input,
        "rows": rows,
        "is_same": rows[0].output_digest == rows[1].output_digest,
    }


def _prepare_check(id_: str, cells: Sequence[QuestionCell], results: Sequence[CheckResult | None]) -> dict[str, Any]:
    """Return what one check says in each cell; cells with the same result share a line."""
    places: dict[CheckResult | None, list[QuestionCell]] = {}
    for cell, result in zip(cells, results, strict=True):
        places.setdefault(_name_alike(result), []).append(cell)
    kind = next((result.kind for result in results if result), "")
    return {"id": id_, "kind": kind, "results": [_describe_result(*one) for one in places.items()]}


def _name_alike(result: CheckResult | None) -> CheckResult | None:
    """Return a result without what a reader does not see."""
    return result and result._replace(replies="", reply_digests=(), engine="", unscored=None)


def _describe_result(result: CheckResult | None, cells: Sequence[QuestionCell]) -> tuple[str, str, str]:
    """Return in which cells a check says so, its score and verdict, and its reason."""
    where = ", ".join(f"{cell.output} under {cell.ruler}" for cell in cells)
    where = "all four" if len(cells) == _SQUARE else where
    if result is None:
        return where, "not judged" if any(cell.missing for cell in cells) else "not in this ruler", ""
    verdict = "unscored" if result.score is None else f"{format_percent(result.score)} {result.verdict}"
    return where, verdict, result.reason
