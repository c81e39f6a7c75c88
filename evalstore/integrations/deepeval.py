"""evalstore within DeepEval: a metric that grades by a rubric of a store."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from deepeval.metrics import BaseMetric
from deepeval.test_case import LLMTestCase

from evalstore.integrations.rubric_scorer import scorer
from evalstore.judging import Judges
from evalstore.store import ArtifactStore


class RubricMetric(BaseMetric):  # type: ignore[misc]  # ships no types
    """A metric whose score is that of a rubric, and which is met where the rubric passes.

    `input`, `expected_output`, `context` and `tools_called` of a test case are read. A test case without a score has
    the score 0 and is not met, as DeepEval has no other word; the reason says so.
    """

    def __init__(self, rubric: str, *, store: ArtifactStore | Path | str = ".", judges: Judges | None = None) -> None:
        self.grade = scorer(rubric, store=store, judges=judges)
        self.rubric = self.grade.ruler.pin.ref
        self.threshold = float(self.grade.ruler.threshold)
        self.score, self.reason, self.success = 0.0, "", False
        self.async_mode = False

    def measure(self, test_case: LLMTestCase, *_: Any, **__: Any) -> float:
        """Grade a test case; keeps score, reason and success, and returns the score."""
        calls = [{"name": call.name, "args": call.input_parameters or {}} for call in test_case.tools_called or ()]
        graded = self.grade(
            test_case.actual_output or "",
            input=str(test_case.input),
            expected=test_case.expected_output,
            tool_calls=None if test_case.tools_called is None else calls,
            **({"context": "\n".join(test_case.context)} if test_case.context else {}),
        )
        self.score, self.reason, self.success = float(graded.score or 0), graded.reason, graded.surely_passed
        return self.score

    async def a_measure(self, test_case: LLMTestCase, *_: Any, **__: Any) -> float:
        """Do the same; judges are asked in this thread."""
        return self.measure(test_case)

    def is_successful(self) -> bool:
        """Whether the last test case passed."""
        return self.success

    @property
    def __name__(self) -> str:
        return self.rubric
