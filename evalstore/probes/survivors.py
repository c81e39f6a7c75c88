"""Grades outputs under a rubric and its mutants, and keeps the mutants that no output tells from the rubric."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from evalstore.checks import CheckContext, combine_results, prepare_check
from evalstore.model import CheckResult, Rubric, RubricResult, Sample
from evalstore.probes.mutants import MutatedRubric
from evalstore.probes.values import RubricMutant

_Grades = Mapping[int, Callable[[Sample], CheckResult]]


class Survivors(NamedTuple):
    """How many outputs were graded, and the mutants that give each of them the rubric's own score and verdict."""

    outputs: int
    mutants: tuple[RubricMutant, ...]


def find_survivors(
    rubric: Rubric, mutants: Sequence[MutatedRubric], samples: Iterable[Sample], context: CheckContext
) -> Survivors:
    """Return the mutants that are left after all samples; one that was told apart once is not graded again."""
    # A mutant shares with the rubric the checks that it does not change, and each is graded once an output.
    grades = {
        id(check.params): prepare_check(check, context)
        for one in (rubric, *(mutated.rubric for mutated in mutants))
        for check in one.checks
    }
    left, count = list(mutants), 0
    for sample in samples:
        count += 1
        results: dict[int, CheckResult] = {}
        wanted = _grade(rubric, sample, grades, results)
        left = [one for one in left if _grade(one.rubric, sample, grades, results) == wanted]
    return Survivors(count, tuple(mutated.mutant for mutated in left))


def _grade(rubric: Rubric, sample: Sample, grades: _Grades, results: dict[int, CheckResult]) -> tuple[object, object]:
    for check in rubric.checks:
        key = id(check.params)
        if key not in results:
            results[key] = grades[key](sample)
    result: RubricResult = combine_results(rubric.scoring, [results[id(check.params)] for check in rubric.checks])
    return result.score, result.verdict
