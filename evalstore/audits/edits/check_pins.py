"""Removes the pins from the references of a rubric's checks, and inserts others; pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from evalstore.documents.edit import replace_value
from evalstore.model import Check, Rubric, find_check_pins


def _keep_name(name: str) -> str:
    return name


def remove_rubric_pins(rubric: Rubric, find_name: Callable[[str], str] = _keep_name) -> Rubric:
    """Return the rubric with the names of what its checks refer to, without pins.

    `find_name` returns the same name for all names of a renamed artifact.
    """
    return replace(
        rubric, checks=tuple(remove_check_pins(check, find_name) for check in rubric.checks)
    )


def remove_check_pins(check: Check, find_name: Callable[[str], str] = _keep_name) -> Check:
    """Return a check without pins.

    The second reference to the same judge is `judge/<id>#2`, and so on.
    """
    slots = iter(list_slots(check, find_name))
    return replace_pins(check, lambda _: next(slots)[0])


def list_slots(
    check: Check, find_name: Callable[[str], str] = _keep_name
) -> Iterator[tuple[str, str]]:
    """Yield each reference of a check: its name without the pin, and its text.

    A repeated name is numbered.
    """
    seen: Counter[str] = Counter()
    for _, ref in find_check_pins((), check.params):
        name = find_name(ref.partition("@")[0])
        seen[name] += 1
        yield (name if seen[name] == 1 else f"{name}#{seen[name]}"), ref


def insert_check_pins(check: Check, tokens: Mapping[str, str]) -> Check:
    """Return a check without pins as one with `tokens`, by the names of its references."""
    return replace_pins(check, lambda name: tokens.get(name, name))


def replace_pins(check: Check, change: Callable[[str], str]) -> Check:
    """Return the check with `change` applied to each of its references, in order."""
    params: Any = check.params
    for pointer, ref in find_check_pins((), check.params):
        params = replace_value(params, pointer, change(ref))
    return check if params is check.params else replace(check, params=params)
