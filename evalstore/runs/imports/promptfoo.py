"""Reads a result of promptfoo, versions 1 to 3, from a JSON or YAML document or JSON Lines.

A result names its question by the `id` in its test's metadata or variables; else by `testIdx`, its
row in promptfoo's table. Its model is its provider as promptfoo shows it: the label, else the id.
Calls that were made are in `metadata.toolCalls`. Calls that a model only requested are its output,
in its API's form: a message or a list of calls (OpenAI), or a list of parts (Google). Any other
output that is not text is written as JSON. Each grader's result becomes a check, named by its
metric, else by the words of the assertion.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from evalstore.errors import LoadError, Place
from evalstore.model import CheckResult
from evalstore.model.measures import Measures, read_measure
from evalstore.runs.imports.entry import (
    OutputEntry,
    RecordedGrade,
    Series,
    make_entry,
    read_asked,
    read_id,
    shorten_reason,
)
from evalstore.runs.imports.grades import make_check, make_grade, read_passed, read_score
from evalstore.runs.imports.promptfoo_response import read_response_output
from evalstore.runs.record_fields import get_mapping

RESULT_KEYS = frozenset(
    {
        "testCase",
        "vars",
        "testIdx",
        "promptIdx",
        "prompt",
        "promptId",
        "provider",
        "response",
        "error",
        *("success", "score", "gradingResult", "failureReason", "latencyMs", "cost"),
    }
)
_ERROR = 2  # promptfoo's failure reason for an error, which is not a verdict
_OWN = frozenset(
    {
        "provider",
        "prompt",
        "vars",
        "testCase",
        "response",
        "success",
        "gradingResult",
        "namedScores",
    }
)
_OWN_BELOW = [frozenset(f"{at}[].{key}" for key in _OWN) for at in ("results", "results.results")]
_ENOUGH = 4


def is_result_file(names: AbstractSet[str]) -> bool:
    """Whether a document with these keys has results; in the names, `[]` is the first item."""
    return any(len(names & own) >= _ENOUGH for own in _OWN_BELOW)


def is_result_row(names: AbstractSet[str]) -> bool:
    """Whether an object with these keys is a result."""
    return len(names & _OWN) >= _ENOUGH


def read_row(result: Mapping[str, Any], place: Place, _: int) -> OutputEntry:
    """Return one result as an entry; without an output if the provider failed or gave none."""
    response = result.get("response")
    failed = get_mapping(result, "response").get("error")
    output = None if failed else read_response_output(response, place)
    if output:
        output = output._replace(measures=_read_measures(result, output.measures))
    series = Series(_provider_name(result.get("provider")), _prompt_name(result))
    missing = shorten_reason(failed or result.get("error"), "the provider gave no output")
    id_ = _question_id(result, place)
    grade = _read_grade(result) if output else None
    return make_entry(
        series, id_, place.line or 0, output or missing, _list_asked(result), grade=grade
    )


def _read_measures(result: Mapping[str, Any], said: Measures) -> Measures:
    """Return the response's numbers, else the result's, where 0 can also mean unknown."""
    latency, cost = (read_measure(result.get(key)) or None for key in ("latencyMs", "cost"))
    if get_mapping(result, "response").get("cached"):
        latency = None  # the result's latency is that of the cache
    return said._replace(
        latency_ms=latency if said.latency_ms is None else said.latency_ms,
        cost_usd=cost if said.cost_usd is None else said.cost_usd,
    )


def _read_grade(result: Mapping[str, Any]) -> RecordedGrade | None:
    """Return what promptfoo's graders said; None if no grader could grade the result."""
    said = get_mapping(result, "gradingResult")
    passed = read_passed(said.get("pass", result.get("success")))
    score = read_score(said.get("score", result.get("score")))
    if result.get("failureReason") == _ERROR or (passed is None and score is None):
        return make_grade(None, reason=result.get("error")) if said or "success" in result else None
    parts = said.get("componentResults")
    listed = parts if isinstance(parts, list) else ()
    checks = [_read_check(part) for part in listed if isinstance(part, dict)]
    return make_grade(score, passed, checks, reason=said.get("reason") if not checks else "")


def _read_check(part: Mapping[str, Any]) -> CheckResult:
    assertion = get_mapping(part, "assertion")
    value = assertion.get("value")
    words = read_id(value) if isinstance(value, str | int) else None
    type_ = read_id(assertion.get("type")) or "an assertion"
    name = read_id(assertion.get("metric")) or (f"{type_} {words}" if words else type_)
    return make_check(
        name,
        read_score(part.get("score")),
        read_passed(part.get("pass")),
        reason=part.get("reason"),
        engine="promptfoo",
    )


def _question_id(result: Mapping[str, Any], place: Place) -> str:
    found = _find_id(result)
    if found is None:
        raise LoadError(
            (
                "this result does not say which question it answers: it has no `id` in its "
                "test's metadata or variables"
            ),
            place=place,
            hint=(
                "give each test of promptfoo an `id` in its `metadata`; newer versions also "
                "write `testIdx`"
            ),
        )
    return found


def _find_id(result: Mapping[str, Any]) -> str | None:
    test = result.get("testCase")
    holders = (
        get_mapping(test, "metadata"),
        get_mapping(result, "vars"),
        get_mapping(test, "vars"),
    )
    candidates = (*(holder.get("id") for holder in holders), result.get("testIdx"))
    return next((id_ for id_ in map(read_id, candidates) if id_ is not None), None)


def _list_asked(result: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the prompt as sent and its template's variables; one of them is the question."""
    prompt = result.get("prompt")
    sent = read_asked(prompt.get("raw") if isinstance(prompt, dict) else prompt)
    test = result.get("testCase")
    given = {**get_mapping(test, "vars"), **get_mapping(result, "vars")}
    texts = (read_asked(value) for name, value in given.items() if name != "id")
    return tuple(dict.fromkeys(filter(None, (sent, *texts))))


def _provider_name(provider: Any) -> str | None:
    found = provider if isinstance(provider, str) else None
    if isinstance(provider, dict):
        found = provider.get("label") or provider.get("id")
    return found if isinstance(found, str) and found else None


def _prompt_name(result: Mapping[str, Any]) -> str | None:
    """Return a prompt's name, the same for all variables; `raw` has them filled in."""
    prompt = get_mapping(result, "prompt")
    names = (
        prompt.get("label"),
        prompt.get("display"),
        result.get("promptId"),
        result.get("promptIdx"),
    )
    return next((name for name in map(read_id, names) if name), None)
