"""Reads the JSONPath queries (RFC 9535) that name at most one value, such as `$.items[0].name`."""

from __future__ import annotations

import json
import re
from typing import Any

# A name after a dot, a quoted name in brackets, or an index in brackets (RFC 9535, 2.3.5.1).
_NAME = r"[^\x00-@\[-^`{-\x7f][^\x00-/:-@\[-^`{-\x7f]*"  # by what it must not have: compiles faster
_SEGMENT = re.compile(
    rf"""\.(?P<name>{_NAME})
    | \[\s*(?: "(?P<double>(?:[^"\\]|\\.)*)" | '(?P<single>(?:[^'\\]|\\.)*)'
             | (?P<index>0|-?[1-9][0-9]{{0,15}}) )\s*\]""",
    re.VERBOSE,
)

# A key of an object, or a position in a list, counted from its end if negative.
JsonStep = str | int
_NOTHING = object()


def parse_json_path(path: str) -> tuple[JsonStep, ...] | None:
    """Return the steps of a singular query; None for any other text."""
    if not path.startswith("$"):
        return None
    steps: list[JsonStep] = []
    at = 1
    while at < len(path):
        found = _SEGMENT.match(path, at)
        step = _read_segment(found) if found else None
        if found is None or step is None:
            return None
        steps.append(step)
        at = found.end()
    return tuple(steps)


def _read_segment(found: re.Match[str]) -> JsonStep | None:
    if found["index"] is not None:
        return int(found["index"])
    if found["name"] is not None:
        return found["name"]
    quoted = found["double"]
    if quoted is None:
        # The same text between double quotes: the two quotation marks change places.
        quoted = re.sub(r"\\.|\"", _requote, found["single"])
    try:
        name: str = json.loads(f'"{quoted}"')
    except ValueError:
        return None
    return name


def _requote(mark: re.Match[str]) -> str:
    return {'"': '\\"', "\\'": "'"}.get(mark[0], mark[0])


def find_json_values(value: Any, steps: tuple[JsonStep, ...]) -> list[Any]:
    """Return a list with the one value that the steps lead to; empty if there is none."""
    for step in steps:
        value = _take_step(value, step)
        if value is _NOTHING:
            return []
    return [value]


def _take_step(value: Any, step: JsonStep) -> Any:
    if isinstance(step, str):
        return value.get(step, _NOTHING) if isinstance(value, dict) else _NOTHING
    if not isinstance(value, list) or not -len(value) <= step < len(value):
        return _NOTHING
    return value[step]
