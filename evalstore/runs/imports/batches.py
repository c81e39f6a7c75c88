"""Reads batches of OpenAI-like APIs or Anthropic, and conversations: outputs, no verdicts.

Requests and responses are joined by their `custom_id` if a file has both, as after
`cat requests.jsonl responses.jsonl > both.jsonl`; responses alone do not say what was asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any

from evalstore.errors import LoadError, Place
from evalstore.model import Output
from evalstore.model.outcome import read_output_end
from evalstore.runs.imports.containers import iterate_rows
from evalstore.runs.imports.entry import (
    OutputEntry,
    Series,
    describe_unexpected_shape,
    make_entry,
    make_unread_entry,
    read_asked,
    read_id,
    shorten_reason,
)
from evalstore.runs.imports.messages import read_chat_output, read_last_question
from evalstore.runs.record_fields import explain_shape_errors, get_mapping

_KEY = "custom_id"
_NO_RESPONSE = "the batch has no response to it"


def is_batch(names: AbstractSet[str]) -> bool:
    """Whether a line with these keys is a request of a batch or a response."""
    return _KEY in names and not names.isdisjoint({"response", "result", "body", "params", "error"})


def is_conversation(names: AbstractSet[str]) -> bool:
    """Whether a row with these keys is a conversation with an id, which ends with the output."""
    return {"id", "messages"} <= names and "output" not in names


def read_batch(path: Path) -> Iterator[OutputEntry]:
    """Yield the responses of a batch, then the requests without a response."""
    asked: dict[str, tuple[int, tuple[str, ...]]] = {}
    answered: set[str] = set()
    for place, row in iterate_rows(path):
        if isinstance(row, LoadError):
            yield make_unread_entry(row)
            continue
        id_, line = read_id(row.get(_KEY)), place.line or 0
        if id_ is None:
            yield make_unread_entry(LoadError("it has no `custom_id`", place=place))
        elif request := get_mapping(row, "body") or get_mapping(row, "params"):
            asked[id_] = line, tuple(_list_asked(request))
        else:
            answered.add(id_)
            try:
                with explain_shape_errors(place, "this response cannot be read"):
                    entry = _read_response(row, id_, place, asked.get(id_, (0, ()))[1])
            except LoadError as error:
                entry = make_unread_entry(error, id_)
            yield entry
    for id_, (line, question) in asked.items():
        if id_ not in answered:
            yield make_entry(Series(), id_, line, _NO_RESPONSE, question)


def read_conversation(row: Mapping[str, Any], place: Place, _: int) -> OutputEntry:
    """Return the last text of the assistant in a conversation."""
    id_ = read_id(row.get("id"))
    if id_ is None:
        raise describe_unexpected_shape("the `id` of this conversation", place)
    output = read_chat_output(row.get("messages"), place)
    asked = read_last_question(row.get("messages"))
    answer = output or "the assistant said nothing"
    return make_entry(Series(), id_, place.line or 0, answer, (asked,) if asked else ())


def _list_asked(request: Mapping[str, Any]) -> Iterator[str]:
    """Yield what was asked: all messages, then only the user's last message."""
    sent = request.get("messages", request.get("input", request.get("prompt")))
    yield from dict.fromkeys(filter(None, (read_asked(sent), read_last_question(sent))))


def _read_response(
    row: Mapping[str, Any], id_: str, place: Place, asked: tuple[str, ...]
) -> OutputEntry:
    result, response = get_mapping(row, "result"), get_mapping(row, "response")
    body = get_mapping(result, "message") or get_mapping(response, "body")
    series = Series(read_id(body.get("model")))
    output = _read_body(body, place)
    problem = row.get("error") or body.get("error") or result.get("error")
    message = get_mapping({"error": problem}, "error").get("message", problem)
    missing = shorten_reason(message, _name_failure(result, response))
    return make_entry(series, id_, place.line or 0, output or missing, asked)


def _name_failure(result: Mapping[str, Any], response: Mapping[str, Any]) -> str:
    status = response.get("status_code")
    how = read_id(result.get("type")) or (f"status {status}" if status is not None else "no answer")
    return f"the API gave no output: {how}"


def _read_body(body: Mapping[str, Any], place: Place) -> Output | None:
    """Return the answer of chat completions, completions, responses, or Anthropic's messages."""
    choices = body.get("choices")
    if isinstance(choices, list) and choices:
        first = choices[0]
        if isinstance(first.get("text"), str):
            return Output(first["text"], None, read_output_end(first.get("finish_reason")))
        message = {"role": "assistant", **first["message"]}
        return read_chat_output([message], place, first.get("finish_reason"))
    if isinstance(body.get("output"), list):
        said = [one for one in body["output"] if isinstance(one, dict)]
        calls = [one for one in said if one.get("type") == "function_call"]
        texts = [one for one in said if one.get("role") == "assistant"]
        return read_chat_output([{"role": "assistant", "tool_calls": calls or None}, *texts], place)
    if isinstance(body.get("content"), list):
        return read_chat_output([{**body, "role": "assistant"}], place, body.get("stop_reason"))
    return None
