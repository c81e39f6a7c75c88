"""Tool calls, from the shapes that transcripts have them in, to the one that Every Eval Ever allows, and back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evalstore.documents import canonical, read_row
from evalstore.errors import LoadError, Place

Calls = tuple[Mapping[str, Any], ...]


def recorded_calls(value: Any, place: Place) -> Calls | None:
    """Return recorded calls as they are written, each named; None where nothing was recorded (an empty list was)."""
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(call, dict) and _name(call) for call in value):
        raise LoadError("`tool_calls` is no list of calls", place=place, hint='a call is {"name": "…", "args": {…}}')
    return tuple(value)


def told_calls(messages: Sequence[Mapping[str, Any]], place: Place) -> Calls | None:
    """Return the calls of a transcript as `{name, args}`, in order; None when no message speaks of any."""
    told = [message["tool_calls"] for message in messages if message.get("tool_calls") is not None]
    if not told:
        return None
    calls = [call for several in told for call in recorded_calls(several, place) or ()]
    return tuple({"name": _name(call), "args": _decoded(call, place) or {}} for call in calls)


def message_calls(calls: Calls) -> Iterator[dict[str, Any]]:
    """Yield calls as messages of Every Eval Ever hold them: an id, a name, and arguments that are all text."""
    for number, call in enumerate(calls, 1):
        arguments = _arguments(call)
        yield {
            "id": call["id"] if isinstance(call.get("id"), str) else f"call_{number}",
            "name": _name(call),
            "arguments": arguments and {key: _text(value) for key, value in arguments.items()},
        }


def _name(call: Mapping[str, Any]) -> str:
    name = _function(call).get("name")
    return name if isinstance(name, str) else ""


def _decoded(call: Mapping[str, Any], place: Place) -> Mapping[str, Any] | None:
    """Return a call's arguments; chat APIs write all of them as the text of one JSON object."""
    written = _function(call).get("arguments")
    value = _read(written, place) if isinstance(written, str) else None
    return value if isinstance(value, dict) else _arguments(call)


def _read(text: str, place: Place) -> Any:
    try:
        return read_row(text.encode(), place.file, place.line or 0)
    except LoadError:  # a text of another sort, which stays one
        return None


def _arguments(call: Mapping[str, Any]) -> Mapping[str, Any] | None:
    function = _function(call)
    arguments = function.get("args", function.get("arguments"))
    return arguments if isinstance(arguments, dict) or arguments is None else {"arguments": arguments}


def _function(call: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the part with name and arguments; chat APIs keep it one level deeper."""
    inner = call.get("function")
    return inner if isinstance(inner, dict) else call


def _text(value: Any) -> str:
    return value if isinstance(value, str) else canonical(value)
