"""Reads the results of an aggregate: rubrics and judges for those that models scored, notes on all others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from evalstore.documents import Pointer
from evalstore.migration.extraction import ArtifactDraft, LegacyCase, MigrationNote
from evalstore.migration.outcome import MigrationOutcome
from evalstore.migration.readers.every_eval_ever.judged import ResultRubric, build_result_rubric
from evalstore.migration.readers.every_eval_ever.numbers import is_number
from evalstore.migration.words import describe_type
from evalstore.runs.labels import aggregate_doubt
from evalstore.runs.shape import within
from evalstore.text import make_excerpt

SAMPLES = "detailed_evaluation_results_per_samples"
_ALONE = "a score without the rows behind it: it is kept in the run, and nothing can grade it again"
_UNKNOWN = -1

Result = tuple[Pointer, Any, ResultRubric | str | None]


def pair_results(root: Mapping[str, Any], form: Mapping[str, Any]) -> list[Result]:
    """Return each result with its rubric, or why it can have none."""
    pairs: list[Result] = []
    for index, result in enumerate(root["evaluation_results"]):
        pointer = ("evaluation_results", index)
        problem = f"the result is {describe_type(result)} where an object belongs; it is kept in the run"
        pairs.append(
            (pointer, result, build_result_rubric(result, pointer, form) if isinstance(result, dict) else problem)
        )
    return pairs


def list_rubrics(results: Iterable[Result]) -> tuple[tuple[LegacyCase, ...], tuple[ArtifactDraft, ...]]:
    """Return a rubric case for each result that models scored, and their judges, each once."""
    with_rubric = [(pointer, result, ruler) for pointer, result, ruler in results if isinstance(ruler, ResultRubric)]
    cases = tuple(
        LegacyCase(
            pointer, result, MigrationOutcome.LOSSY, (*ruler.reasons, *_describe_odd_score(result)), rubric=ruler.rubric
        )
        for pointer, result, ruler in with_rubric
    )
    judges = {judge.ref: judge for _, _, ruler in reversed(with_rubric) for judge in reversed(ruler.judges)}
    return cases, tuple(reversed(judges.values()))


def find_result_notes(root: Mapping[str, Any], results: Iterable[Result]) -> Iterator[MigrationNote]:
    """Yield a note on every result without a rubric, and on a schema version that the aggregate does not fit."""
    if doubt := aggregate_doubt(root):
        yield MigrationNote(("schema_version",), MigrationOutcome.MIGRATED, doubt, in_run=True)
    if not root["evaluation_results"]:
        yield MigrationNote(("evaluation_results",), MigrationOutcome.UNMAPPED, "it has no result; it is kept as a run")
    with_rows = isinstance(root.get(SAMPLES), list) or bool(within(root, "detailed_evaluation_results"))
    for pointer, result, ruler in results:
        if isinstance(ruler, ResultRubric):
            continue
        has_rows = with_rows and not ruler
        reasons = [ruler or ("" if with_rows else _ALONE), *_describe_odd_score(result)]
        outcome = MigrationOutcome.MIGRATED if has_rows else MigrationOutcome.UNMAPPED
        yield MigrationNote(pointer, outcome, "; ".join(filter(None, reasons)), in_run=has_rows)


def _describe_odd_score(result: Any) -> Iterator[str]:
    """Yield a sentence on a score that its metric cannot give."""
    metric, details = within(result, "metric_config"), within(result, "score_details")
    score, low, high = details.get("score"), metric.get("min_score"), metric.get("max_score")
    if not is_number(score):
        return
    below = low == "Infinity" or (is_number(low) and score < low)
    above = high == "-Infinity" or (is_number(high) and score > high)
    if score == _UNKNOWN and (below or metric.get("has_unknown_level") is True):
        yield "its score is -1, which says unknown"
    elif below or above:
        score_text, low, high = (make_excerpt(str(number), 40) for number in (score, low, high))
        yield f"its score {score_text} lies outside of its bounds, {low} to {high}"
