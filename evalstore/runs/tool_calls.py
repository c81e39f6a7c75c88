"""Converts an output's tool calls between Every Eval Ever's transcripts and evalstore's form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evalstore.documents import write_canonical
from evalstore.errors import LoadError, Place
from evalstore.model import read_call, read_call_args, read_call_name
from evalstore.text import make_excerpt

ToolCalls = tuple[Mapping[str, Any], ...]
_FORM = 'a call is {"name": "…", "args": {…}}'


def read_calls(value: Any, place: Place) -> ToolCalls | None:
    """Return recorded calls unchanged, checking that each has a name.

    None means that calls were not recorded; `[]` means that none was made.
    """
    if value is None:
        return None
    if not isinstance(value, list):
        raise LoadError("`tool_calls` is not a list of calls", place=place, hint=_FORM)
    for call in value:
        if not isinstance(call, dict) or not read_call_name(call):
            keys = (
                f"; this one has {', '.join(map(str, call)) or 'no key'}"
                if isinstance(call, dict)
                else ""
            )
            raise LoadError(
                "`tool_calls` is not a list of calls",
                place=place,
                hint=make_excerpt(_FORM + keys, 200),
            )
    return tuple(value)


def collect_calls(messages: Sequence[Mapping[str, Any]], place: Place) -> ToolCalls | None:
    """Return a transcript's calls as `{name, args}`, in order.

    None if no message has `tool_calls`.
    """
    recorded = [
        message["tool_calls"] for message in messages if message.get("tool_calls") is not None
    ]
    if not recorded:
        return None
    return tuple(
        _plain_call(call) for several in recorded for call in read_calls(several, place) or ()
    )


def format_calls(calls: ToolCalls) -> Iterator[dict[str, Any]]:
    """Yield calls in the form of Every Eval Ever: an id, a name, and arguments that are texts."""
    for number, call in enumerate(calls, 1):
        arguments = _call_arguments(call)
        yield {
            "id": call["id"] if isinstance(call.get("id"), str) else f"call_{number}",
            "name": read_call_name(call),
            "arguments": arguments
            and {key: _argument_text(value) for key, value in arguments.items()},
        }


def _plain_call(call: Mapping[str, Any]) -> dict[str, Any]:
    args = read_call(call).args
    return {"name": read_call_name(call), "args": _call_arguments(call) if args is None else args}


def _call_arguments(call: Mapping[str, Any]) -> Mapping[str, Any] | None:
    written = read_call_args(call)
    return written if isinstance(written, dict) or written is None else {"arguments": written}


def _argument_text(value: Any) -> str:
    return value if isinstance(value, str) else write_canonical(value)
