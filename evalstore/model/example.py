"""The examples of a rubric or a judge: outputs with their expected verdicts or scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from evalstore.documents import Pointer, write_canonical
from evalstore.model.measures import read_measures
from evalstore.model.outcome import Output, RubricResult, Verdict, format_decimal, format_score
from evalstore.model.question import Question, Sample
from evalstore.model.tool_call import read_call_args, read_call_name

EXAMPLES = "examples"
_FEW_PLACES = 1  # decimals from which on a score means exactly that: 0.7 is not 0.66
_SCORE_PLACES = 4  # decimals with which a score is written


# No slots, like its sample.
@dataclass(frozen=True)
class Example:
    """One example: what to grade, and the verdict or score expected of it.

    `place` is its place in the file.
    """

    place: Pointer
    sample: Sample
    verdict: Verdict | None = None
    score: Decimal | None = None

    @property
    def expected(self) -> str:
        """The expected result as written in the file: `pass`, or `0.67`."""
        return str(self.score if self.verdict is None else self.verdict)

    @property
    def number(self) -> int:
        """Its number in the file, from 1."""
        return int(self.place[1]) + 1

    @property
    def key(self) -> str:
        """What is graded, as one text: two examples with the same key ask the same thing."""
        output, question = self.sample.output, self.sample.question
        calls = None if output.tool_calls is None else [dict(call) for call in output.tool_calls]
        parts = [output.text, calls, dict(question.row) if question else None]
        measures = output.measures.recorded
        return write_canonical([*parts, measures] if measures else parts)

    def is_met(self, result: RubricResult) -> bool:
        """Whether a result is as expected.

        A score must agree to as many decimals as are written.
        """
        if self.verdict is not None:
            return result.verdict is self.verdict
        if self.score is None or result.score is None:
            return False
        places = -int(self.score.as_tuple().exponent)
        return result.score == Fraction(self.score) or (
            places > _FEW_PLACES and round(result.score, places) == Fraction(self.score)
        )


def describe_expected(expected: str) -> str:
    """Return in words what an example expects: a verdict, or a score in points of 100."""
    return expected if expected in set(Verdict) else format_score(Fraction(expected))


def read_examples(value: Mapping[str, Any]) -> Iterator[Example]:
    """Yield the examples in a rubric's or judge's mapping, skipping what its schema refuses."""
    listed = value.get(EXAMPLES)
    for number, item in enumerate(listed if isinstance(listed, list) else ()):
        example = _read_example((EXAMPLES, number), item) if isinstance(item, Mapping) else None
        if example is not None:
            yield example


def _read_example(place: Pointer, item: Mapping[str, Any]) -> Example | None:
    output, calls, score = item.get("output"), item.get("tool_calls"), item.get("score")
    is_number = isinstance(score, int | float | Decimal) and not isinstance(score, bool)
    if (
        not isinstance(output, str)
        or ("verdict" in item) is ("score" in item)
        or ("score" in item) is not is_number
    ):
        return None
    if "verdict" in item and item["verdict"] not in tuple(Verdict):
        return None
    if calls is not None and not _is_record(calls):
        return None
    question = item.get("question")
    if not isinstance(question, str | Mapping | None):
        return None
    row = {"input": question} if isinstance(question, str) else question
    asked = (
        None if row is None else Question(str(row.get("id", "")), str(row.get("input", "")), row)
    )
    return Example(
        place,
        Sample(
            Output(output, None if calls is None else tuple(calls), measures=read_measures(item)),
            asked,
        ),
        Verdict(item["verdict"]) if "verdict" in item else None,
        Decimal(str(score)) if is_number else None,
    )


def _is_record(calls: Any) -> bool:
    return isinstance(calls, list) and all(
        isinstance(call, Mapping) and read_call_name(call) for call in calls
    )


def write_example(sample: Sample, expected: Verdict | Fraction, note: str = "") -> dict[str, Any]:
    """Return an example as a file has it: what is graded, and the expected result.

    A question is written without the reference to what grades it, because the example is in that
    file.
    """
    output, question = sample.output, sample.question
    item: dict[str, Any] = {"output": output.text}
    if output.tool_calls is not None:
        item["tool_calls"] = [_write_call(call) for call in output.tool_calls]
    item |= output.measures.recorded
    if question is not None:
        item["question"] = {
            key: value for key, value in question.row.items() if key != "rubric_ref"
        }
    if isinstance(expected, Verdict):
        item["verdict"] = str(expected)
    else:
        item["score"] = Decimal(format_decimal(round(expected, _SCORE_PLACES)))
    return item | ({"note": note} if note else {})


def _write_call(call: Mapping[str, Any]) -> dict[str, Any]:
    args = read_call_args(call)
    return {"name": read_call_name(call), **({} if args is None else {"args": args})}
