"""The hybrids of one track, made once: every variant of a check has a number, so that a question grades each once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from evalstore.audit.edits import Track
from evalstore.audit.lineage import content_of
from evalstore.audit.shapley import State, visited
from evalstore.checks import combine
from evalstore.model import Check, CheckResult, Scoring


@dataclass(slots=True)
class Plan:
    """A track ready for many questions."""

    track: Track
    variants: list[Check] = field(default_factory=list)
    _numbers: dict[tuple[str, str], int] = field(default_factory=dict)
    _hybrids: dict[State, tuple[tuple[int, ...], Scoring]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for state in visited(self.track.levels):
            self._hybrid(state)

    def score(self, state: State, results: Sequence[CheckResult]) -> Fraction | None:
        """Return the score of the hybrid at `state`; `results` are those of the variants, by number."""
        held, scoring = self._hybrid(state)
        return combine(scoring, [results[number] for number in held]).score

    def _hybrid(self, state: State) -> tuple[tuple[int, ...], Scoring]:
        if state not in self._hybrids:
            rubric = self.track.hybrid(state)
            self._hybrids[state] = tuple(map(self._number, rubric.checks)), rubric.scoring
        return self._hybrids[state]

    def _number(self, check: Check) -> int:
        key = check.id, content_of(check)
        if key not in self._numbers:
            self._numbers[key] = len(self.variants)
            self.variants.append(check)
        return self._numbers[key]
