"""A recorded tool call's name and arguments, from the shapes that chat APIs and transcripts have them in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evalstore.documents import read_row
from evalstore.errors import LoadError


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call as a check reads it; `args` is None where what was recorded is no mapping."""

    name: str
    args: Mapping[str, Any] | None


def read_call(call: Mapping[str, Any]) -> ToolCall:
    """Read `{name, args}` or `{name, arguments}`, also within `function`; no arguments, null or blank text are none."""
    args = read_call_args(call)
    args = _parse_args(args) if isinstance(args, str) else args
    args = {} if args is None else args
    return ToolCall(read_call_name(call), args if isinstance(args, Mapping) else None)


def read_call_name(call: Mapping[str, Any]) -> str:
    """Return the name of the tool that was called; empty where it has none."""
    name = _find_function(call).get("name")
    return name if isinstance(name, str) else ""


def read_call_args(call: Mapping[str, Any]) -> Any:
    """Return the arguments as they were written: a mapping, the text of one, or None where there are none."""
    function = _find_function(call)
    return function.get("args", function.get("arguments"))


def _find_function(call: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the part with name and arguments; chat APIs keep it one level deeper."""
    inner = call.get("function")
    return inner if isinstance(inner, Mapping) else call


def _parse_args(text: str) -> Any:
    """Read arguments that are the JSON text of an object, as chat APIs write them."""
    if not text.strip():
        return None
    try:
        return read_row(text.encode("utf-8", "surrogatepass"), "arguments", 1)
    except LoadError:  # a text of another sort, which stays one
        return text
