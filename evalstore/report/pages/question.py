"""Writes one question of two runs for a page: outputs by rulers, what each check and judge said, and both answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from evalstore.report.pages.html import Markup, join_markup, make_element
from evalstore.report.text_layout import format_percent

if TYPE_CHECKING:
    from evalstore.audits import QuestionCell
    from evalstore.model import CheckResult
    from evalstore.runs import GradedRow

    CheckRow = tuple[str, tuple[CheckResult | None, ...]]

_MOST_CHARACTERS = 20_000  # of one text; of more the rest is counted


def format_question(
    rows: tuple[GradedRow, GradedRow], cells: Sequence[QuestionCell], checks: Sequence[CheckRow]
) -> Markup:
    """Return the square of outputs and rulers, the reasons of each check, and the answers side by side."""
    return join_markup(
        _format_square(cells),
        *(_format_check(id_, cells, results) for id_, results in checks),
        make_element("h3", "asked"),
        format_text(rows[1].input),
        _format_answers(rows),
    )


def _format_square(cells: Sequence[QuestionCell]) -> Markup:
    rulers = {cell.ruler: cell.rubric for cell in cells}
    outputs = dict.fromkeys(cell.output for cell in cells)
    head = make_element(
        "tr",
        make_element("td"),
        *(
            make_element("th", f"under {ruler}\u2019s ruler", Markup("<br>"), rubric, scope="col")
            for ruler, rubric in rulers.items()
        ),
    )
    body = [
        make_element(
            "tr",
            make_element("th", f"output of {output}", scope="row"),
            *(make_element("td", *_describe_cell(cell)) for cell in cells if cell.output == output),
        )
        for output in outputs
    ]
    return make_element("table", head, *body, class_="square")


def _describe_cell(cell: QuestionCell) -> Iterator[str]:
    if cell.missing:
        yield "lacks replies of judges"
    elif cell.score is None:
        yield "cannot be graded"
    else:
        yield make_element("b", format_percent(cell.score))
        yield f" {cell.verdict}"


def _format_check(id_: str, cells: Sequence[QuestionCell], results: Sequence[CheckResult | None]) -> Markup:
    """Return what one check says in each cell; cells with the same result share a line."""
    places: dict[CheckResult | None, list[QuestionCell]] = {}
    for cell, result in zip(cells, results, strict=True):
        places.setdefault(_name_alike(result), []).append(cell)
    kind = next((result.kind for result in results if result), "")
    lines = [make_element("li", *_describe_result(result, where)) for result, where in places.items()]
    return join_markup(
        make_element("h3", id_, " ", make_element("code", kind, class_="quiet")),
        make_element("ul", *lines),
    )


def _name_alike(result: CheckResult | None) -> CheckResult | None:
    """Return a result without what a reader does not see."""
    return result and result._replace(replies="", reply_digests=(), engine="", unscored=None)


def _describe_result(result: CheckResult | None, cells: Sequence[QuestionCell]) -> Iterator[str]:
    where = ", ".join(f"{cell.output} under {cell.ruler}" for cell in cells)
    yield make_element("span", "all four" if len(cells) == 4 else where, class_="quiet")  # noqa: PLR2004  # the square
    if result is None:
        yield ": not judged" if any(cell.missing for cell in cells) else ": not in this ruler"
    else:
        score = "unscored" if result.score is None else f"{format_percent(result.score)} {result.verdict}"
        yield f": {score}{'. ' if result.reason else ''}"
        yield make_element("span", result.reason) if result.reason else ""


def _format_answers(rows: tuple[GradedRow, GradedRow]) -> Markup:
    if rows[0].output_digest == rows[1].output_digest:
        return join_markup(make_element("h3", "the same output in both runs"), format_outputs(rows[0]))
    columns = [
        make_element("div", make_element("h3", f"output of {name}"), format_outputs(row))
        for name, row in zip("AB", rows, strict=True)
    ]
    return make_element("div", *columns, class_="two")


def format_outputs(row: GradedRow) -> Markup:
    """Return the outputs to a question: one, or its samples."""
    return join_markup(*(format_text(one.output.text, calls=len(one.output.tool_calls or ())) for one in row.outputs))


def format_text(text: str, *, calls: int = 0) -> Markup:
    """Return a text as it is, as far as a page may have of it, and how many tool calls came with it."""
    rest = len(text) - _MOST_CHARACTERS
    notes = [f"{rest:,} more characters are in the JSON of --question ID"] if rest > 0 else []
    notes += [f"and {calls:,} tool call{'' if calls == 1 else 's'}"] if calls else []
    # A first line feed in a `pre` is dropped by browsers, so one of our own stands there.
    shown = make_element("pre", Markup("\n"), text[:_MOST_CHARACTERS], tabindex="0")
    return join_markup(shown, *(make_element("p", note, class_="quiet") for note in notes))
