"""Estimates how far the noise of judges alone moves a change.

It uses the validation in their files.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import chain
from math import sqrt
from typing import Any

from evalstore.audits.stored_run import RunArtifactLoader, RunRubric, StoredRun
from evalstore.audits.values import JudgeNoiseEstimate
from evalstore.audits.version_path import VersionFinder
from evalstore.checks import combine_results
from evalstore.errors import EvalstoreError
from evalstore.model import (
    Check,
    CheckResult,
    Combine,
    Verdict,
    find_check_pins,
    parse_fraction,
    parse_ref,
    read_rubric,
)
from evalstore.model.rubric import JUDGED_THRESHOLD
from evalstore.runs import GradedRow
from evalstore.statistics import compute_noise_reach

_MEASURE = "noise_sd"
_Replies = Collection[tuple[str, ...]]


@dataclass(slots=True)
class JudgeNoiseReader:
    """Reads the noise of one run's judges.

    It has the noise in their files, and how far that moves the questions so far.
    """

    stored: StoredRun
    finder: VersionFinder
    measures: dict[str, Fraction | None] = field(default_factory=dict)
    deviations: array[float] = field(default_factory=lambda: array("d"))
    _noisy: dict[str, list[tuple[Check, Fraction]]] = field(default_factory=dict)

    def add_question(self, row: GradedRow, other: GradedRow) -> None:
        """Note the standard deviation of a question's score due to the noise of its judges.

        `other` is the other run's row. A reply that the other run uses, too, is the same judgement,
        and causes no noise between the two.
        """
        rubric = self.stored.rubrics.get(row.rubric)
        if rubric is not None and self._list_noisy_checks(row.rubric, rubric):
            shared = {check.reply_digests for one in other.outputs for check in one.checks} - {()}
            squares = [self._find_deviation(one, rubric, shared) ** 2 for one in row.outputs]
            self.deviations.append(sqrt(sum(squares)) / len(squares))

    def _find_deviation(self, row: GradedRow, rubric: RunRubric, shared: _Replies) -> float:
        results = {check.id: check for check in row.checks}
        squares = 0.0
        for check, deviation in self._list_noisy_checks(row.rubric, rubric):
            result = results.get(check.id)
            if not result or result.score is None or result.reply_digests in shared:
                continue
            scoring = rubric.rubric.scoring
            raised = [_move_result(one, check, deviation) for one in row.checks]
            lowered = [_move_result(one, check, -deviation) for one in row.checks]
            high, low = (combine_results(scoring, one).score for one in (raised, lowered))
            squares += float((high or 0) - (low or 0)) ** 2 / 4
        return sqrt(squares)

    def _list_noisy_checks(self, ref: str, rubric: RunRubric) -> list[tuple[Check, Fraction]]:
        """Return the checks of a rubric that have measured judges, with standard deviations."""
        if ref not in self._noisy:
            found = ((check, self._find_check_deviation(check)) for check, _ in rubric.checks)
            self._noisy[ref] = [(check, deviation) for check, deviation in found if deviation]
        return self._noisy[ref]

    def _find_check_deviation(self, check: Check) -> Fraction | None:
        """Return the standard deviation of a check's score.

        Returns None if any of its judges is not measured.
        """
        params = check.params
        if "rubric_ref" in params:
            return self._find_rubric_deviation(str(params["rubric_ref"]))
        members: list[Mapping[str, Any]] = (
            params["jury"]["members"] if "jury" in params else [params]
        )
        weights = [parse_fraction(one.get("weight", 1)) for one in members]
        refs = [one["judge_prompt_ref"] for one in members if "judge_prompt_ref" in one]
        found = map(self._find_measure, refs)
        measures = [measure for measure in found if measure is not None]
        if not sum(weights) or len(measures) < len(members):
            return None
        squares = sum(
            (weight * measure) ** 2 for weight, measure in zip(weights, measures, strict=True)
        )
        return parse_fraction(sqrt(squares / params.get("samples", 1)) / float(sum(weights)))

    def _find_rubric_deviation(self, ref: str) -> Fraction | None:
        """Return the standard deviation of an inner rubric's score, from those of its checks.

        Returns None if it is not known. A weighted average weighs them. For a minimum or a median,
        the effect is not recorded: at most it is that of all checks together.
        """
        rubric = read_rubric(RunArtifactLoader.from_runs(self.finder, self.stored.run)(ref).value)
        judged = [
            check for check in rubric.checks if any(True for _ in find_check_pins((), check.params))
        ]
        found = [(check, self._find_check_deviation(check)) for check in judged]
        if not found:
            return None
        if rubric.scoring.combine in {Combine.ALL_PASS, Combine.ANY_PASS}:
            # It depends on verdicts, about which a standard deviation says nothing.
            self.measures[ref] = None
            return None
        weights = {
            check.id: rubric.scoring.weights.get(check.id, Fraction(1)) for check in rubric.checks
        }
        total = (
            sum(weights.values()) if rubric.scoring.combine is Combine.WEIGHTED_AVG else Fraction(0)
        )
        known = [(check.id, deviation) for check, deviation in found if deviation]
        parts = [deviation * (weights[id_] / total if total else 1) for id_, deviation in known]
        return parse_fraction(sqrt(sum(float(part) ** 2 for part in parts))) or None

    def _find_measure(self, ref: str) -> Fraction | None:
        if ref not in self.measures:
            values = (validation.get(_MEASURE) for validation in self._list_validations(ref))
            numbers = (
                value for value in values if value is not None and not isinstance(value, bool | str)
            )
            self.measures[ref] = next(map(parse_fraction, numbers), None)
        return self.measures[ref]

    def _list_validations(self, ref: str) -> Iterator[Mapping[str, Any]]:
        """Yield what the judge's file says about its validation.

        It takes the file as released, then the present one if it judges alike.
        """
        pins = [pin for pin in self.stored.run.judges if pin.ref == ref]
        store = self.finder.store
        try:
            used = self.finder.locate_pin(pins[0]).resolved if pins else store.resolve(ref)
            yield _get_validation(used.artifact.value)
            now = store.resolve(f"{parse_ref(ref).name}@worktree")
        except EvalstoreError:  # a missing judge says nothing
            return
        if now.scoring_digest == used.scoring_digest:
            yield _get_validation(now.artifact.value)


def estimate_judge_noise(
    readers: Sequence[JudgeNoiseReader], questions: int
) -> JudgeNoiseEstimate | None:
    """Return how far the noise of judges alone moves the change between two runs.

    Returns None if no noise is measured.
    """
    deviations = chain.from_iterable(reader.deviations for reader in readers)
    measures = {ref: measure for reader in readers for ref, measure in reader.measures.items()}
    measured = {ref: float(measure) for ref, measure in measures.items() if measure is not None}
    if not measured:
        return None
    unmeasured = tuple(ref for ref, measure in measures.items() if measure is None)
    return JudgeNoiseEstimate(compute_noise_reach(deviations, questions), measured, unmeasured)


def _get_validation(value: Mapping[str, Any]) -> Mapping[str, Any]:
    validation = value.get("validation")
    return validation if isinstance(validation, dict) else {}


def _move_result(result: CheckResult, check: Check, by: Fraction) -> CheckResult:
    if result.id != check.id or result.score is None:
        return result
    score = result.score + by
    passes = score >= (JUDGED_THRESHOLD if check.threshold is None else check.threshold)
    return result._replace(score=score, verdict=Verdict.PASS if passes else Verdict.FAIL)
