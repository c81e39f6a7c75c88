"""What a provider of promptfoo answered, as an output: texts as they are, tool calls as calls, the rest as JSON; pure.

Calls that were made stand in `metadata.toolCalls`. Calls that a model only asked for are its output itself, in the
words of its API: a message or a list of calls (OpenAI), or a list of parts (Google).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalstore.documents import write_row
from evalstore.errors import Place
from evalstore.model import Output
from evalstore.runs.imports.entry import unexpected_shape
from evalstore.runs.record_fields import get_mapping
from evalstore.runs.tool_calls import ToolCalls, calls_of_messages

_PARTS = frozenset({"text", "functionCall", "thoughtSignature", "thought"})


def response_output(response: Any, place: Place) -> Output | None:
    """Return the output of a response, which is an object or the output itself; None when there is none."""
    raw = response.get("output") if isinstance(response, dict) else response
    if raw is None:
        return None
    text, requested = _text_and_requested_calls(raw)
    performed = _performed_calls(get_mapping(response, "metadata").get("toolCalls"), place)
    return Output(
        text, calls_of_messages([{"tool_calls": requested}], place) if performed is None and requested else performed
    )


def _performed_calls(calls: Any, place: Place) -> ToolCalls | None:
    if not isinstance(calls, list):
        return None
    if not all(isinstance(call, dict) and isinstance(call.get("name"), str) for call in calls):
        raise unexpected_shape("a call in `metadata.toolCalls`", place)
    return tuple({"name": call["name"], "args": _performed_arguments(call.get("input"))} for call in calls)


def _performed_arguments(arguments: Any) -> Mapping[str, Any]:
    return arguments if isinstance(arguments, dict) else {} if arguments is None else {"arguments": arguments}


def _text_and_requested_calls(raw: Any) -> tuple[str, list[Any]]:
    """Return the text of an output and the calls in it; a JSON answer that merely has names and arguments has none."""
    if isinstance(raw, str):
        return raw, []
    if _is_function(raw):
        return "", [raw]
    if isinstance(raw, dict) and raw.get("role") == "assistant" and isinstance(raw.get("content"), str | None):
        old = raw.get("function_call")
        calls = raw.get("tool_calls") or ([{"function": old}] if old else [])
        if _are_calls(calls):
            return raw.get("content") or "", calls
    if _are_calls(raw):
        return "", raw
    if isinstance(raw, list) and raw and all(_is_part(part) for part in raw):
        text = "".join(part.get("text", "") for part in raw if not part.get("thought"))
        return text, [part["functionCall"] for part in raw if "functionCall" in part]
    return write_row(raw).removesuffix("\n"), []


def _are_calls(calls: Any) -> bool:
    return (
        isinstance(calls, list) and bool(calls) and all(_is_function(get_mapping(call, "function")) for call in calls)
    )


def _is_function(value: Any) -> bool:
    """Whether a value is a function's name with its arguments, which OpenAI writes as the text of a JSON object."""
    return isinstance(value, dict) and value.keys() == {"name", "arguments"} and isinstance(value["arguments"], str)


def _is_part(part: Any) -> bool:
    """Whether a value is a part of an answer of Google's: a text or a function call, and nothing that is neither."""
    if not isinstance(part, dict) or not part.keys() <= _PARTS:
        return False
    if "functionCall" not in part:
        return isinstance(part.get("text"), str)
    return isinstance(get_mapping(part, "functionCall").get("name"), str)
