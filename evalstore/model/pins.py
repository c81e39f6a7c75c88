"""Finds the references in an artifact's mapping."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from evalstore.documents import Pointer
from evalstore.model.refs import Kind

Pin = tuple[Pointer, str]
_PINNING = frozenset({"judge_prompt_ref", "rubric_ref", "jury"})


def find_pins(kind: Kind, value: Any) -> Iterator[Pin]:
    """Yield every reference in an artifact's mapping with its pointer, in file order."""
    # Any shape is accepted: anything but a mapping, list or text has no references.
    if kind is Kind.RUBRIC:
        for index, check in _list_items(value, "checks"):
            yield from find_check_pins(("checks", index), check)
    elif kind is Kind.JUDGE:
        yield from _find_pin(("validation",), _get_key(value, "validation"), "validated_against")
    else:
        yield from _find_pin(("defaults",), _get_key(value, "defaults"), "rubric_ref")
        for index, question in _list_items(value, "questions"):
            yield from _find_pin(("questions", index), question, "rubric_ref")


def find_check_pins(pointer: Pointer, check: Any) -> Iterator[Pin]:
    """Yield every reference in the check at `pointer`."""
    if not isinstance(check, dict) or _PINNING.isdisjoint(check):  # few checks have any
        return
    for key in ("judge_prompt_ref", "rubric_ref"):
        yield from _find_pin(pointer, check, key)
    for index, member in _list_items(_get_key(check, "jury"), "members"):
        yield from _find_pin((*pointer, "jury", "members", index), member, "judge_prompt_ref")


def _find_pin(pointer: Pointer, value: Any, key: str) -> Iterator[Pin]:
    if isinstance(text := _get_key(value, key), str):
        yield (*pointer, key), text


def _list_items(value: Any, key: str) -> Iterator[tuple[int, Any]]:
    items = _get_key(value, key)
    return enumerate(items if isinstance(items, list) else ())


def _get_key(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None
