"""Reads a reply by the keys that a judge names: the first text in braces, as YAML; pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from decimal import Decimal
from itertools import islice
from typing import Any

from evalstore.documents import read_javascript_value, read_legacy_json, read_legacy_yaml
from evalstore.errors import LoadError

OBJECT_LENGTH = 100_000  # characters of one object; a longer one is read as if it ended there
OBJECTS_TRIED = 100  # places in a reply at which an object may begin
PASSES = frozenset({"true", "yes", "pass", "y"})
_HALVES = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")
_BRACES = re.compile(r"[{}]")
_NUMBER = re.compile(
    r"\s*[+-]?(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})(?:[eE][+-]?[0-9]{1,3})?\s*"
)


def find_first_object(text: str) -> Mapping[str, Any] | None:
    """Return the first text in braces that is a YAML mapping; None if there is none.

    Braces are counted wherever they are, even in quotes; an unclosed one is closed at the end.
    """
    for start, end, missing in islice(_list_places(text), OBJECTS_TRIED):
        value = _read_object(text[start:end] + "}" * missing)
        if isinstance(value, dict):
            return value
    return None


def parse_object(text: str) -> Mapping[str, Any] | None:
    """Return a text that is a JSON mapping, as JavaScript reads it; None for any other."""
    with suppress(LoadError):  # a limit is such an error, too
        value = read_javascript_value(text)
        return value if isinstance(value, dict) else None
    return None


def join_texts(value: Any) -> str | None:
    """Return a list of texts as one text, each after `- ` on its own line, except the first.

    Returns None for anything but such a list, or if it has an empty text.
    """
    texts = value if isinstance(value, list) else []
    if not texts or not all(isinstance(text, str) and text.strip() for text in texts):
        return None
    return "\n- ".join(texts)


def _read_object(text: str) -> Any:
    # YAML's reader refuses the escapes of half a character that JSON writes.
    whole = _HALVES.sub(lambda halves: json.loads(f'"{halves[0]}"'), text)
    for read in (read_legacy_json, read_legacy_yaml):
        with suppress(LoadError):
            return read(whole, "reply").value
    return None


def _list_places(text: str) -> Iterator[tuple[int, int, int]]:
    """Yield where each brace opens and closes, and how many closing braces it lacks."""
    closes, opened = dict[int, int](), list[int]()
    for match in _BRACES.finditer(text):
        if match[0] == "{":
            opened.append(match.start())
        elif opened:
            closes[opened.pop()] = match.end()
    missing = {start: len(opened) - place for place, start in enumerate(opened)}
    for match in re.finditer(r"\{", text):
        start = match.start()
        limit = start + OBJECT_LENGTH
        if closes.get(start, limit + 1) <= limit:
            yield start, closes[start], 0
        elif start in missing and limit >= len(text):
            yield start, len(text), missing[start]


def read_verdict(value: Any) -> bool:
    """Return what the value of a verdict means: a few words pass, anything else fails."""
    return value if isinstance(value, bool) else str(value).lower() in PASSES


def read_score(value: Any) -> int | Decimal | None:
    """Return the number in a score's value: 0 for nothing, None for anything but a number."""
    if value is None or value == "":
        return 0
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, str):
        return Decimal(value.strip()) if _NUMBER.fullmatch(value) else None
    return value if isinstance(value, int | Decimal) else None


def read_level(value: Any, levels: Mapping[str, Any]) -> str | None:
    """Return the level that a text names, ignoring case; None if it names none."""
    name = value.strip().lower() if isinstance(value, str) else None
    return next((level for level in levels if level.lower() == name), None)
