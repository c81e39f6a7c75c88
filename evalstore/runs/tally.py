"""Sums rows into a run's exact numbers, in memory that does not grow with rows; reads no file."""

from __future__ import annotations

import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import NamedTuple, Protocol

from evalstore.identity_cache import IdentityCache
from evalstore.model import CheckResult, Verdict
from evalstore.model.judge import NO_REPLY
from evalstore.model.outcome import QUESTION_BROKEN, MissingSetting
from evalstore.runs.question_mean import Outcome, compute_question_mean
from evalstore.runs.values import CheckSummary, Run
from evalstore.statistics import ExactMean
from evalstore.text import make_excerpt

_SHOWN_CHECKS = 3  # in notes; the run's table has all checks
_SHOWN_REASONS, _SHOWN_IDS, _KEPT_REASONS = 3, 5, 100
_LINE = re.compile(r"(?<=\bline )\d+")  # the line number of a question in a reason


class QuestionTotals(NamedTuple):
    """The exact means over questions; `unscored` counts questions without a scored sample."""

    scores: ExactMean
    passes: ExactMean
    unscored: int


@dataclass(slots=True)
class QuestionSums:
    """The outcomes of the questions; each different outcome has a number, as runs have few."""

    # By position of the question: the number of its first outcome, from 1; 0 for none.
    _first: array[int] = field(default_factory=lambda: array("I"))
    _numbers: IdentityCache[int] = field(init=False)
    _known: dict[Outcome, int] = field(default_factory=dict)
    _outcomes: list[Outcome] = field(default_factory=list)
    _counts: list[int] = field(default_factory=list)  # of questions with only this outcome
    _several: dict[int, list[Outcome]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # Look scores up by identity first, because exact fractions hash slowly.
        self._numbers = IdentityCache(self._number_outcome)

    def add(self, number: int, outcome: Outcome) -> None:
        """Add the outcome of one sample of the question at position `number`."""
        while number >= len(self._first):
            self._first.append(0)
        before = self._first[number]
        if not before:
            self._first[number] = position = self._numbers.find(*outcome)
            self._counts[position - 1] += 1
            return
        if number not in self._several:
            self._several[number] = [self._outcomes[before - 1]]
            self._counts[before - 1] -= 1
        self._several[number].append(outcome)

    def compute_totals(self) -> QuestionTotals:
        """Return the sums over the questions, each by the mean of its samples."""
        counted = zip(self._outcomes, self._counts, strict=True)
        means = [(compute_question_mean([one]), count) for one, count in counted]
        means += [(compute_question_mean(samples), 1) for samples in self._several.values()]
        scores, passes, unscored = ExactMean(), ExactMean(), 0
        for mean, count in means:
            if mean.score is None or mean.pass_share is None:
                unscored += count
            elif count:
                scores.add(mean.score, count)
                passes.add(mean.pass_share, count)
        return QuestionTotals(scores, passes, unscored)

    def _number_outcome(self, score: Fraction | None, verdict: Verdict) -> int:
        if (number := self._known.get((score, verdict))) is None:
            self._outcomes.append((score, verdict))
            self._counts.append(0)
            number = self._known[score, verdict] = len(self._outcomes)
        return number


class CountedRow(Protocol):
    """The parts of a row that are counted: its grade, its rubric, and its id for notes."""

    @property
    def id(self) -> str: ...  # noqa: D102  # as `GradedRow` has it
    @property
    def score(self) -> Fraction | None: ...  # noqa: D102  # as above
    @property
    def verdict(self) -> Verdict: ...  # noqa: D102  # as above
    @property
    def rubric(self) -> str: ...  # noqa: D102  # as above
    @property
    def checks(self) -> tuple[CheckResult, ...]: ...  # noqa: D102  # as above
    @property
    def reason(self) -> str: ...  # noqa: D102  # as above


@dataclass(slots=True)
class AnswerTally:
    """The counts of one check so far."""

    mean: ExactMean = field(default_factory=ExactMean)
    verdicts: Counter[Verdict] = field(default_factory=Counter)
    errors: int = 0
    troubles: int = 0  # errors, except for missing replies, which the judges report themselves
    trouble: str = ""  # the first trouble; the next field is its question
    troubled_id: str = ""
    error_ids: dict[str, None] = field(default_factory=dict)
    partial: int = 0  # scored, but an inner check of a composite could not be graded
    hollow: int = 0  # scored, but an inner check had nothing to grade, and none was an error
    left_out: int = 0  # unscored, but the output has a score from its other checks
    # The missing settings, each with the first reason.
    unmet: dict[MissingSetting, str] = field(default_factory=dict)
    unmet_count: int = 0

    def add(self, check: CheckResult, times: int) -> None:
        """Count a result of a check that occurred `times` times."""
        self.verdicts[check.verdict] += times
        if check.score is not None:
            self.mean.add(check.score, times)
            self.hollow += times * bool(check.inner_missing and not check.inner_errors)
        if check.setting is not None:
            self.unmet.setdefault(check.setting, check.reason)
            self.unmet_count += times

    def note_error(self, check: CheckResult, id_: str) -> None:
        """Note that the check could not grade the output of question `id_`, or only in part."""
        self.errors += check.score is None
        self.partial += check.score is not None
        self.error_ids[id_] = None
        # Not noted here: missing replies, which the session notes once, and a broken question,
        # which is noted as an output without a score.
        if NO_REPLY.problem not in check.reason and not check.reason.startswith(QUESTION_BROKEN):
            self.troubles += 1
            if not self.trouble:
                self.trouble, self.troubled_id = make_excerpt(check.reason), make_excerpt(id_, 60)

    def summarize(self) -> CheckSummary:
        """Return the counts as the run keeps them."""
        mean, verdicts = self.mean, self.verdicts
        return CheckSummary(
            mean.compute_mean(),
            mean.count,
            verdicts[Verdict.FAIL],
            verdicts[Verdict.UNSCORED],
            self.errors,
            tuple(self.error_ids),
            self.partial,
            self.hollow,
            self.left_out,
        )

    @property
    def is_unmet(self) -> bool:
        """Whether it could grade nothing at all because a setting is missing."""
        return 0 < self.unmet_count == self.mean.count + self.errors


@dataclass(slots=True)
class UnscoredOutputs:
    """How many outputs have no score for one reason, worded as for the first of them.

    `first` are the first few questions.
    """

    reason: str
    count: int = 0
    first: list[str] = field(default_factory=list)


@dataclass(slots=True)
class EqualResults:
    """Results that several outputs of one rubric share, and the number of these outputs."""

    rubric: str
    checks: tuple[CheckResult, ...]
    errors: tuple[CheckResult, ...]
    is_scored: bool
    count: int = 0


@dataclass(slots=True)
class RunTally:
    """All sums of a run so far; a question with samples counts once, by their exact mean."""

    questions: QuestionSums = field(default_factory=QuestionSums)
    outputs: int = 0
    checks: defaultdict[tuple[str, str], AnswerTally] = field(
        default_factory=lambda: defaultdict(AnswerTally)
    )
    engines: set[str] = field(default_factory=set)
    unscored: dict[str, UnscoredOutputs] = field(default_factory=dict)
    _pending: IdentityCache[EqualResults] = field(init=False)

    def __post_init__(self) -> None:
        # Count how many outputs have the same results, of which there are few; sum these later.
        self._pending = IdentityCache(_start_count, drop=self._add_results)

    def add(self, row: CountedRow, number: int) -> None:
        """Count one row and its checks; `number` is the position of its question."""
        self.questions.add(number, (row.score, row.verdict))
        if row.score is None:
            self._note_unscored(row)
        self.outputs += 1
        results = self._pending.find(row.checks, row.rubric, row.score is not None)
        results.count += 1
        for check in results.errors:
            self.checks[results.rubric, check.id].note_error(check, row.id)

    def _add_results(self, results: EqualResults) -> None:
        for check in results.checks:
            self.engines.update(check.engine.split(", "))  # a jury or a composite names several
            tally = self.checks[results.rubric, check.id]
            tally.add(check, results.count)
            if check.score is None and results.is_scored:
                tally.left_out += results.count

    def fill_sums(self, run: Run) -> Run:
        """Return `run` with the sums filled in."""
        sums = self.questions.compute_totals()
        self._pending.clear()
        return replace(
            run,
            score=sums.scores.compute_mean(),
            pass_rate=sums.passes.compute_mean(),
            scored=sums.scores.count,
            unscored=sums.unscored,
            outputs=self.outputs,
            checks={name: found.summarize() for name, found in self._name_checks().items()},
            harness={**run.harness, "engines": ", ".join(sorted(self.engines))},
        )

    def list_unscored(self) -> Iterator[str]:
        """Yield why outputs have no score, with the first of their questions.

        Each reason comes with the number of its outputs. A reason that the notes about checks
        already give is not repeated.
        """
        said = {found.trouble for found in self.checks.values()}
        reasons = sorted(self.unscored.values(), key=lambda found: -found.count)
        for found in reasons[:_SHOWN_REASONS]:
            first = ", ".join(make_excerpt(id_, 60) for id_ in found.first)
            more = (
                f" and {found.count - len(found.first):,} more"
                if found.count > len(found.first)
                else ""
            )
            outputs = "1 output has" if found.count == 1 else f"{found.count:,} outputs have"
            reason = make_excerpt(found.reason)
            why = " for the same reason" if reason in said else f": {reason}"
            yield f"{outputs} no score{why} ({first}{more})"
        if more_count := sum(found.count for found in reasons[_SHOWN_REASONS:]):
            yield f"outputs without a score for other reasons: {more_count:,}"

    def find_unmet(self) -> dict[MissingSetting, str]:
        """Return the missing settings for which a check graded nothing, with the first message."""
        unmet: dict[MissingSetting, str] = {}
        for name, found in self._name_checks().items():
            for setting, reason in found.unmet.items() if found.is_unmet else ():
                lead = f"{make_excerpt(name, 60)} graded 0 of {found.unmet_count:,}"
                unmet.setdefault(setting, f"{lead}: {make_excerpt(reason)}")
        return unmet

    def _note_unscored(self, row: CountedRow) -> None:
        reasons = (check.reason for check in row.checks if check.score is None and check.reason)
        reason = next(reasons, "") or row.reason or "the reason is unknown"
        # Line numbers are removed and long reasons cut, so that few different reasons are kept.
        key = _LINE.sub("", reason)
        key = (
            key if key in self.unscored or len(self.unscored) < _KEPT_REASONS else "another reason"
        )
        found = self.unscored.setdefault(
            key, UnscoredOutputs(reason if key != "another reason" else key)
        )
        found.count += 1
        if len(found.first) < _SHOWN_IDS:
            found.first.append(row.id)

    def list_notes(self) -> Iterator[str]:
        """Yield notes about checks that could not grade, each with its first reason; no repeats."""
        broken = [(name, found) for name, found in self._name_checks().items() if found.troubles]
        broken.sort(key=lambda pair: -pair[1].troubles)
        alike: dict[str, list[str]] = {}
        for name, found in broken:
            of = f"{found.troubles:,} of {found.verdicts.total():,} outputs"
            said = f"could not grade {of}, first '{found.troubled_id}': {found.trouble}"
            alike.setdefault(said, []).append(make_excerpt(name, 60))
        for said, names in [*alike.items()][:_SHOWN_CHECKS]:
            yield f"{', '.join(names)} {said}"
        if more := sum(map(len, [*alike.values()][_SHOWN_CHECKS:])):
            yield f"further checks that could not grade some outputs: {more:,}"

    def _name_checks(self) -> dict[str, AnswerTally]:
        """Return the tallies by check id, or by rubric and id where two rubrics use one id."""
        # Two rubrics of one dataset may have checks with the same id.
        uses = Counter(id_ for _, id_ in self.checks)
        named: dict[str, AnswerTally] = {}
        for (rubric, id_), found in self.checks.items():
            named[id_ if uses[id_] == 1 else f"{rubric}/{id_}"] = found
        return {name: named[name] for name in sorted(named)}


def _start_count(
    checks: tuple[CheckResult, ...],
    ref: str,
    is_scored: bool,  # noqa: FBT001  # a fact
) -> EqualResults:
    errors = tuple(check for check in checks if check.is_ungraded)
    return EqualResults(ref.partition("@")[0].partition("/")[2], checks, errors, is_scored)
