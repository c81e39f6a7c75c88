"""must_not_contain: none of the values is a substring of the output."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from evalstore.documents import Pointer
from evalstore.model import Graded, Output, Question
from evalstore.model.outcome import binary
from evalstore.text import excerpt


def grade(params: Mapping[str, Any], output: Output, question: Question | None) -> Graded:  # noqa: ARG001  # every kind's door
    """Look for the first value that is in the output; nothing is trimmed or normalised."""
    text, values = output.text, params["values"]
    if params.get("case_sensitive", False):
        found = next((value for value in values if value in text), None)
    else:
        text = text.lower()
        found = next((value for value in values if value.lower() in text), None)
    return binary(found is None, "none of the values found" if found is None else f"found {excerpt(found)!r}")


def problems(params: Mapping[str, Any]) -> Iterator[tuple[Pointer, str, str]]:
    """Yield the values that every output holds."""
    for index, value in enumerate(params["values"]):
        if value == "":
            yield ("values", index), "an empty text is in every output, so nothing passes", "remove the empty value"
