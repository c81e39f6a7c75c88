"""Tool calls, from the shapes that transcripts have them in, to the one that Every Eval Ever allows, and back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evalstore.documents import canonical
from evalstore.errors import LoadError, Place
from evalstore.model import call_args, call_name, read_call

Calls = tuple[Mapping[str, Any], ...]


def recorded_calls(value: Any, place: Place) -> Calls | None:
    """Return recorded calls as they are written, each named; None where nothing was recorded (an empty list was)."""
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(call, dict) and call_name(call) for call in value):
        raise LoadError("`tool_calls` is no list of calls", place=place, hint='a call is {"name": "…", "args": {…}}')
    return tuple(value)


def told_calls(messages: Sequence[Mapping[str, Any]], place: Place) -> Calls | None:
    """Return the calls of a transcript as `{name, args}`, in order; None when no message speaks of any."""
    told = [message["tool_calls"] for message in messages if message.get("tool_calls") is not None]
    if not told:
        return None
    return tuple(_told(call) for several in told for call in recorded_calls(several, place) or ())


def message_calls(calls: Calls) -> Iterator[dict[str, Any]]:
    """Yield calls as messages of Every Eval Ever hold them: an id, a name, and arguments that are all text."""
    for number, call in enumerate(calls, 1):
        arguments = _arguments(call)
        yield {
            "id": call["id"] if isinstance(call.get("id"), str) else f"call_{number}",
            "name": call_name(call),
            "arguments": arguments and {key: _text(value) for key, value in arguments.items()},
        }


def _told(call: Mapping[str, Any]) -> dict[str, Any]:
    args = read_call(call).args
    return {"name": call_name(call), "args": _arguments(call) if args is None else args}


def _arguments(call: Mapping[str, Any]) -> Mapping[str, Any] | None:
    written = call_args(call)
    return written if isinstance(written, dict) or written is None else {"arguments": written}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else canonical(value)
