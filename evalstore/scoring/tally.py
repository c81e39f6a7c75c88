"""Sums rows into the exact numbers of a run, in memory that does not grow with the rows; reads no file."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction

from evalstore.judging import NO_REPLY
from evalstore.model import CheckResult, UnscoredReason, Verdict
from evalstore.runs import CheckSummary, GradedRow, Run
from evalstore.scoring.question_sums import ExactMean, QuestionSums
from evalstore.text import make_excerpt

_SHOWN_CHECKS = 3  # in notes; the run's table has all checks


@dataclass(slots=True)
class AnswerTally:
    """The counts of one check so far."""

    mean: ExactMean = field(default_factory=ExactMean)
    verdicts: Counter[Verdict] = field(default_factory=Counter)
    errors: int = 0
    troubles: int = 0  # errors, except for missing replies, which the judges report themselves
    first_trouble: str = ""
    error_ids: dict[str, None] = field(default_factory=dict)

    def add(self, score: Fraction | None, verdict: Verdict) -> None:
        """Count one result."""
        self.verdicts[verdict] += 1
        if score is not None:
            self.mean.add(score)

    def add_check(self, check: CheckResult, id_: str) -> None:
        """Count the result of a check on the output of the question `id_`."""
        self.add(check.score, check.verdict)
        if check.unscored is UnscoredReason.ERROR:
            self.errors += 1
            self.error_ids[id_] = None
            # Missing replies are noted once by the session, not by every check.
            if NO_REPLY.problem not in check.reason:
                self.troubles += 1
                self.first_trouble = self.first_trouble or f"'{make_excerpt(id_, 60)}': {make_excerpt(check.reason)}"

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
        )


@dataclass(slots=True)
class RunTally:
    """All sums of a run so far; the samples of a question count as one, by their exact mean."""

    questions: QuestionSums
    outputs: int = 0
    checks: defaultdict[tuple[str, str], AnswerTally] = field(default_factory=lambda: defaultdict(AnswerTally))
    engines: set[str] = field(default_factory=set)

    def add(self, row: GradedRow, number: int) -> None:
        """Count one row and its checks; `number` is the position of its question."""
        self.questions.add(number, (row.score, row.verdict))
        self.outputs += 1
        rubric = row.rubric.partition("@")[0].partition("/")[2]
        for check in row.checks:
            self.engines.update(check.engine.split(", "))  # a jury and a composite name several
            self.checks[rubric, check.id].add_check(check, row.id)

    def fill_sums(self, run: Run) -> Run:
        """Return `run` with the sums filled in."""
        sums = self.questions
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

    def list_notes(self) -> Iterator[str]:
        """Yield notes about checks that could not grade, each with its first reason."""
        broken = [(name, found) for name, found in self._name_checks().items() if found.troubles]
        broken.sort(key=lambda pair: -pair[1].troubles)
        for name, found in broken[:_SHOWN_CHECKS]:
            of = f"{found.troubles:,} of {found.verdicts.total():,} outputs"
            yield f"{make_excerpt(name, 60)} could not grade {of}, first {found.first_trouble}"
        if more := len(broken[_SHOWN_CHECKS:]):
            yield f"further checks that could not grade some outputs: {more:,}"

    def _name_checks(self) -> dict[str, AnswerTally]:
        """Return the tallies by check id, or by rubric and id where two rubrics use one id."""
        # Two rubrics of one dataset may each have a check of the same id.
        uses = Counter(id_ for _, id_ in self.checks)
        named = {id_ if uses[id_] == 1 else f"{rubric}/{id_}": found for (rubric, id_), found in self.checks.items()}
        return {name: named[name] for name in sorted(named)}
