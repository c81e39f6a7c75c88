"""Reads one sample of a log of Inspect AI as an entry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from evalstore.errors import LoadError, Place
from evalstore.model import CheckResult, Output, OutputEnd
from evalstore.model.measures import Measures, read_measure, scale_seconds
from evalstore.model.outcome import read_output_end
from evalstore.runs.imports.entry import (
    OutputEntry,
    RecordedGrade,
    Series,
    describe_unexpected_shape,
    make_entry,
    make_unread_entry,
    read_asked,
    read_id,
    shorten_reason,
)
from evalstore.runs.imports.grades import grade_by_checks, make_check, read_score
from evalstore.runs.record_fields import get_mapping

_LOG_VERSIONS = (1, 2)
# As Inspect's `value_to_float` reads them; no answer counts as wrong.
_LETTERS = {"C": Fraction(1), "P": Fraction(1, 2), "I": Fraction(0), "N": Fraction(0)}


def read_sample_entry(
    sample: Mapping[str, Any], model: str | None, place: Place, number: int
) -> OutputEntry:
    """Return one sample as an entry; a failed or invalidated one has no output."""
    id_, epoch = read_id(sample.get("id")), read_id(sample.get("epoch", 1))
    if id_ is None or epoch is None:
        raise describe_unexpected_shape("the `id` or the `epoch` of this sample", place)
    answer = (
        _reason_without_output(sample) or _sample_output(sample, place) or "the model said nothing"
    )
    asked = read_asked(sample.get("input"))
    grade = None if isinstance(answer, str) else _read_grade(sample)
    return make_entry(
        Series(model, epoch=epoch), id_, number, answer, (asked,) if asked else (), grade=grade
    )


def _read_grade(sample: Mapping[str, Any]) -> RecordedGrade | None:
    """Return what the scorers said; None if no scorer scored the sample."""
    checks = list(_list_checks(get_mapping(sample, "scores")))
    target = sample.get("target")
    several = target if isinstance(target, list) else [target]
    reference = tuple(text for text in several if isinstance(text, str) and text)
    return grade_by_checks(checks, reference=reference) if checks else None


def _list_checks(scores: Mapping[str, Any]) -> Iterator[CheckResult]:
    """Yield a check for each scorer, or for each value of a scorer that has several."""
    for name, score in scores.items():
        value = score.get("value") if isinstance(score, dict) else score
        reason = score.get("explanation") if isinstance(score, dict) else ""
        parts = value.items() if isinstance(value, dict) else [("", value)]
        for part, found in parts:
            id_ = f"{name}/{part}" if part else name
            number = _LETTERS.get(found) if isinstance(found, str) else None
            number = read_score(found) if number is None else number
            yield make_check(id_, number, reason=reason, engine="inspect_ai")


def read_entry(
    sample: Mapping[str, Any] | LoadError, model: str | None, place: Place, number: int
) -> OutputEntry:
    """Return one sample as an entry; if its shape is unexpected, as an unreadable one."""
    if isinstance(sample, LoadError):
        return make_unread_entry(sample)
    try:
        return read_sample_entry(sample, model, place, number)
    except LoadError as error:
        return make_unread_entry(error, sample.get("id"))


def check_version(version: Any, place: Place) -> None:
    """Raise an error for a log whose version evalstore does not know."""
    if version not in _LOG_VERSIONS:
        first, last = _LOG_VERSIONS
        raise LoadError(
            (
                f"this log of Inspect AI has version {version!r}, but evalstore reads {first} to "
                f"{last}"
            ),
            place=place,
            hint='write its outputs as lines {"id": "…", "output": "…"}',
        )


def _reason_without_output(sample: Mapping[str, Any]) -> str:
    if sample.get("error"):
        return shorten_reason(get_mapping(sample, "error").get("message"), "it ended in an error")
    return "it was marked invalid" if sample.get("invalidation") else ""


def _sample_output(sample: Mapping[str, Any], place: Place) -> Output | None:
    messages = sample.get("messages") or []
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        raise describe_unexpected_shape("the `messages` of this sample", place)
    said = (message for message in messages if message.get("role") == "assistant")
    # Messages of the input are part of the question, such as the examples of a few-shot prompt.
    replies = [message for message in said if message.get("source") != "input"]
    output = get_mapping(sample, "output")
    text = _completion_text(output, place)
    if text is None and replies:
        text = _message_text(replies[-1].get("content"), place)
    if text is None:
        return None
    calls = tuple(_message_calls(replies, place)) if messages else None
    return Output(text, calls, _read_end(output), _read_measures(output))


def _read_measures(output: Mapping[str, Any]) -> Measures:
    """Return the numbers of the model call that gave the output, not of earlier calls."""
    used = get_mapping(output, "usage")
    return Measures(
        latency_ms=scale_seconds(output.get("time")),
        cost_usd=read_measure(used.get("total_cost")),
        input_tokens=read_measure(used.get("input_tokens")),
        output_tokens=read_measure(used.get("output_tokens")),
    )


def _read_end(output: Mapping[str, Any]) -> OutputEnd | None:
    choices = output.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return read_output_end(first.get("stop_reason")) if isinstance(first, dict) else None


def _completion_text(output: Mapping[str, Any], place: Place) -> str | None:
    choices = output.get("choices")
    if not choices:
        return None
    completion = output.get("completion")
    if completion is None and isinstance(choices, list):
        completion = _message_text(get_mapping(choices[0], "message").get("content"), place)
    if not isinstance(completion, str):
        raise describe_unexpected_shape("the `output` of this sample", place)
    return completion


def _message_text(content: Any, place: Place) -> str:
    """Return the text of a message; its content is a text, or parts of which some are text."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list) or not all(isinstance(part, dict) for part in content):
        raise describe_unexpected_shape("the `content` of a message", place)
    texts = [part.get("text") for part in content if part.get("type") == "text"]
    if not all(isinstance(text, str) for text in texts):
        raise describe_unexpected_shape("the `content` of a message", place)
    return "".join(texts)


def _message_calls(messages: list[Mapping[str, Any]], place: Place) -> Iterator[Mapping[str, Any]]:
    for message in messages:
        calls = message.get("tool_calls") or []
        if not isinstance(calls, list):
            raise describe_unexpected_shape("the `tool_calls` of a message", place)
        for call in calls:
            if not isinstance(call, dict) or not isinstance(call.get("function"), str):
                raise describe_unexpected_shape("a call in the `tool_calls` of a message", place)
            arguments = call.get("arguments")
            yield {
                "name": call["function"],
                "args": arguments if isinstance(arguments, dict) else {"arguments": arguments},
            }
