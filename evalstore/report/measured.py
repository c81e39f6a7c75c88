"""What a change did to the stored outputs of a run, as text and JSON, for the report of a diff."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from evalstore.model import Verdict, format_decimal
from evalstore.report.columns import align_columns
from evalstore.report.numbers import document_number
from evalstore.report.words import counted, wrapped
from evalstore.text import make_excerpt, make_printable

if TYPE_CHECKING:
    from evalstore.diff import MovedOutput, RunMeasurement

_PERCENT = 100
_PLACES = 4  # of a score in a line of text
_ID = 40


def format_measurement(measured: RunMeasurement, width: int) -> str:
    """Return one sentence, wrapped, and a line for each example."""
    files = dict.fromkeys(make_printable(example.place.file) for example in measured.examples)
    lines = wrapped(summarize_measurement(measured), width=width, inner="  ")
    lines += [f"  as in {file}:" for file in files]
    rows = [_example_row(example) for example in measured.examples]
    more = measured.moved - len(rows)
    below = [f"  {line}" for line in align_columns(rows).split("\n")] if rows else []
    return "\n".join([*lines, *below, *([f"  and {more:,} more"] if more else [])])


def summarize_measurement(measured: RunMeasurement) -> str:
    """Return how many outputs of a run move, in a sentence."""
    return f"{measured.run}: {_measurement_sentence(measured)}"


def document_measurement(measured: RunMeasurement) -> dict[str, Any]:
    """Return the JSON of one run."""
    return {
        "run": measured.run,
        "outputs": measured.outputs,
        "moved": measured.moved,
        "verdict_moved": measured.verdict_moved,
        "unscored": measured.unscored,
        **document_number("mean_shift", measured.mean_shift),
        **document_number("bound", measured.bound),
        "examples": [_example_document(example) for example in measured.examples],
    }


def _example_document(example: MovedOutput) -> dict[str, Any]:
    return {
        "id": example.id,
        "file": example.place.file,
        "line": example.place.line,
        **document_number("old_score", example.old_score),
        **document_number("new_score", example.new_score),
        "old_verdict": str(example.old_verdict),
        "new_verdict": str(example.new_verdict),
    }


def _measurement_sentence(measured: RunMeasurement) -> str:
    if not measured.outputs:
        return "none of its outputs is graded by what changed"
    return "; ".join(_measurement_clauses(measured, measured.outputs - measured.unscored))


def _measurement_clauses(measured: RunMeasurement, graded: int) -> Iterator[str]:
    if measured.moved:
        verb = "moves" if measured.moved == 1 else "move"
        yield f"{measured.moved:,} of {counted(graded, 'output')} {verb}, {_verdict_clause(measured)}"
        yield _shift_clause(measured.mean_shift)
    elif measured.bound is not None:
        bound = f"with 95 % confidence at most {_rounded_text(measured.bound * _PERCENT, 1)} % of such outputs do"
        yield f"none of {counted(graded, 'output')} moves; {bound}"
    if measured.unscored:
        yield f"{measured.unscored:,} could not be graded under both"


def _verdict_clause(measured: RunMeasurement) -> str:
    if not measured.verdict_moved:
        return "no verdict does"
    alike = measured.verdict_moved == measured.moved > 1
    return f"{'all' if alike else f'{measured.verdict_moved:,}'} to another verdict"


def _shift_clause(shift: Fraction | None) -> str:
    if not shift:
        return "the mean score stays"
    verb = "rises" if shift > 0 else "falls"
    return f"the mean score {verb} by {_rounded_text(abs(shift) * _PERCENT, 2)} points"


def _example_row(example: MovedOutput) -> tuple[str, ...]:
    old, new = example.old_verdict, example.new_verdict
    verdict = f"{old} → {new}" if old is not new else f"{new} as before"
    place = f"line {example.place.line}" if example.place.line else ""
    score = f"{_score_text(example.old_score)} → {_score_text(example.new_score)}"
    return make_excerpt(example.id, _ID), score, "" if Verdict.UNSCORED in {old, new} else verdict, place


def _score_text(score: Fraction | None) -> str:
    return "unscored" if score is None else _rounded_text(score, _PLACES)


def _rounded_text(value: Fraction, places: int) -> str:
    rounded = round(value, places)
    return format_decimal(rounded) if rounded or not value else f"less than {format_decimal(Fraction(1, 10**places))}"
