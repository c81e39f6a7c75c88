"""Counts labels against verdicts, and keeps the first rows that are worth a look; reads nothing."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from evalstore.agreement.labels import Label
from evalstore.agreement.statistics import Confusion
from evalstore.agreement.values import Case
from evalstore.model import CheckResult, Verdict

_CASE_LIMIT = 100
_COUNT_NAMES = {
    (Verdict.PASS, Verdict.PASS): "true_pass",
    (Verdict.PASS, Verdict.FAIL): "false_fail",
    (Verdict.FAIL, Verdict.PASS): "false_pass",
    (Verdict.FAIL, Verdict.FAIL): "true_fail",
}


@dataclass(slots=True)
class Tally:
    """The rows so far."""

    counts: Counter[str] = field(default_factory=Counter)
    read: int = 0
    unjudged: int = 0
    engines: set[str] = field(default_factory=set)
    apart: list[Case] = field(default_factory=list)
    left_out: list[Case] = field(default_factory=list)

    def take(self, label: Label) -> None:
        """Count a row with the verdict that it holds."""
        verdict = label.verdict or Verdict.UNSCORED
        self.read += verdict is not Verdict.UNSCORED
        self._count_case(Case(label.id, label.line, label.label, verdict, reason="so say the labels"))

    def judge(self, label: Label, result: CheckResult) -> None:
        """Count a row with the verdict that the judge gives now."""
        if result.verdict is not Verdict.UNSCORED:
            self.engines.add(result.engine)
        self._count_case(Case(label.id, label.line, label.label, result.verdict, result.score, result.reason))

    @property
    def confusion(self) -> Confusion:
        """The four counts."""
        return Confusion(**self.counts)

    def _count_case(self, case: Case) -> None:
        if case.verdict is Verdict.UNSCORED:
            self.unjudged += 1
            self.left_out += [case][: _CASE_LIMIT - len(self.left_out)]
            return
        self.counts[_COUNT_NAMES[case.label, case.verdict]] += 1
        if case.label is not case.verdict:
            self.apart += [case][: _CASE_LIMIT - len(self.apart)]
