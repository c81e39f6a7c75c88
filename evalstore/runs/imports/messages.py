"""Reads the messages of a chat, in the form of any known API, as an output; opens no file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from evalstore.errors import Place
from evalstore.model import Output
from evalstore.model.outcome import read_output_end
from evalstore.runs.imports.entry import describe_unexpected_shape, read_asked
from evalstore.runs.tool_calls import collect_calls

_ASSISTANTS = frozenset({"assistant", "ai", "model"})
_CALLS = ("tool_calls", "toolCalls")


def read_chat_output(messages: Any, place: Place, end: Any = None) -> Output | None:
    """Return the assistant's last text with the calls of all messages; None if it has neither."""
    if not isinstance(messages, list) or not all(isinstance(one, dict) for one in messages):
        raise describe_unexpected_shape("a list of messages", place)
    said = [one for one in messages if one.get("role", one.get("type")) in _ASSISTANTS]
    if not said:
        return None
    text = next(filter(None, map(read_asked, reversed(said))), "")
    listed = [{"tool_calls": list(_list_calls(one))} for one in said if _has_calls(one)]
    calls = collect_calls(listed, place)
    return Output(text, calls, read_output_end(end)) if text or calls else None


def read_last_question(messages: Any) -> str:
    """Return the user's last text in the messages; empty if there is none."""
    several = messages if isinstance(messages, list) else []
    asked = [
        one for one in several if isinstance(one, dict) and one.get("role") in {"user", "human"}
    ]
    return next(filter(None, map(read_asked, reversed(asked))), "")


def _has_calls(message: Mapping[str, Any]) -> bool:
    return any(message.get(key) is not None for key in _CALLS) or any(_list_parts(message))


def _list_calls(message: Mapping[str, Any]) -> Iterator[Any]:
    for key in _CALLS:
        several = message.get(key)
        yield from several if isinstance(several, list) else ()
    yield from _list_parts(message)


def _list_parts(message: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the calls among the parts of a message's content, where Anthropic writes them."""
    content = message.get("content")
    for part in content if isinstance(content, list) else ():
        if isinstance(part, dict) and part.get("type") == "tool_use":
            yield {"name": part.get("name"), "args": part.get("input")}
