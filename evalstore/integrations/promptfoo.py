"""evalstore within promptfoo: `get_assert`, for an assertion of type python.

In a file of one's own, which the assertion names, with the rubric in its config:

    from evalstore.integrations.promptfoo import get_assert
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from evalstore.errors import UsageError
from evalstore.integrations.rubric_scorer import RubricScorer, scorer
from evalstore.model import CheckResult, Verdict
from evalstore.model.question import is_read_by_checks


def get_assert(output: str, context: Mapping[str, Any]) -> dict[str, Any]:
    """Grade an output by the rubric that the assertion's config names.

    The config is `{rubric: rubric/x@1.2, store: path}`. The variables are the keys of the question:
    `input` (else the prompt), `expected`, and whatever else a check takes from the question. An
    output without a score fails with 0, because promptfoo has no other word. It also fails if a
    check could not grade; the reason says so. Raises `UsageError` for a config without a rubric.
    """
    config = context.get("config") or {}
    if not isinstance(config.get("rubric"), str):
        raise UsageError(
            "the config of the assertion names no rubric",
            hint="config: {rubric: rubric/x@1.2, store: .}",
        )
    variables = context.get("vars") or {}
    asked = str(variables.get("input", context.get("prompt", "")))
    question = {key: item for key, item in variables.items() if is_read_by_checks(key)}
    graded = _load_scorer(config["rubric"], str(config.get("store", "."))).grade(
        output, {"input": asked, **question}
    )
    return {
        "pass": graded.surely_passed,
        "score": float(graded.score or 0),
        "reason": graded.reason,
        "named_scores": {
            check.id: float(check.score) for check in graded.checks if check.score is not None
        },
        "component_results": [_make_component(check) for check in graded.checks],
        "metadata": {"rubric": graded.ref, "digest": graded.digest},
    }


@lru_cache(maxsize=64)
def _load_scorer(rubric: str, store: str) -> RubricScorer:
    return scorer(rubric, store=store)


def _make_component(check: CheckResult) -> dict[str, Any]:
    return {
        "pass": check.verdict is Verdict.PASS,
        "score": float(check.score or 0),
        "reason": f"{check.id}: {check.verdict}: {check.reason}",
    }
