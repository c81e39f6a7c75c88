"""Renders one question of two runs: outputs by rubrics, every check's reason, and both answers."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from evalstore.report.formats.markdown import escape_prose, format_code, format_table
from evalstore.report.json_values import select_json_keys
from evalstore.report.text_layout import PAPER, Screen, format_columns, format_percent, join_blocks
from evalstore.text import count_noun, make_excerpt, make_printable
from evalstore.word_diff import compare_words

if TYPE_CHECKING:
    from evalstore.audits import QuestionCell
    from evalstore.audits.question_view import QuestionView
    from evalstore.model import CheckResult
    from evalstore.runs import GradedRow

_LINES = 40  # of an answer when shown side by side
_END_MARKS = str.maketrans({"\n": "⏎", "\r": "␍", "\t": "⇥", " ": "·"})
_HEAD = ("output", "under", "score", "verdict", "graded by", "")


def text(view: QuestionView, screen: Screen = PAPER) -> str:
    """Return the four cells, what each check says in them, and both answers side by side."""
    return join_blocks(
        f"question {make_printable(view.id)}",
        screen.wrap(_describe_asked(*view.asked), inner="  "),
        format_columns([_HEAD, *map(_cell_row, view.cells)], right={2}),
        *(_format_check(id_, results, view, screen) for id_, results in _list_checks(view)),
        _format_answers(view, screen),
        screen.wrap(*_list_notes(view)),
    )


def markdown(view: QuestionView) -> str:
    """Return the same for a pull request."""
    answers = zip("AB", [_show_end(_join_samples(row)) for row in view.rows], strict=True)
    return join_blocks(
        f"### evalstore audit\n\nquestion {format_code(view.id)}",
        escape_prose(_describe_asked(*view.asked)),
        format_table(_HEAD, map(_cell_row, view.cells)),
        format_table(("check", "output and rubric", "score", "reason"), _list_check_rows(view)),
        format_table(("run", "output"), answers),
        *map(escape_prose, _list_notes(view)),
    )


def html(view: QuestionView) -> str:
    """Return the same as a page."""
    from evalstore.report.pages.moved import write_page

    return write_page(view, [*_list_notes(view)])


def _list_check_rows(view: QuestionView) -> Iterator[tuple[str, ...]]:
    """Yield a row for each result of each check."""
    for id_, results in _list_checks(view):
        for cell, result in zip(view.cells, results, strict=True):
            if result is not None:
                side = f"{cell.output} under {cell.under}"
                yield id_, side, format_percent(result.score), result.reason


def document(view: QuestionView) -> dict[str, Any]:
    """Return the document that schema/output/audit_question.schema.json describes."""
    return {
        "question": view.id,
        "input": view.rows[1].input,
        "asked": dict(zip("ab", view.asked, strict=True)),
        "outputs": {name: _join_samples(row) for name, row in zip("ab", view.rows, strict=True)},
        "models": dict(zip("ab", view.models, strict=True)),
        "cells": list(map(_write_cell, view.cells)),
        **select_json_keys(view, "calls notes"),
    }


def _write_cell(cell: QuestionCell) -> dict[str, Any]:
    keys = "id kind score verdict reason engine"
    return {
        "output": cell.output.lower(),
        "under": cell.under.lower(),
        **select_json_keys(cell, "rubric score verdict recorded missing"),
        "checks": [select_json_keys(check, keys) for check in cell.checks],
    }


def _describe_asked(old: str, new: str) -> str:
    """Return what was asked; if that differs, how it changed, word by word."""
    if old == new:
        return f"asked: {make_printable(_show_end(new))}"
    if old.split() == new.split():
        old, new = (make_printable(_show_end(text)) for text in (old, new))
        return f"asked, differing only in white space: {old} in A, {new} in B"
    return f"asked, from A to B: {compare_words(old, new)}"


def _show_end(text: str) -> str:
    """Return a text whose trailing white space is visible.

    It shows `⏎` for a newline and `·` for a blank.
    """
    body = text.rstrip()
    return body + text[len(body) :].translate(_END_MARKS)


def _cell_row(cell: QuestionCell) -> tuple[str, ...]:
    calls = f"lacks {count_noun(cell.missing, 'judge call')}" if cell.missing else ""
    verdict = "unknown" if cell.missing else str(cell.verdict)
    how = "as recorded" if cell.recorded else calls or "graded now"
    return (
        f"of {cell.output}",
        f"of {cell.under}",
        format_percent(cell.score),
        verdict,
        cell.rubric,
        how,
    )


def _format_check(
    id_: str, results: tuple[CheckResult | None, ...], view: QuestionView, screen: Screen
) -> Iterator[str]:
    yield f"check {make_printable(id_)}"
    for cell, result in zip(view.cells, results, strict=True):
        lead = f"  {cell.output} under {cell.under}  "
        said = (
            "not in this rubric"
            if result is None
            else f"{format_percent(result.score):>6}  {result.reason}"
        )
        yield from screen.wrap(said, lead=lead, inner=" " * len(lead))


def _list_checks(view: QuestionView) -> Iterator[tuple[str, tuple[CheckResult | None, ...]]]:
    from evalstore.audits.question_view import list_checks

    return list_checks(view.cells)


def _fold_answer(answer: str, width: int) -> list[str]:
    """Return an answer in lines of at most `width` characters.

    An empty answer is one empty line.
    """
    lines = map(make_printable, answer.splitlines() or [""])
    return [piece for line in lines for piece in wrap(line, width) or [""]]


def _format_answers(view: QuestionView, screen: Screen) -> Iterator[str]:
    """Yield the lines of both answers, side by side."""
    width = (screen.width - 3) // 2
    columns = [_fold_answer(_show_end(_join_samples(row)), width) for row in view.rows]
    a, b = (make_excerpt(head, width) for head in map("{}: {}".format, "AB", view.models))
    yield f"{a:<{width}} | {b}"
    longest = max(map(len, columns))
    for index in range(min(longest, _LINES)):
        left, right = (column[index] if index < len(column) else "" for column in columns)
        yield f"{left:<{width}} | {right}".rstrip()
    if longest > _LINES:
        yield f"and {count_noun(longest - _LINES, 'more line')}; --format json has all of them"


def _join_samples(row: GradedRow) -> str:
    """Return the text of an answer; for several samples all texts, each below its number."""
    texts = [one.output.text for one in row.outputs]
    numbered = (f"sample {number}:\n{text}" for number, text in enumerate(texts, 1))
    return "\n\n".join(numbered) if len(texts) > 1 else texts[0]


def _list_notes(view: QuestionView) -> Iterator[str]:
    texts = [_join_samples(row) for row in view.rows]
    if texts[0] != texts[1] and texts[0].split() == texts[1].split():
        yield "the outputs differ only in white space (⏎ is a newline at the end, · a blank)"
    if view.calls:
        yield (
            f"{count_noun(view.calls, 'judge call')} would fill the cells that are unknown: "
            "--judge-url"
        )
    yield from (f"note: {note}" for note in view.notes)
