"""Looks for an output that moves: grades the candidates under both rubrics, and shows none that it did not grade."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice, product

from evalstore.diff.candidates import build_candidates, build_records
from evalstore.diff.change import Change
from evalstore.diff.findings import Witness
from evalstore.diff.kinds import KINDS
from evalstore.diff.plain_data import make_plain
from evalstore.diff.references import ArtifactLoader
from evalstore.diff.rubric_state import CheckState, RubricState, read_rubric
from evalstore.documents import write_canonical
from evalstore.errors import EvalstoreError
from evalstore.model import CheckResult, Output, RubricResult, Sample, UnscoredReason

_COMPOSITE = "composite"
_BESIDE = 6  # texts that are tried with each record of calls
# Steps that a comparison spends on grading, counted so that every machine stops at the same place; well under a second.
_BUDGET = 400_000
_COMBINED = 3
_CHARS_PER_STEP = 1_000  # characters of an output that are graded for the cost of its check
# Of a schema: what a character costs when it is compiled, how many cost one more when it is applied.
_COMPILING = 3
_CHARS = 20


class _EnoughError(Exception):
    """The budget of the search is spent."""


@dataclass(slots=True)
class _PreparedCheck:
    """One check, prepared once, with its results on the outputs tried so far."""

    cost: int
    grade: Callable[[Sample], CheckResult]
    results: dict[tuple[str, str | None], CheckResult] = field(default_factory=dict)


@dataclass(slots=True)
class Replay:
    """Grades outputs under both rubrics; prepares each check once. `load` reads the rubrics that they refer to."""

    old: RubricState
    new: RubricState
    load: ArtifactLoader | None = None
    _spent: int = 0
    _prepared: dict[int, tuple[CheckState, _PreparedCheck]] = field(default_factory=dict)

    def find(self, change: Change) -> Witness | None:
        """Return the shortest text found that moves under this one edit and also between the two rubrics."""
        if self._spent > _BUDGET or _asks_more(change):
            return None
        checks = (check for state in (self.old, self.new, *change.states) for check in state.checks)
        try:
            if not all(map(self._is_gradable, checks)):
                return None
            tried = (self._moves(change, output) for output in _outputs(change))
            return next(filter(None, tried), None)
        except (EvalstoreError, _EnoughError):
            return None  # validation says what is wrong with a rubric that cannot be run

    def _is_gradable(self, check: CheckState) -> bool:
        if check.kind != _COMPOSITE:
            return _is_unjudged(check)
        inner = self._inner(check)
        # A composite hides the errors of its checks: none of them may need an engine that other machines lack.
        return inner is not None and all(_is_unjudged(one) and _is_portable(one) for one in inner.checks)

    def _inner(self, check: CheckState) -> RubricState | None:
        return read_rubric(make_plain(self.load(check.params["rubric_ref"]).value)) if self.load else None

    def _moves(self, change: Change, output: Output) -> Witness | None:
        before, after = (self._run(state, output) for state in change.states)
        old, new = self._run(self.old, output), self._run(self.new, output)
        if _answer(before) == _answer(after) or _answer(old) == _answer(new):
            return None
        return Witness(output.text, old.score, new.score, old.verdict, new.verdict, output.tool_calls)

    def _run(self, state: RubricState, output: Output) -> RubricResult:
        from evalstore.checks import combine_results

        self._spend(_COMBINED * len(state.checks))
        return combine_results(
            state.to_scoring(), [self._grade(self._prepare_check(check), output) for check in state.checks]
        )

    def _grade(self, check: _PreparedCheck, output: Output) -> CheckResult:
        calls = None if output.tool_calls is None else write_canonical(list(output.tool_calls))
        known = output.text, calls
        if known not in check.results:
            self._spend(check.cost * (1 + (len(output.text) + len(calls or "")) // _CHARS_PER_STEP))
            result = check.grade(Sample(output))
            if result.unscored is UnscoredReason.ERROR:
                raise _EnoughError  # no PHP, or too many steps: no witness for other machines, or slow to try
            check.results[known] = result
        return check.results[known]

    def _prepare_check(self, check: CheckState) -> _PreparedCheck:
        if id(check) not in self._prepared:
            from evalstore.checks import CheckContext, prepare_check

            cost, written = self._measure_cost(check)
            self._spend(written * _COMPILING)
            # The check is stored, too: while it lives, no other object has its id.
            self._prepared[id(check)] = (
                check,
                _PreparedCheck(cost, prepare_check(check.to_check(), CheckContext(self.load))),
            )
        return self._prepared[id(check)][1]

    def _measure_cost(self, check: CheckState) -> tuple[int, int]:
        """Return what grading by a check costs, and the characters of its schemas, which are compiled once."""
        if check.kind == _COMPOSITE and (inner := self._inner(check)):
            costs = [self._measure_cost(one) for one in inner.checks]
            return sum(cost for cost, _ in costs), sum(written for _, written in costs)
        listed = sum(len(value) for value in check.params.values() if isinstance(value, list))
        written = len(write_canonical(check.params["schema"])) if check.params.get("schema") is not None else 0
        return KINDS[check.kind].cost + listed + written // _CHARS, written

    def _spend(self, steps: int) -> None:
        self._spent += steps
        if self._spent > _BUDGET:
            raise _EnoughError


def _asks_more(change: Change) -> bool:
    """Whether the changed check reads more than a text and calls of tools that it names."""
    mine = [check for state in change.states for check in state.checks if check.token == change.token]
    return any(
        (check.kind == "tool_usage" and not build_records(change))
        or KINDS[check.kind].reads_more_than_text(check.params)
        for check in mine
    )


def _is_unjudged(check: CheckState) -> bool:
    # A check that asks no judge answers at once, on any machine. What it would ask of a question, or of a record of
    # calls, is missing: the output shown is a text alone. So it may stand beside the changed one, but is not itself
    # shown to move.
    return not KINDS[check.kind].asks_judges(check.params)


def _is_portable(check: CheckState) -> bool:
    return check.kind != _COMPOSITE and KINDS[check.kind].is_portable


def _outputs(change: Change) -> Iterator[Output]:
    """Yield outputs to try: texts, and where the changed check reads tool calls, a few texts with records of calls."""
    if records := build_records(change):
        few = list(islice(build_candidates(change), _BESIDE))
        yield from (Output(text, record) for record, text in product(records, few))
    else:
        yield from map(Output, build_candidates(change))


def _answer(result: RubricResult) -> tuple[object, object]:
    return result.score, result.verdict
