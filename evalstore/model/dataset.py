"""A dataset's questions, with the defaults of the dataset filled in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

# What a grader may read of a question; `input` is what the model saw.
REFERENCE = ("criteria", "context", "expected", "also_valid", "expected_facts", "expected_tools", "messages")
_DEFAULTS = ("rubric_ref", "bundle")


@dataclass(frozen=True, slots=True)
class Question:
    """One row: its id, its input, and the whole mapping as written with the defaults filled in."""

    id: str
    input: str
    row: Mapping[str, Any]

    @property
    def rubric_ref(self) -> str | None:
        """The reference of the rubric that grades this question."""
        ref: str | None = self.row.get("rubric_ref")
        return ref


def questions_of(value: Mapping[str, Any], rows: Iterable[Mapping[str, Any]] | None = None) -> Iterator[Question]:
    """Yield the questions of a dataset's mapping, or of `rows` read from the file beside it."""
    defaults = {key: item for key, item in value.get("defaults", {}).items() if key in _DEFAULTS}
    for row in value.get("questions", ()) if rows is None else rows:
        yield Question(row["id"], row["input"], {**defaults, **row})
