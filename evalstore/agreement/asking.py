"""A judge ready to be asked about labelled rows: an `llm_judge` check made of it, and what a row must say for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from evalstore.agreement.labels import Label
from evalstore.checks import CheckContext, prepare_check
from evalstore.checks.juror import prepare_judge
from evalstore.errors import LoadError, Place, RefusedError, UsageError
from evalstore.model import Check, CheckResult, Kind, Output, Question, Sample
from evalstore.text import find_nearest, make_excerpt

_CHECK_CACHE_SIZE = 64  # sets of variables that are kept ready
_Items = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Bench:
    """A judge: the names that its template reads, its variables and what fills them in every row, and its grade."""

    ref: str
    reads: Sequence[str]
    variables: Sequence[str]
    given: Mapping[str, str]
    prepared: Callable[[_Items], Callable[[Sample], CheckResult]]

    def grade(self, label: Label, question: Question, file: str) -> CheckResult:
        """Judge one row; `LoadError` at its line when it lacks what the judge must see."""
        given = {**self.given, **label.variables}
        self._check_row(question, given, Place(file, label.line))
        return self.prepared(tuple(sorted(given.items())))(Sample(Output(label.output), question))

    def _check_row(self, question: Question, given: Mapping[str, str], place: Place) -> None:
        if unknown := _find_unknown(given, self.variables):
            raise LoadError(f"{self.ref} has no variable `{make_excerpt(unknown, 60)}`", place=place)
        if "input" in self.reads and "input" not in question.row:
            hint = "write it into the row, or name the dataset that the rows are of with --against"
            raise LoadError(f"{self.ref} reads the input, and this row has none", place=place, hint=hint)
        for name in self.variables:
            if name in self.reads and name not in given:
                hint = f"say --var {name}=TEXT, or write `variables` into the row"
                raise LoadError(f"nobody fills {{{{ {name} }}}} of {self.ref}", place=place, hint=hint)


def bench_of(ref: str, reach: CheckContext, threshold: Fraction, given: Mapping[str, str]) -> Bench:
    """Return the judge that `ref` names, with `given` filling its variables; refuses one that cannot be asked."""
    declared = reach.load_artifact(ref, Kind.JUDGE).value.get("variables", ())
    juror = prepare_judge(ref, reach, model={}, given=declared)
    if isinstance(juror, str):
        raise RefusedError(juror)
    if unknown := _find_unknown(given, juror.judge.variables):
        near = find_nearest(unknown, juror.judge.variables)
        known = f"did you mean {near}?" if near else f"its variables: {', '.join(juror.judge.variables) or 'none'}"
        raise UsageError(f"{ref} has no variable {make_excerpt(unknown, 60)!r}", hint=known)

    @lru_cache(_CHECK_CACHE_SIZE)
    def prepared(items: _Items) -> Callable[[Sample], CheckResult]:
        params = {"kind": "llm_judge", "judge_prompt_ref": ref, "variables": dict(items)}
        return prepare_check(Check("judge", "llm_judge", params, threshold), reach)

    return Bench(ref, juror.template.names, juror.judge.variables, given, prepared)


def _find_unknown(given: Mapping[str, str], variables: Sequence[str]) -> str | None:
    return next((name for name in given if name not in variables), None)
