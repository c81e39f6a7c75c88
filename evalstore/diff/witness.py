"""Looks for an output that moves: plays the candidates under both rubrics, and shows none that it did not replay."""

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
# What a comparison spends on playing, counted so that every machine stops at the same place; well under a second.
_BUDGET = 400_000
_COMBINED = 3
_TEXT = 1_000  # characters that one unit of the budget pays for
# Of a schema: what a character costs when it is compiled, how many cost one more when it is played.
_COMPILING = 3
_CHARS = 20


class _EnoughError(Exception):
    """The search has cost enough."""


@dataclass(slots=True)
class _Player:
    """One check, prepared once, and what it said of the texts tried so far."""

    price: int
    grade: Callable[[Sample], CheckResult]
    results: dict[tuple[str, str | None], CheckResult] = field(default_factory=dict)


@dataclass(slots=True)
class Replay:
    """Both rubrics whole, and their checks as players; `load` reads the rubrics that they refer to."""

    old: RubricState
    new: RubricState
    load: ArtifactLoader | None = None
    _spent: int = 0
    _players: dict[int, tuple[CheckState, _Player]] = field(default_factory=dict)

    def find(self, change: Change) -> Witness | None:
        """Return the shortest text found that moves under this one edit and also between the two rubrics."""
        if self._spent > _BUDGET or _asks_more(change):
            return None
        checks = (check for state in (self.old, self.new, *change.states) for check in state.checks)
        try:
            if not all(map(self._is_playable, checks)):
                return None
            tried = (self._moves(change, output) for output in _outputs(change))
            return next(filter(None, tried), None)
        except (EvalstoreError, _EnoughError):
            return None  # validation says what is wrong with a rubric that cannot be run

    def _is_playable(self, check: CheckState) -> bool:
        if check.kind != _COMPOSITE:
            return _is_unjudged(check)
        inner = self._inner(check)
        # An error within is not seen from without: nothing there may need an engine that other machines lack.
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
        return combine_results(state.to_scoring(), [self._grade(self._player(check), output) for check in state.checks])

    def _grade(self, player: _Player, output: Output) -> CheckResult:
        calls = None if output.tool_calls is None else write_canonical(list(output.tool_calls))
        known = output.text, calls
        if known not in player.results:
            self._spend(player.price * (1 + (len(output.text) + len(calls or "")) // _TEXT))
            result = player.grade(Sample(output))
            if result.unscored is UnscoredReason.ERROR:
                raise _EnoughError  # a pattern out of time, or no PHP: no witness for other machines, and slow to try
            player.results[known] = result
        return player.results[known]

    def _player(self, check: CheckState) -> _Player:
        if id(check) not in self._players:
            from evalstore.checks import CheckContext, prepare_check

            price, written = self._price(check)
            self._spend(written * _COMPILING)
            # The check is kept with its player, so that its id stays its own.
            self._players[id(check)] = check, _Player(price, prepare_check(check.to_check(), CheckContext(self.load)))
        return self._players[id(check)][1]

    def _price(self, check: CheckState) -> tuple[int, int]:
        """Return what playing a check once costs, and how much of it is to be compiled."""
        if check.kind == _COMPOSITE and (inner := self._inner(check)):
            prices = [self._price(one) for one in inner.checks]
            return sum(price for price, _ in prices), sum(written for _, written in prices)
        listed = sum(len(value) for value in check.params.values() if isinstance(value, list))
        written = len(write_canonical(check.params["schema"])) if check.params.get("schema") is not None else 0
        return KINDS[check.kind].price + listed + written // _CHARS, written

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
