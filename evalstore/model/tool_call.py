"""A tool call in a chat, as APIs write it and as checks read it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evalstore.documents import read_row
from evalstore.errors import LoadError

_ARGUMENTS = ("args", "arguments", "input")


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One tool call; `args` is None if the recorded arguments are not a mapping."""

    name: str
    args: Mapping[str, Any] | None


def read_call(call: Mapping[str, Any]) -> ToolCall:
    """Read a call in the format of OpenAI, LangChain, Anthropic or AgentV.

    Anthropic uses `input`, AgentV `tool` and `input`.

    OpenAI keeps it within `function`. Null and blank text are not arguments.
    """
    args = read_call_args(call)
    args = _parse_args(args) if isinstance(args, str) else args
    args = {} if args is None else args
    return ToolCall(read_call_name(call), args if isinstance(args, Mapping) else None)


def read_call_name(call: Mapping[str, Any]) -> str:
    """Return the name of the called tool; empty if there is none."""
    function = _find_function(call)
    name = function.get("name", function.get("tool"))
    return name if isinstance(name, str) else ""


def read_call_args(call: Mapping[str, Any]) -> Any:
    """Return the arguments as written: a mapping, its JSON text, or None if there are none."""
    function = _find_function(call)
    return next((function[key] for key in _ARGUMENTS if key in function), None)


def _find_function(call: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the part with the name and arguments; chat APIs nest it one level deeper."""
    inner = call.get("function")
    return inner if isinstance(inner, Mapping) else call


def _parse_args(text: str) -> Any:
    if not text.strip():
        return None
    try:
        return read_row(text.encode("utf-8", "surrogatepass"), "arguments", 1)
    except LoadError:  # not JSON: it stays a text
        return text
