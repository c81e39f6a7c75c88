"""Writes a plain value as an outline of lines, and a small one on a single line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from evalstore.documents import write_canonical
from evalstore.text import make_printable

_WORDS = re.compile(r"(?!(?:true|false|null|yes|no)\b)[A-Za-z_][\w ./@#$-]*")


def format_value_outline(value: Any, short: int) -> Iterator[str]:
    """Yield the lines of a value.

    A mapping or list of at most `short` characters is on one line.
    """
    if not isinstance(value, dict | list) or not value or len(format_flow(value)) <= short:
        yield from _leaf_lines(value)
        return
    names = (
        [f"{make_printable(key)}:" for key in value]
        if isinstance(value, dict)
        else ["-"] * len(value)
    )
    for name, item in zip(names, value.values() if isinstance(value, dict) else value, strict=True):
        lines = list(format_value_outline(item, short))
        if lines == [format_flow(item)]:
            yield f"{name} {lines[0]}"
        else:
            yield f"{name}{_block_mark(item)}"
            yield from (f"  {line}" for line in lines)


def format_flow(value: Any) -> str:
    """Write a value on one line, as in YAML.

    A text is quoted only if YAML could read it as another value.
    """
    if isinstance(value, dict):
        return (
            "{"
            + ", ".join(
                f"{make_printable(key)}: {format_flow(item)}" for key, item in value.items()
            )
            + "}"
        )
    if isinstance(value, list):
        return "[" + ", ".join(map(format_flow, value)) + "]"
    return (
        value
        if isinstance(value, str) and _WORDS.fullmatch(value)
        else make_printable(write_canonical(value))
    )


def _block_mark(value: Any) -> str:
    # As in YAML, `|` keeps the last line break of a block of text and `|-` drops it.
    if not isinstance(value, str):
        return ""
    return " |" if value.endswith("\n") else " |-"


def _leaf_lines(value: Any) -> list[str]:
    if isinstance(value, str) and "\n" in value.strip("\n"):
        return [make_printable(line) for line in value.removesuffix("\n").split("\n")]
    return [format_flow(value)]
