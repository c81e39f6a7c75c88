"""The results of an aggregate: which of them a model gave, and what is odd about the others; all stay in the run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from evalstore.documents import Pointer
from evalstore.migration.outcome import MigrationOutcome
from evalstore.migration.readers.every_eval_ever.judged import ResultRubric, ruler_of
from evalstore.migration.readers.every_eval_ever.numbers import is_number
from evalstore.migration.taken import ArtifactDraft, LegacyCase, MigrationNote
from evalstore.migration.words import named
from evalstore.runs.labels import aggregate_doubt
from evalstore.runs.shape import within
from evalstore.text import excerpt

HELD = "detailed_evaluation_results_per_samples"
_ALONE = "a score without the rows behind it: it is kept in the run, and nothing can grade it again"
_UNKNOWN = -1

Result = tuple[Pointer, Any, ResultRubric | str | None]


def results_of(root: Mapping[str, Any], form: Mapping[str, Any]) -> list[Result]:
    """Return each result with its ruler, or why it can have none."""
    found: list[Result] = []
    for index, result in enumerate(root["evaluation_results"]):
        pointer = ("evaluation_results", index)
        odd = f"the result is {named(result)} where an object belongs; it is kept in the run"
        found.append((pointer, result, ruler_of(result, pointer, form) if isinstance(result, dict) else odd))
    return found


def rulers_of(found: Iterable[Result]) -> tuple[tuple[LegacyCase, ...], tuple[ArtifactDraft, ...]]:
    """Return a rubric for each result that models scored, and their judges."""
    made = [(pointer, result, ruler) for pointer, result, ruler in found if isinstance(ruler, ResultRubric)]
    cases = tuple(
        LegacyCase(pointer, result, MigrationOutcome.LOSSY, (*ruler.reasons, *_odd(result)), rubric=ruler.rubric)
        for pointer, result, ruler in made
    )
    judges = {judge.ref: judge for _, _, ruler in reversed(made) for judge in reversed(ruler.judges)}
    return cases, tuple(reversed(judges.values()))


def notes_of(root: Mapping[str, Any], found: Iterable[Result]) -> Iterator[MigrationNote]:
    """Yield a note on every other result, and on a label that the aggregate does not fit."""
    if doubt := aggregate_doubt(root):
        yield MigrationNote(("schema_version",), MigrationOutcome.MIGRATED, doubt, kept=True)
    if not root["evaluation_results"]:
        yield MigrationNote(("evaluation_results",), MigrationOutcome.UNMAPPED, "it has no result; it is kept as a run")
    with_rows = isinstance(root.get(HELD), list) or bool(within(root, "detailed_evaluation_results"))
    for pointer, result, ruler in found:
        if isinstance(ruler, ResultRubric):
            continue
        graded = with_rows and not ruler
        reasons = [ruler or ("" if with_rows else _ALONE), *_odd(result)]
        outcome = MigrationOutcome.MIGRATED if graded else MigrationOutcome.UNMAPPED
        yield MigrationNote(pointer, outcome, "; ".join(filter(None, reasons)), kept=graded)


def _odd(result: Any) -> Iterator[str]:
    """Say how a score lies outside of what its metric can give."""
    metric, details = within(result, "metric_config"), within(result, "score_details")
    score, low, high = details.get("score"), metric.get("min_score"), metric.get("max_score")
    if not is_number(score):
        return
    below = low == "Infinity" or (is_number(low) and score < low)
    above = high == "-Infinity" or (is_number(high) and score > high)
    if score == _UNKNOWN and (below or metric.get("has_unknown_level") is True):
        yield "its score is -1, which says unknown"
    elif below or above:
        far, low, high = (excerpt(str(number), 40) for number in (score, low, high))
        yield f"its score {far} lies outside of its bounds, {low} to {high}"
