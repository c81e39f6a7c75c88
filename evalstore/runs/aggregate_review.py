"""Compares the numbers in a run's aggregate with the run's rows; does no I/O."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Any

from evalstore.errors import RefusedError
from evalstore.runs.tally import AnswerTally, RunTally
from evalstore.runs.values import CheckSummary, GradedRow, Run
from evalstore.text import make_excerpt

# The numbers in an aggregate that its rows must confirm: these of the run, all those of a check.
_OF_RUN = ("score", "pass_rate", "scored", "unscored", "outputs", "without_output")
_OF_CHECK = tuple(one.name for one in fields(CheckSummary))
_NO_RESULTS = AnswerTally().summarize()
_SHOWN = 3


@dataclass(slots=True)
class AggregateReview:
    """Compares the aggregate of one of evalstore's runs with all its rows, given in any order."""

    run: Run
    _tally: RunTally = field(default_factory=RunTally)
    _numbers: dict[str, int] = field(default_factory=dict)

    def add(self, row: GradedRow) -> None:
        """Count a row, and each of its samples."""
        if self.run.dataset is None:
            return
        # Ids are kept only if a question may have several rows.
        number = self._tally.outputs
        if self.run.outputs != self.run.questions:
            number = self._numbers.setdefault(row.id, len(self._numbers))
        for one in row.outputs:
            self._tally.add(one, number)

    def describe_contradiction(self) -> str:
        """Return where the aggregate contradicts its rows; empty if it does not."""
        if self.run.dataset is None:
            return ""
        found = [*self._list_contradictions()]
        more = len(found) - _SHOWN
        said = "; ".join(found[:_SHOWN])
        return f"{self.run.path}: {said}{f'; and {more:,} more' if more > 0 else ''}" * bool(found)

    def require_agreement(self) -> None:
        """Raise `RefusedError` if the aggregate contradicts its rows."""
        if problem := self.describe_contradiction():
            hint = "the aggregate does not match its rows; score the outputs again"
            raise RefusedError(problem, hint=hint)

    def _list_contradictions(self) -> Iterator[str]:
        run, rows = self.run, self._tally.fill_sums(self.run)
        if run.is_withheld:
            run = replace(run, score=run.rest_score, pass_rate=run.rest_pass_rate)
        rows = replace(rows, without_output=len(run.missing_outputs))
        yield from _list_differences("", _OF_RUN, run, rows)
        for id_ in dict.fromkeys((*run.checks, *rows.checks)):
            pair = run.checks.get(id_, _NO_RESULTS), rows.checks.get(id_, _NO_RESULTS)
            yield from _list_differences(f" of {make_excerpt(id_, 60)}", _OF_CHECK, *pair)


def _list_differences(of: str, names: Iterable[str], said: Any, given: Any) -> Iterator[str]:
    """Yield each number in an aggregate that differs from what its rows give."""
    for name in names:
        recorded, real = getattr(said, name), getattr(given, name)
        if name == "error_ids":  # the rows may be in another order
            recorded, real = tuple(sorted(recorded)), tuple(sorted(real))
        if recorded != real:
            yield (
                f"its {name}{of} says {_describe_value(recorded)}, its rows give "
                f"{_describe_value(real)}"
            )


def _describe_value(value: object) -> str:
    if isinstance(value, tuple):
        return make_excerpt(", ".join(value), 60) or "none"
    return "none" if value is None else str(value)
