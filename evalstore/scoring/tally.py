"""Exact sums over any number of rows, in memory that does not grow with them; reads no file."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction

from evalstore.judging import NO_REPLY
from evalstore.model import CheckResult, UnscoredReason, Verdict
from evalstore.runs import CheckSummary, GradedRow, Run
from evalstore.text import make_excerpt

_SHOWN_CHECKS = 3  # checks whose trouble is told; the table has them all


@dataclass(slots=True)
class ExactMean:
    """A mean of exact scores; they are summed by denominator, because sums over mixed ones grow with every row."""

    count: int = 0
    _sums: Counter[int] = field(default_factory=Counter)

    def add(self, score: Fraction) -> None:
        """Count one score."""
        self.count += 1
        self._sums[score.denominator] += score.numerator

    def compute_mean(self) -> Fraction | None:
        """Return the mean; None of nothing."""
        total = sum((Fraction(sum_, denominator) for denominator, sum_ in self._sums.items()), Fraction(0))
        return total / self.count if self.count else None


@dataclass(slots=True)
class AnswerTally:
    """The answers of one check, or of all rubrics, so far."""

    mean: ExactMean = field(default_factory=ExactMean)
    verdicts: Counter[Verdict] = field(default_factory=Counter)
    errors: int = 0
    troubles: int = 0  # errors beside replies that nobody was asked for, which the judges tell
    first_trouble: str = ""

    def add(self, score: Fraction | None, verdict: Verdict) -> None:
        """Count one answer."""
        self.verdicts[verdict] += 1
        if score is not None:
            self.mean.add(score)

    def add_check(self, check: CheckResult, id_: str) -> None:
        """Count what a check answered about the output of the question `id_`."""
        self.add(check.score, check.verdict)
        if check.unscored is UnscoredReason.ERROR:
            self.errors += 1
            if NO_REPLY.problem not in check.reason:
                self.troubles += 1
                self.first_trouble = self.first_trouble or f"'{make_excerpt(id_, 60)}': {make_excerpt(check.reason)}"

    def summarize(self) -> CheckSummary:
        """Return what was counted."""
        mean, verdicts = self.mean, self.verdicts
        return CheckSummary(mean.compute_mean(), mean.count, verdicts[Verdict.FAIL], verdicts[Verdict.UNSCORED], self.errors)


@dataclass(slots=True)
class RunTally:
    """Everything that a run sums up, so far."""

    rows: AnswerTally = field(default_factory=AnswerTally)
    checks: defaultdict[tuple[str, str], AnswerTally] = field(default_factory=lambda: defaultdict(AnswerTally))
    engines: set[str] = field(default_factory=set)

    def add(self, row: GradedRow) -> None:
        """Count one row and its checks."""
        self.rows.add(row.score, row.verdict)
        rubric = row.rubric.partition("@")[0].partition("/")[2]
        for check in row.checks:
            self.engines.update(check.engine.split(", "))  # a jury and a composite name several
            self.checks[rubric, check.id].add_check(check, row.id)

    def fill_sums(self, run: Run) -> Run:
        """Return `run` with the sums filled in."""
        total, passed = self.rows.summarize(), self.rows.verdicts[Verdict.PASS]
        return replace(
            run,
            score=total.mean,
            pass_rate=Fraction(passed, total.scored) if total.scored else None,
            scored=total.scored,
            unscored=total.unscored,
            checks={name: found.summarize() for name, found in self._name_checks().items()},
            harness={**run.harness, "engines": ", ".join(sorted(self.engines))},
        )

    def list_notes(self) -> Iterator[str]:
        """Say which checks could not grade, and the first reason of each."""
        broken = [(name, found) for name, found in self._name_checks().items() if found.troubles]
        broken.sort(key=lambda pair: -pair[1].troubles)
        for name, found in broken[:_SHOWN_CHECKS]:
            of = f"{found.troubles:,} of {found.verdicts.total():,} outputs"
            yield f"{make_excerpt(name, 60)} could not grade {of}, first {found.first_trouble}"
        if more := len(broken[_SHOWN_CHECKS:]):
            yield f"further checks that could not grade some outputs: {more:,}"

    def _name_checks(self) -> dict[str, AnswerTally]:
        """Name a check by its id, and by rubric and id where two rubrics use one id."""
        uses = Counter(id_ for _, id_ in self.checks)
        named = {id_ if uses[id_] == 1 else f"{rubric}/{id_}": found for (rubric, id_), found in self.checks.items()}
        return {name: named[name] for name in sorted(named)}
