"""The references that an artifact holds, and where; reads any shape, because validation asks before all else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from evalstore.documents import Pointer
from evalstore.model.refs import Kind

Pin = tuple[Pointer, str]


def pins_of(kind: Kind, value: Any) -> Iterator[Pin]:
    """Yield every reference of an artifact's mapping with its pointer, in the order of the file."""
    if kind is Kind.RUBRIC:
        for index, check in _items(value, "checks"):
            yield from check_pins(("checks", index), check)
    elif kind is Kind.JUDGE:
        yield from _text(("validation",), _get(value, "validation"), "validated_against")
    else:
        yield from _text(("defaults",), _get(value, "defaults"), "rubric_ref")
        for index, question in _items(value, "questions"):
            yield from _text(("questions", index), question, "rubric_ref")


def check_pins(pointer: Pointer, check: Any) -> Iterator[Pin]:
    """Yield every reference of the check at `pointer`."""
    for key in ("judge_prompt_ref", "rubric_ref"):
        yield from _text(pointer, check, key)
    for index, member in _items(_get(check, "jury"), "members"):
        yield from _text((*pointer, "jury", "members", index), member, "judge_prompt_ref")


def _text(pointer: Pointer, value: Any, key: str) -> Iterator[Pin]:
    if isinstance(text := _get(value, key), str):
        yield (*pointer, key), text


def _items(value: Any, key: str) -> Iterator[tuple[int, Any]]:
    items = _get(value, key)
    return enumerate(items if isinstance(items, list) else ())


def _get(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None
