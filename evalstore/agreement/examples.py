"""Grades a rubric's or judge's examples, and asks its judges for missing replies."""

from __future__ import annotations

from dataclasses import dataclass

from evalstore.checks.examples import GradedExample, grade_examples
from evalstore.errors import RefusedError
from evalstore.model.example import EXAMPLES
from evalstore.scoring.grading import FloatingRefs, open_grading
from evalstore.scoring.judging import Judges
from evalstore.store import ArtifactStore


@dataclass(frozen=True, slots=True)
class ExampleResults:
    """The examples of `ref` with their results.

    `calls` to judges would grade those without a result.
    """

    ref: str
    examples: tuple[GradedExample, ...]
    calls: int

    @property
    def all_met(self) -> bool:
        """Whether every example was graded and got the expected result."""
        return all(one.result and not one.is_failed for one in self.examples)


def ask_examples(ref: str, store: ArtifactStore, judges: Judges) -> ExampleResults:
    """Return the results of a rubric's or judge's examples; every reply received is kept.

    Raises `RefusedError` if there is no example.
    """
    resolved = store.resolve(ref)
    artifact = resolved.artifact
    if not artifact.value.get(EXAMPLES):
        hint = "write some under `examples:`"
        raise RefusedError(
            f"this {resolved.kind} has no examples", place=artifact.document.locate(), hint=hint
        )
    with open_grading(store, judges, floating=FloatingRefs.TAKEN) as grading:
        graded = grading.session.repeat_until_answered(
            lambda: tuple(grade_examples(resolved.kind, artifact.value, grading.context))
        )
        return ExampleResults(resolved.ref, graded, len(grading.session.missing))
