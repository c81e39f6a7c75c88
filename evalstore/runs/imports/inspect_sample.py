"""One sample of a log of Inspect AI as an entry; opens no file and imports nothing of Inspect AI.

Of a sample only its id, epoch, messages, output, error and invalidation are looked at: never its scores, which may be
NaN, nor its events. The output is what Inspect's own scorers grade, the completion of `output`; where a solver set
none, what the assistant said last.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from evalstore.errors import LoadError, Place
from evalstore.model import Output
from evalstore.runs.imports.entry import OutputEntry, Series, first_line, id_as_text, make_entry, unexpected_shape
from evalstore.runs.record_fields import get_mapping

SAMPLE_KEYS = frozenset({"id", "epoch", "messages", "output", "error", "invalidation"})
_LOG_VERSIONS = (1, 2)


def sample_entry(sample: Mapping[str, Any], model: str | None, place: Place, number: int) -> OutputEntry:
    """Return one sample as an entry; one that failed or was set aside has no output."""
    id_, epoch = id_as_text(sample.get("id")), id_as_text(sample.get("epoch", 1))
    if id_ is None or epoch is None:
        raise unexpected_shape("the `id` or the `epoch` of this sample", place)
    answer = _missing_reason(sample) or _sample_output(sample, place) or "the model said nothing"
    return make_entry(Series(model, epoch=epoch), id_, number, answer)


def check_version(version: Any, place: Place) -> None:
    """Refuse a log of a version that nobody has seen yet."""
    if version not in _LOG_VERSIONS:
        raise LoadError(
            f"this log of Inspect AI has version {version!r}; evalstore reads {_LOG_VERSIONS[0]} to {_LOG_VERSIONS[-1]}",
            place=place,
            hint='write its outputs as lines {"id": "…", "output": "…"}',
        )


def _missing_reason(sample: Mapping[str, Any]) -> str:
    if sample.get("error"):
        return first_line(get_mapping(sample, "error").get("message"), "it ended in an error")
    return "it was invalidated" if sample.get("invalidation") else ""


def _sample_output(sample: Mapping[str, Any], place: Place) -> Output | None:
    messages = sample.get("messages") or []
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        raise unexpected_shape("the `messages` of this sample", place)
    replies = [message for message in messages if message.get("role") == "assistant" and not _belongs_to_input(message)]
    text = _completion_text(get_mapping(sample, "output"), place)
    if text is None and replies:
        text = _message_text(replies[-1].get("content"), place)
    return None if text is None else Output(text, tuple(_message_calls(replies, place)) if messages else None)


def _belongs_to_input(message: Mapping[str, Any]) -> bool:
    """Whether a message is part of the question, such as the examples of a few-shot prompt."""
    return message.get("source") == "input"


def _completion_text(output: Mapping[str, Any], place: Place) -> str | None:
    choices = output.get("choices")
    if not choices:
        return None
    completion = output.get("completion")
    if completion is None and isinstance(choices, list):
        completion = _message_text(get_mapping(choices[0], "message").get("content"), place)
    if not isinstance(completion, str):
        raise unexpected_shape("the `output` of this sample", place)
    return completion


def _message_text(content: Any, place: Place) -> str:
    """Return the text of a message, whose content is a text or parts of which some are text."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list) or not all(isinstance(part, dict) for part in content):
        raise unexpected_shape("the `content` of a message", place)
    texts = [part.get("text") for part in content if part.get("type") == "text"]
    if not all(isinstance(text, str) for text in texts):
        raise unexpected_shape("the `content` of a message", place)
    return "".join(texts)


def _message_calls(messages: list[Mapping[str, Any]], place: Place) -> Iterator[Mapping[str, Any]]:
    for message in messages:
        calls = message.get("tool_calls") or []
        if not isinstance(calls, list):
            raise unexpected_shape("the `tool_calls` of a message", place)
        for call in calls:
            if not isinstance(call, dict) or not isinstance(call.get("function"), str):
                raise unexpected_shape("a call in the `tool_calls` of a message", place)
            arguments = call.get("arguments")
            yield {
                "name": call["function"],
                "args": arguments if isinstance(arguments, dict) else {"arguments": arguments},
            }
