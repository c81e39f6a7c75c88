"""Readers of the parameters of checks: each brings a value to its one spelling, or refuses what the schema refuses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

Params = Mapping[str, Any]
Typed = TypeVar("Typed")
REQUIRED: Any = ...  # the default of a parameter that has none


class UnreadableError(ValueError):
    """A value that the schema refuses; its document is then compared as plain data, and fails closed."""


def read_text(value: Any) -> str:
    """Return a text."""
    return read_typed(value, str)


def read_switch(value: Any) -> bool:
    """Return true or false."""
    return read_typed(value, bool)


def read_integer(value: Any) -> int:
    """Return an integer; 2.0 is one."""
    if isinstance(value, bool) or not hasattr(value, "as_integer_ratio") or value != int(value):
        raise UnreadableError(f"{value!r} is not an integer")
    return int(value)


def read_count(value: Any) -> int:
    """Return an integer that is not negative."""
    if (number := read_integer(value)) < 0:
        raise UnreadableError(f"{number} is below 0")
    return number


def read_texts(value: Any) -> list[str]:
    """Return a list of texts."""
    return [read_text(item) for item in read_typed(value, list)]


def read_mapping(value: Any) -> dict[str, Any]:
    """Return a mapping as it is."""
    return read_typed(value, dict)


def read_one_of(*words: str) -> Callable[[Any], str]:
    """Return a reader of one of `words`."""

    def read(value: Any) -> str:
        if value not in words:
            raise UnreadableError(f"{value!r} is not one of {words}")
        return read_text(value)

    return read


def read_typed(value: Any, type_: type[Typed]) -> Typed:
    """Return a value of exactly this type: a bool is not an int."""
    if type(value) is not type_:
        raise UnreadableError(f"{value!r} is not a {type_.__name__}")
    return value
