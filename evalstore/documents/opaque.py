"""A value in another tool's file that no artifact can hold, with the text to write for it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from evalstore.errors import LoadError

# What is nested deeper than this is kept as a text: artifacts have room for twice as many levels.
OPAQUE_DEPTH = 32


@dataclass(frozen=True, slots=True)
class OpaqueValue:
    """A value that is carried along but never read.

    It is `NaN`, `-Infinity`, an infinite number, or deeply nested JSON.
    """

    text: str

    @property
    def description(self) -> str:
        """What it is, in words."""
        is_nested = self.text[:1] in {"[", "{"}
        return (
            f"nested deeper than {OPAQUE_DEPTH} levels"
            if is_nested
            else f"{self.text[:20]}, which is not a number"
        )


def write_flat(value: Any) -> str:
    """Return a value of any depth as one line of JSON; raises `LoadError` for a non-text key."""
    # A stack, because recursion would end within values that are as deep as legacy readers go.
    parts: list[str] = []
    waiting: list[Any] = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, OpaqueValue):
            parts.append(item.text)
        elif isinstance(item, dict):
            pairs = [[_format_key(key), child, _Token(",")] for key, child in item.items()]
            waiting += _reverse_parts("{", pairs, "}")
        elif isinstance(item, list):
            waiting += _reverse_parts("[", [[child, _Token(",")] for child in item], "]")
        elif isinstance(item, _Token):
            parts.append(item)
        else:
            parts.append(_format_scalar(item))
    return "".join(parts)


def parse_flat(text: str) -> Any:
    """Return the value from which `write_flat` made a text, with numbers as `OpaqueValue`."""
    return json.loads(
        text, parse_float=OpaqueValue, parse_int=OpaqueValue, parse_constant=OpaqueValue
    )


class _Token(str):
    """A piece of JSON that is written as it is."""

    __slots__ = ()


def _format_key(key: Any) -> _Token:
    if not isinstance(key, str):
        raise LoadError(f"below {OPAQUE_DEPTH} levels, the key {key} is not text")
    return _Token(f"{_format_scalar(key)}:")


def _format_scalar(value: Any) -> str:
    is_word = value is None or isinstance(value, str | bool)
    return json.dumps(value, ensure_ascii=False) if is_word else str(value)


def _reverse_parts(opening: str, entries: list[list[Any]], closing: str) -> list[Any]:
    inner = [part for entry in entries for part in entry][:-1]  # without the last comma
    return [_Token(closing), *reversed(inner), _Token(opening)]
