"""Writes a run as an aggregate record of Every Eval Ever: results and what produced them; pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from fractions import Fraction
from typing import Any

from evalstore.runs.eee_write import PASS_RATE, SCORE, encode_dense, format_exact_score, write_score
from evalstore.runs.values import COUNTS, CheckSummary, Run, UsedArtifact

_METRICS = {
    SCORE: "mean score of the scored questions",
    PASS_RATE: "share of the scored questions that pass",
}
_SOURCE = {
    "source_name": "evalstore",
    "source_type": "evaluation_run",
    "source_organization_name": "unknown",
    "evaluator_relationship": "other",
}
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
            _format_result(
                run,
                PASS_RATE,
                run.pass_rate,
                {"evalstore_score": format_exact_score(run.pass_rate)},
            ),
        ],
    }


def _format_result(
    run: Run, metric: str, score: Fraction | None, details: Mapping[str, str]
) -> dict[str, Any]:
    return {
        "evaluation_result_id": metric,
        "evaluation_name": run.name,
        "source_data": {
            "dataset_name": run.name,
            "source_type": "other",
            "additional_details": {
                "evalstore_dataset": encode_dense(run.dataset and _format_used(run.dataset))
            },
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


def _format_used(pinned: UsedArtifact) -> dict[str, str | None]:
    """Return a pin as a mapping.

    `rows` is left out if unknown, so that earlier versions can read all other runs.
    """
    return {
        key: value for key, value in asdict(pinned).items() if key != "rows" or value is not None
    }


def _library_details(run: Run) -> dict[str, str]:
    return {
        "evalstore_harness": encode_dense(dict(run.harness)),
        "evalstore_commit": run.commit or "",
        "evalstore_rubrics": encode_dense([_format_used(pinned) for pinned in run.rubrics]),
        "evalstore_judges": encode_dense([_format_used(pinned) for pinned in run.judges]),
        "evalstore_outputs_sha256": run.outputs_sha256,
        "evalstore_samples": run.samples.name,
        **({"evalstore_log_status": run.log_status} if run.log_status else {}),
    }


def _score_details(run: Run) -> dict[str, str]:
    return {
        "evalstore_score": format_exact_score(run.score),
        **{f"evalstore_{name}": str(getattr(run, name)) for name in COUNTS},
        "evalstore_missing_outputs": encode_dense(dict(run.missing_outputs)),
        "evalstore_checks": encode_dense(
            {id_: _format_summary(check) for id_, check in run.checks.items()}
        ),
        "evalstore_notes": encode_dense(list(run.notes)),
        **(_format_rest(run) if run.is_withheld else {}),
    }


def _format_rest(run: Run) -> dict[str, str]:
    """Return what a run without a score has instead: what was not graded, and the rest's mean."""
    return {
        "evalstore_ungraded": run.ungraded,
        "evalstore_rest_score": format_exact_score(run.rest_score),
        "evalstore_rest_pass_rate": format_exact_score(run.rest_pass_rate),
    }


def _format_summary(check: CheckSummary) -> dict[str, Any]:
    fields = {**asdict(check), "mean": format_exact_score(check.mean)}
    idle = {key for key in ("partial", "hollow", "left_out") if not fields.get(key)}
    return {key: value for key, value in fields.items() if key not in idle}
