"""evalstore inside MLflow: a scorer for `mlflow.genai.evaluate` that names the rubric's version."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mlflow.entities import AssessmentSource, Feedback
from mlflow.genai.scorers import scorer as _register

from evalstore.integrations.rubric_scorer import Graded, scorer
from evalstore.scoring.judging import Judges
from evalstore.store import OpenedStore

_INPUTS = ("input", "question", "query", "prompt")


def make_mlflow_scorer(
    rubric: str,
    *,
    store: OpenedStore | Path | str = ".",
    judges: Judges | None = None,
    name: str | None = None,
) -> Any:
    """Return a scorer for MLflow.

    Its feedback has the score in [0, 1], the reason, and the rubric's reference and digest. The
    question's input is the key input, question, query or prompt of `inputs`; `expectations` are
    keys of a question, with `expected_response` as `expected`. Without a score the feedback has no
    value and says why.
    """
    grade = scorer(rubric, store=store, judges=judges)

    def rubric_feedback(
        inputs: Mapping[str, Any], outputs: Any, expectations: Mapping[str, Any] | None = None
    ) -> Feedback:
        asked = next((str(inputs[key]) for key in _INPUTS if key in inputs), "")
        question = {"input": asked, **(expectations or {})}
        if "expected_response" in question:
            question.setdefault("expected", question.pop("expected_response"))
        return _make_feedback(grade.grade(_read_text(outputs), question), title)

    title = name or rubric.partition("@")[0]
    register: Callable[..., Any] = _register
    return register(rubric_feedback, name=title)


def _make_feedback(graded: Graded, name: str) -> Feedback:
    return Feedback(
        name=name,
        value=None if graded.score is None else float(graded.score),
        rationale=graded.reason,
        source=AssessmentSource(source_type="CODE", source_id=graded.ref),
        metadata={"rubric": graded.ref, "digest": graded.digest, "passed": str(graded.passed)},
    )


def _read_text(outputs: Any) -> str:
    if isinstance(outputs, Mapping):
        return str(
            next(
                (outputs[key] for key in ("output", "response", "answer") if key in outputs),
                outputs,
            )
        )
    return str(outputs)
