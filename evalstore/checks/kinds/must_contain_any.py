"""must_contain_any: at least `min_matches` of the values are substrings of the output."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from evalstore.documents import Pointer
from evalstore.model import Graded, Output, Question
from evalstore.model.outcome import binary


def grade(params: Mapping[str, Any], output: Output, question: Question | None) -> Graded:  # noqa: ARG001  # every kind's door
    """Count the values found, each once however often it is listed; nothing is trimmed or normalised."""
    text, values = output.text, dict.fromkeys(params["values"])
    if params.get("case_sensitive", False):
        found = sum(value in text for value in values)
    else:
        text = text.lower()
        found = sum(value.lower() in text for value in values)
    needed = params.get("min_matches", 1)
    return binary(found >= needed, f"{found} of {len(values)} values found, {needed} needed")


def problems(params: Mapping[str, Any]) -> Iterator[tuple[Pointer, str, str]]:
    """Yield what makes the check impossible to pass."""
    different, needed = len(set(params["values"])), params.get("min_matches", 1)
    if needed > different:
        message = f"min_matches is {needed} but there are only {different} different values, so nothing passes"
        yield ("min_matches",), message, f"lower it to {different} or add values"
