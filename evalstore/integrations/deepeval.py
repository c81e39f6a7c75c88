"""evalstore inside DeepEval: a metric that grades by a rubric from a store."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from deepeval.metrics import BaseMetric
from deepeval.test_case import LLMTestCase

from evalstore.integrations.rubric_scorer import RubricScorer, scorer
from evalstore.model.question import is_read_by_checks
from evalstore.scoring.judging import Judges
from evalstore.store import OpenedStore


class RubricMetric(BaseMetric):  # type: ignore[misc]  # ships no types
    """A metric whose score is a rubric's, and which succeeds if the rubric passes.

    It reads `input`, `expected_output`, `context` and `tools_called` of a test case, and its
    `metadata` as further keys of the question, for checks that take a value from there. A test case
    that cannot be scored has no score, and an `error` that says why; it does not succeed.
    """

    def __init__(
        self,
        rubric: str | RubricScorer,
        *,
        store: OpenedStore | Path | str = ".",
        judges: Judges | None = None,
    ) -> None:
        # `evaluate` creates the metric again for each test case, from the arguments that it finds
        # as attributes: only the scorer says which store, which version and which judges.
        self.rubric = (
            rubric
            if isinstance(rubric, RubricScorer)
            else scorer(rubric, store=store, judges=judges)
        )
        self.threshold = float(self.rubric.released.threshold)
        self.async_mode = False

    def measure(self, test_case: LLMTestCase, *_: Any, **__: Any) -> float | None:
        """Grade a test case; store score, reason, success and error, and return the score."""
        tools = test_case.tools_called
        calls = [{"name": one.name, "args": one.input_parameters or {}} for one in tools or ()]
        further = getattr(test_case, "metadata", None) or {}  # which earlier releases lack
        known = {"input": str(test_case.input)}
        if test_case.expected_output is not None:
            known["expected"] = test_case.expected_output
        if test_case.context:
            known["context"] = "\n".join(test_case.context)
        question = {key: item for key, item in further.items() if is_read_by_checks(key)} | known
        output = test_case.actual_output or ""
        graded = self.rubric.grade(output, question, None if tools is None else calls)
        self.score = None if graded.score is None else float(graded.score)
        self.reason, self.success = graded.reason, graded.surely_passed
        self.error = graded.reason if graded.score is None else None
        return self.score

    async def a_measure(self, test_case: LLMTestCase, *_: Any, **__: Any) -> float | None:
        """Do the same; judges are asked in this thread."""
        return self.measure(test_case)

    def is_successful(self) -> bool:
        """Whether the last test case passed."""
        return bool(self.success)

    @property
    def __name__(self) -> str:
        return self.rubric.released.pin.ref
