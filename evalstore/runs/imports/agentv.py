"""Reads results of AgentV: one test a line, with its output or the name of the output's file.

A line's `assertions` are in its `scores[]`, one item for each grader. `output` is a text or a list
of messages. Since 4.42 the index of a run names the file of the answer, in the index's folder or
below it. Tried with agentv 4.42.4.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from fractions import Fraction
from pathlib import Path
from typing import Any

from evalstore.errors import LoadError, Place
from evalstore.files import MIDDLE_FILE, read_below
from evalstore.model import CheckResult, Output
from evalstore.model.measures import Measures, read_measure
from evalstore.runs.imports.entry import (
    OutputEntry,
    RecordedGrade,
    Series,
    describe_unexpected_shape,
    make_entry,
    read_asked,
    read_id,
    shorten_reason,
)
from evalstore.runs.imports.grades import make_check, make_grade, read_passed, read_score
from evalstore.runs.imports.messages import read_chat_output, read_last_question
from evalstore.runs.record_fields import get_mapping

_IDS = ("test_id", "eval_id", "testId", "evalId")
_OWN = frozenset({"scores", "timestamp", "hits", "misses", "execution_status", "target"})
_PATHS = ("output_path", "answer_path", "response_path")
_PASSES = {"ok": True, "quality_failure": False}
_THRESHOLD = Fraction(4, 5)  # AgentV's own pass threshold, used if a line names none
_FAILED = "execution_error"


def is_result(names: AbstractSet[str]) -> bool:
    """Whether a row with these keys is a result of AgentV."""
    return not names.isdisjoint(_IDS) and "score" in names and not names.isdisjoint(_OWN)


def read_row(row: Mapping[str, Any], place: Place, _: int) -> OutputEntry:
    """Return one result; it has no output if its target failed."""
    id_ = next((found for key in _IDS if (found := read_id(row.get(key)))), None)
    if id_ is None:
        raise describe_unexpected_shape("the `test_id` of this result", place)
    target = read_id(row.get("target"))
    failed = row.get("execution_status") == _FAILED
    output = None if failed else _read_output(row, place)
    if output:
        output = output._replace(measures=_read_measures(row))
    missing = shorten_reason(row.get("error"), "the target gave no output")
    asked = read_last_question(row.get("input")) or read_asked(row.get("input"))
    grade = None if failed else _read_grade(row)
    return make_entry(
        Series(target),
        id_,
        place.line or 0,
        output or missing,
        (asked,) if asked else (),
        grade=grade,
    )


def _read_output(row: Mapping[str, Any], place: Place) -> Output | None:
    stored = row.get("output", row.get("answer"))
    if isinstance(stored, list):
        return read_chat_output(stored, place)
    if isinstance(stored, str):
        return Output(stored)
    named = next((path for key in _PATHS if isinstance(path := row.get(key), str)), None)
    if named is None:
        return None
    try:
        data = read_below(Path(place.file).parent, named, MIDDLE_FILE)
        return Output(data.decode())
    except (LoadError, UnicodeDecodeError):
        return None  # only the index was kept, without the files that it names


def _read_measures(row: Mapping[str, Any]) -> Measures:
    used = get_mapping(row, "token_usage")
    return Measures(
        latency_ms=read_measure(row.get("duration_ms")),
        cost_usd=read_measure(row.get("cost_usd")),
        input_tokens=read_measure(used.get("input")),
        output_tokens=read_measure(used.get("output")),
    )


def _read_grade(row: Mapping[str, Any]) -> RecordedGrade:
    score = read_score(row.get("score"))
    passed = _PASSES.get(str(row.get("execution_status")))
    if passed is None and score is not None:
        passed = score >= _THRESHOLD
    several = row.get("scores")
    checks = (
        [_read_check(one) for one in several if isinstance(one, dict)]
        if isinstance(several, list)
        else []
    )
    return make_grade(score, passed, checks, reason=row.get("reasoning"))


def _read_check(grader: Mapping[str, Any]) -> CheckResult:
    return make_check(
        read_id(grader.get("name")) or read_id(grader.get("type")) or "",
        read_score(grader.get("score")),
        read_passed(grader.get("verdict")),
        reason=grader.get("reasoning") or "; ".join(_list_reasons(grader)),
        engine="agentv",
    )


def _list_reasons(grader: Mapping[str, Any]) -> Iterator[str]:
    for one in grader.get("assertions") or ():
        if isinstance(one, dict) and isinstance(one.get("text"), str):
            evidence = one.get("evidence")
            yield (
                f"{one['text']}: {evidence}"
                if isinstance(evidence, str) and evidence
                else one["text"]
            )
