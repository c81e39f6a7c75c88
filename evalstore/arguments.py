"""Checks the types of what callers from Python give, so that a mistake is one sentence."""

from __future__ import annotations

from pathlib import Path

from evalstore.errors import ArgumentError

PATH = (str, Path)
NOTHING: type = type(None)


def require_types(function: str, **given: tuple[object, tuple[type, ...]]) -> None:
    """Refuse an argument of another type than a function takes: `given` has the value and the types by parameter."""
    for name, (value, expected) in given.items():
        if not isinstance(value, expected):
            raise ArgumentError.from_value(f"{function}: {name}", value, expected)
