"""A dataset's questions, with the defaults of the dataset filled in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from evalstore.documents import compute_digest

# What the model saw; an edit of it moves a score through the outputs. And what else a grader may read.
INPUT_KEYS = ("input", "messages")
REFERENCE_KEYS = ("criteria", "context", "expected", "also_valid", "expected_facts", "expected_tools")
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

    @property
    def input_digest(self) -> str:
        """SHA-256 over what the model saw."""
        return self._digest(INPUT_KEYS)

    @property
    def reference_digest(self) -> str:
        """SHA-256 over what else a grader may read."""
        return self._digest(REFERENCE_KEYS)

    def _digest(self, keys: tuple[str, ...]) -> str:
        return compute_digest({key: self.row[key] for key in keys if key in self.row})


def iterate_questions(value: Mapping[str, Any], rows: Iterable[Mapping[str, Any]] | None = None) -> Iterator[Question]:
    """Yield the questions of a dataset's mapping, or of `rows` read from the file beside it."""
    defaults = {key: item for key, item in value.get("defaults", {}).items() if key in _DEFAULTS}
    # A row's own keys win over the defaults of the dataset.
    for row in value.get("questions", ()) if rows is None else rows:
        yield Question(row["id"], row["input"], {**defaults, **row})
