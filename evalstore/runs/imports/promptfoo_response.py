"""Reads the response of a provider, as promptfoo stores it, as an output."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalstore.documents import write_row
from evalstore.errors import Place
from evalstore.model import Output, OutputEnd
from evalstore.model.measures import NO_MEASURES, Measures, read_measure
from evalstore.model.outcome import read_output_end
from evalstore.runs.imports.entry import describe_unexpected_shape
from evalstore.runs.record_fields import get_mapping
from evalstore.runs.tool_calls import ToolCalls, collect_calls

_PARTS = frozenset({"text", "functionCall", "thoughtSignature", "thought"})


def read_response_output(response: Any, place: Place) -> Output | None:
    """Return the output of a response, which is an object or the output itself; None if none."""
    raw = response.get("output") if isinstance(response, dict) else response
    if raw is None:
        return None
    text, requested = _text_and_requested_calls(raw)
    performed = _read_calls_made(get_mapping(response, "metadata").get("toolCalls"), place)
    calls = (
        collect_calls([{"tool_calls": requested}], place)
        if performed is None and requested
        else performed
    )
    return Output(text, calls, _read_end(response), _read_measures(response))


def _read_measures(response: Any) -> Measures:
    if not isinstance(response, dict):
        return NO_MEASURES
    used = get_mapping(response, "tokenUsage")
    return Measures(
        # For a cached response, this is the time that the original answer took.
        latency_ms=read_measure(response.get("latencyMs")),
        cost_usd=read_measure(response.get("cost")),
        input_tokens=read_measure(used.get("prompt")),
        output_tokens=read_measure(used.get("completion")),
    )


def _read_end(response: Any) -> OutputEnd | None:
    if not isinstance(response, dict):
        return None
    return (
        OutputEnd.REFUSED
        if response.get("isRefusal") is True
        else read_output_end(response.get("finishReason"))
    )


def _read_calls_made(calls: Any, place: Place) -> ToolCalls | None:
    if not isinstance(calls, list):
        return None
    if not all(isinstance(call, dict) and isinstance(call.get("name"), str) for call in calls):
        raise describe_unexpected_shape("a call in `metadata.toolCalls`", place)
    return tuple(
        {"name": call["name"], "args": _arguments_of_call(call.get("input"))} for call in calls
    )


def _arguments_of_call(arguments: Any) -> Mapping[str, Any]:
    if isinstance(arguments, dict):
        return arguments
    return {} if arguments is None else {"arguments": arguments}


def _text_and_requested_calls(raw: Any) -> tuple[str, list[Any]]:
    """Return an output's text and its calls.

    A JSON answer that merely looks similar, with names and arguments, has no calls.
    """
    if isinstance(raw, str):
        return raw, []
    if _is_function(raw):
        return "", [raw]
    if (
        isinstance(raw, dict)
        and raw.get("role") == "assistant"
        and isinstance(raw.get("content"), str | None)
    ):
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
        isinstance(calls, list)
        and bool(calls)
        and all(_is_function(get_mapping(call, "function")) for call in calls)
    )


def _is_function(value: Any) -> bool:
    """Whether a value is a function's name and its arguments as JSON text, as OpenAI writes it."""
    return (
        isinstance(value, dict)
        and value.keys() == {"name", "arguments"}
        and isinstance(value["arguments"], str)
    )


def _is_part(part: Any) -> bool:
    """Whether a value is a part of a Google answer: only a text or a function call."""
    if not isinstance(part, dict) or not part.keys() <= _PARTS:
        return False
    if "functionCall" not in part:
        return isinstance(part.get("text"), str)
    return isinstance(get_mapping(part, "functionCall").get("name"), str)
