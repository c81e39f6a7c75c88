"""The hybrids of one track, made once: every variant of a check has a number, so that a question grades each once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from evalstore.audits.edits import RubricEdits
from evalstore.audits.lineage import content_of
from evalstore.audits.shapley import State, visited
from evalstore.checks import combine_results
from evalstore.model import Check, CheckResult, Scoring

CheckNumbers = tuple[int, ...]


@dataclass(slots=True)
class HybridRubrics:
    """A track ready for many questions: `checks` are the variants by number, each with its content as one text."""

    track: RubricEdits
    checks: list[tuple[Check, str]] = field(default_factory=list)
    _check_numbers: dict[tuple[str, str], int] = field(default_factory=dict)
    _hybrids: dict[State, tuple[CheckNumbers, Scoring]] = field(default_factory=dict)
    _scores: dict[tuple[State, CheckNumbers], Fraction | None] = field(default_factory=dict)
    _outcomes: dict[tuple[object, ...], int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for state in visited(self.track.levels):
            self._get_hybrid(state)

    def outcome(self, result: CheckResult) -> int:
        """Return the number of what a result means for a score; equal results have equal numbers."""
        return self._outcomes.setdefault((result.score, result.verdict, result.unscored), len(self._outcomes))

    def score(self, state: State, results: Sequence[CheckResult], outcomes: Sequence[int]) -> Fraction | None:
        """Return the score of the hybrid at `state`; `results` and `outcomes` are those of the variants, by number."""
        held, scoring = self._get_hybrid(state)
        key = state, tuple(outcomes[number] for number in held)
        if key not in self._scores:
            self._scores[key] = combine_results(scoring, [results[number] for number in held]).score
        return self._scores[key]

    def _get_hybrid(self, state: State) -> tuple[CheckNumbers, Scoring]:
        if state not in self._hybrids:
            rubric = self.track.hybrid(state)
            self._hybrids[state] = tuple(map(self._number_check, rubric.checks)), rubric.scoring
        return self._hybrids[state]

    def _number_check(self, check: Check) -> int:
        content = content_of(check)
        if (check.id, content) not in self._check_numbers:
            self._check_numbers[check.id, content] = len(self.checks)
            self.checks.append((check, content))
        return self._check_numbers[check.id, content]
