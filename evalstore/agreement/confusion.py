"""The confusion matrix of a judge and people: rates, kappa, the constant baseline; pure.

Rates and kappa are exact fractions; intervals need a square root and are floats. What a count of 0
leaves undefined is None, never a number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction

from evalstore.agreement.labels import LabelledRow
from evalstore.documents.edit_entries import Scalar
from evalstore.model import CheckResult, Verdict
from evalstore.runs import UsedArtifact
from evalstore.statistics import ChangeEstimate, Conclusion, Interval, Rate, estimate_change

# Reports show the first cases; the counts include all rows.
_CASE_LIMIT = 100
_MOST_UNJUDGED = Fraction(2, 100)
# label, verdict -> the count; "true" means that the judge agrees with the label.
COUNT_NAMES = {
    (Verdict.PASS, Verdict.PASS): "true_pass",
    (Verdict.PASS, Verdict.FAIL): "false_fail",
    (Verdict.FAIL, Verdict.PASS): "false_pass",
    (Verdict.FAIL, Verdict.FAIL): "true_fail",
}


@dataclass(frozen=True, slots=True)
class Confusion:
    """How often a label met a verdict: `false_pass` counts bad outputs that the judge passed."""

    true_pass: int = 0
    false_fail: int = 0
    false_pass: int = 0
    true_fail: int = 0

    @property
    def rows(self) -> int:
        """How many rows have both a label and a verdict."""
        return self.good + self.bad

    @property
    def good(self) -> int:
        """How many outputs are truly good."""
        return self.true_pass + self.false_fail

    @property
    def bad(self) -> int:
        """How many outputs are truly bad."""
        return self.true_fail + self.false_pass

    @property
    def apart(self) -> int:
        """On how many outputs the judge and the label disagree."""
        return self.false_fail + self.false_pass

    @property
    def tpr(self) -> Rate:
        """The share of truly good outputs that the judge passes."""
        return Rate(self.true_pass, self.good)

    @property
    def tnr(self) -> Rate:
        """The share of truly bad outputs that the judge fails."""
        return Rate(self.true_fail, self.bad)

    @property
    def accuracy(self) -> Rate:
        """The share of outputs on which the judge and the label agree."""
        return Rate(self.true_pass + self.true_fail, self.rows)

    @property
    def kappa(self) -> Fraction | None:
        """Cohen's kappa: the agreement beyond chance, as a share of what chance leaves open.

        None without rows, and if chance leaves nothing open because all labels and verdicts are the
        same.
        """
        by_chance = self._by_chance
        open_ = self.rows**2 - by_chance
        return Fraction(self.accuracy.hits * self.rows - by_chance, open_) if open_ else None

    @property
    def _by_chance(self) -> int:
        """How often both agree by chance (Cohen 1960), times the rows squared: an integer."""
        passed, failed = self.true_pass + self.false_pass, self.true_fail + self.false_fail
        return self.good * passed + self.bad * failed

    @property
    def kappa_interval(self) -> Interval | None:
        """The 95 % interval of kappa: the agreement's, taking chance as given (Cohen 1960)."""
        by_chance, agreement = self._by_chance, self.accuracy.interval
        open_ = self.rows**2 - by_chance
        if not open_ or agreement is None:
            return None
        low, high = (max(-1.0, (end * self.rows**2 - by_chance) / open_) for end in agreement)
        return low, high

    @property
    def constant(self) -> Verdict:
        """The constant answer that is right most often; `pass` if both are right equally often."""
        return Verdict.PASS if self.good >= self.bad else Verdict.FAIL

    @property
    def baseline(self) -> Rate:
        """The accuracy of always giving that answer."""
        return Rate(max(self.good, self.bad), self.rows)

    @property
    def beats_baseline(self) -> bool:
        """Whether the judge is right more often than a constant answer."""
        return self.accuracy.hits > self.baseline.hits

    @property
    def advantage(self) -> ChangeEstimate:
        """What these rows show about the judge against the constant, on other rows like them."""
        is_pass = self.constant is Verdict.PASS
        won, lost = (
            (self.true_fail, self.false_fail) if is_pass else (self.true_pass, self.false_pass)
        )
        shares = {Fraction(1): won, Fraction(-1): lost, Fraction(0): self.rows - won - lost}
        return estimate_change(Counter({(share, 1): count for share, count in shares.items()}))

    @property
    def surely_beats_baseline(self) -> bool:
        """Whether the judge is right more often by more than these rows could show by chance."""
        return self.beats_baseline and self.advantage.conclusion is Conclusion.SIGNIFICANT


@dataclass(frozen=True, slots=True)
class LabelledCase:
    """One row worth a look: its label, the judge's verdict, and the reason."""

    id: str
    line: int
    label: Verdict
    verdict: Verdict
    score: Fraction | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Agreement:
    """The result of measuring a judge on labelled rows, and the entries that its file gets.

    `read` counts the verdicts that were in the labels, `unjudged` the rows that no number counts;
    `engines` are the models that answered. `apart` and `left_out` are the first rows on which judge
    and label disagree, and the first without a verdict. `retires` is the day on which the endpoint
    switches the judge's model off, if it says so. An entry that is None is not in the file
    afterwards; `written` is the file, None if nothing was written.
    """

    judge: UsedArtifact
    labels: str
    labels_sha256: str
    threshold: Fraction
    confusion: Confusion
    against: UsedArtifact | None = None
    read: int = 0
    unjudged: int = 0
    engines: tuple[str, ...] = ()
    apart: tuple[LabelledCase, ...] = ()
    left_out: tuple[LabelledCase, ...] = ()
    retires: date | None = None
    notes: tuple[str, ...] = ()
    entries: Mapping[str, Scalar | None] = field(default_factory=dict)
    diff: str = ""
    written: str | None = None

    @property
    def misses_many(self) -> bool:
        """Whether so many rows could not be judged that the others say little about the judge."""
        return self.unjudged > _MOST_UNJUDGED * (self.unjudged + self.confusion.rows)


@dataclass(slots=True)
class LabelTally:
    """The counts so far, and the first rows worth a look."""

    counts: Counter[str] = field(default_factory=Counter)
    read: int = 0
    unjudged_count: int = 0
    engines: set[str] = field(default_factory=set)
    questions: set[str] = field(default_factory=set)
    apart: list[LabelledCase] = field(default_factory=list)
    left_out: list[LabelledCase] = field(default_factory=list)

    def add_recorded_verdict(self, label: LabelledRow) -> LabelledCase:
        """Count a row with the verdict in its file, and return it as a case."""
        verdict = label.verdict or Verdict.UNSCORED
        self.read += verdict is not Verdict.UNSCORED
        return self._count_case(
            LabelledCase(label.id, label.line, label.label, verdict, reason="so say the labels")
        )

    def add_judged_verdict(self, label: LabelledRow, result: CheckResult) -> LabelledCase:
        """Count a row with the verdict of the judge, and return it as a case."""
        if result.verdict is not Verdict.UNSCORED:
            self.engines.add(result.engine)
        case = LabelledCase(
            label.id, label.line, label.label, result.verdict, result.score, result.reason
        )
        return self._count_case(case)

    @property
    def confusion(self) -> Confusion:
        """The confusion matrix so far."""
        return Confusion(**self.counts)

    def _count_case(self, case: LabelledCase) -> LabelledCase:
        self.questions.add(case.id)
        if case.verdict is Verdict.UNSCORED:
            self.unjudged_count += 1
            self.left_out += [case][: _CASE_LIMIT - len(self.left_out)]
            return case
        self.counts[COUNT_NAMES[case.label, case.verdict]] += 1
        if case.label is not case.verdict:
            self.apart += [case][: _CASE_LIMIT - len(self.apart)]
        return case
