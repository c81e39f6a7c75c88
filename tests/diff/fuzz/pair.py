"""What is drawn: two sides of one artifact, the artifacts that they refer to, and samples to grade under both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from evalstore.diff import Witness
from evalstore.documents import Document
from evalstore.errors import RefError
from evalstore.model import Artifact, Output, Question, parse_ref
from evalstore.model.measures import Measures

Value = dict[str, Any]
# What a reference that floats means today.
FLOATING = {"rubric/inner@^1": "rubric/inner@1.1.0", "judge/j@^1": "judge/j@1.1.0", "judge/j": "judge/j@1.1.0"}


@dataclass(frozen=True, slots=True)
class Pair:
    """Two sides, plain mappings, and what can be loaded by reference."""

    old: Value
    new: Value
    refs: Mapping[str, Value] = field(default_factory=dict)

    def load(self, ref: str) -> Artifact:
        """Return what a reference names; raises `RefError`."""
        value = self.refs.get(FLOATING.get(ref, ref))
        if value is None:
            raise RefError(f"{ref} is not there")
        return Artifact(parse_ref(ref).kind, value["id"], value["version"], Document(ref, "", value, {}, {}))


RECORDED = (None, Decimal(0), Decimal(1), Decimal("1.75"), Decimal(2))


@dataclass(frozen=True, slots=True)
class Drawn:
    """One output with its question, and how judges answer: from one family of replies, drawn by a salt."""

    text: str
    calls: list[Value] | None = None
    question: Value | None = None
    replies: str = "scores"
    salt: int = 0
    measures: Measures | None = None  # None: drawn by the salt

    @classmethod
    def from_witness(cls, shown: Witness) -> Drawn:
        """Return what a witness shows."""
        calls = None if shown.tool_calls is None else [dict(call) for call in shown.tool_calls]
        question = None if shown.question is None else dict(shown.question)
        return cls(shown.output, calls, question, measures=shown.measures)

    def output(self) -> Output:
        """Return the output."""
        calls = None if self.calls is None else tuple(self.calls)
        numbers = (RECORDED[self.salt // len(RECORDED) ** place % len(RECORDED)] for place in range(4))
        return Output(self.text, calls, measures=self.measures or Measures(*numbers))

    def asked(self) -> Question | None:
        """Return the question."""
        row = self.question
        return None if row is None else Question(row["id"], row["input"], row)
