"""Formats a run as Every Eval Ever data; pure, and the only place that knows which field goes where.

What is written is valid under each of `LABELS`: the versions do not differ in anything that a run of evalstore holds.

The published schemas are closed and allow only text in their free places, so what is evalstore's own stands there as
text: exact scores as `2/3`, lists and mappings as JSON. A `score` must be a number: a row without one has -1, the
format's own word for unknown, outside the declared bounds; its `evalstore_score` is empty and no mean counts it.
`detailed_evaluation_results` is left out, because its path must lie in another project's data folder; the rows lie
beside the aggregate, in the file that `evalstore_samples` names.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from fractions import Fraction
from typing import Any

from evalstore.runs.values import LATEST, CheckSummary, Run

# version -> the label of its rows; until 0.2.3 it had a prefix, which the label of an aggregate never had.
LABELS = {LATEST: LATEST, "0.2.2": "instance_level_eval_0.2.2"}
UNKNOWN = -1
SCORE, PASS_RATE = "score", "pass_rate"
_METRICS = {SCORE: "mean score of the scored questions", PASS_RATE: "share of the scored questions that pass"}
_SOURCE = {
    "source_name": "evalstore",
    "source_type": "evaluation_run",
    "source_organization_name": "unknown",
    "evaluator_relationship": "other",
}
# Encoders are made once: `json.dumps` makes one for every call that is not its default.
_encode_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_sorted_json = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode
_MODEL_DETAILS = {"deployment_type": "unknown", "model_availability": "unknown"}


def format_aggregate(run: Run) -> dict[str, Any]:
    """Return a run as an aggregate record with two results, the mean score and the pass rate."""
    return {
        "schema_version": run.eee_version,
        "evaluation_id": run.id,
        "evaluation_timestamp": run.at,
        "retrieved_timestamp": run.at,
        "source_metadata": _SOURCE,
        "eval_library": {
            "name": "evalstore",
            "version": run.harness["evalstore"],
            "additional_details": _library_details(run),
        },
        "model_info": {"name": run.model, "id": run.model, "additional_details": _MODEL_DETAILS},
        "evaluation_results": [
            _format_result(run, SCORE, run.score, _score_details(run)),
            _format_result(run, PASS_RATE, run.pass_rate, {"evalstore_score": format_exact_score(run.pass_rate)}),
        ],
    }


def format_exact_score(score: Fraction | None) -> str:
    """Write an exact score as `2/3`; empty for none."""
    return "" if score is None else str(score)


def _format_result(run: Run, metric: str, score: Fraction | None, details: Mapping[str, str]) -> dict[str, Any]:
    return {
        "evaluation_result_id": metric,
        "evaluation_name": run.name,
        "source_data": {
            "dataset_name": run.name,
            "source_type": "other",
            "additional_details": {"evalstore_dataset": _encode_json(run.dataset and asdict(run.dataset))},
        },
        "metric_config": {
            "evaluation_description": _METRICS[metric],
            "metric_id": f"evalstore.{metric}",
            "metric_name": metric,
            "metric_kind": metric,
            "metric_unit": "proportion",
            "lower_is_better": False,
            "score_type": "continuous",
            "min_score": 0,
            "max_score": 1,
        },
        "score_details": {"score": write_score(score), "details": dict(details)},
    }


def _library_details(run: Run) -> dict[str, str]:
    return {
        "evalstore_harness": _encode_json(dict(run.harness)),
        "evalstore_commit": run.commit or "",
        "evalstore_rubrics": _encode_json([asdict(pinned) for pinned in run.rubrics]),
        "evalstore_judges": _encode_json([asdict(pinned) for pinned in run.judges]),
        "evalstore_outputs_sha256": run.outputs_sha256,
        "evalstore_samples": run.samples.name,
    }


def _score_details(run: Run) -> dict[str, str]:
    return {
        "evalstore_score": format_exact_score(run.score),
        "evalstore_scored": str(run.scored),
        "evalstore_unscored": str(run.unscored),
        "evalstore_without_output": str(run.without_output),
        "evalstore_without_question": str(run.without_question),
        "evalstore_outputs": str(run.outputs),
        "evalstore_missing_outputs": _encode_json(dict(run.missing_outputs)),
        "evalstore_checks": _encode_json({id_: _format_summary(check) for id_, check in run.checks.items()}),
        "evalstore_notes": _encode_json(list(run.notes)),
    }


def _format_summary(check: CheckSummary) -> dict[str, Any]:
    return {**asdict(check), "mean": format_exact_score(check.mean)}


def write_score(score: Fraction | None) -> float:
    """Return a score as the format has it: a number, -1 for none."""
    return UNKNOWN if score is None else float(score)
