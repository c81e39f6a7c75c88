"""One common question under every mix of the two runs: graded check by check, attributed once for equal results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from evalstore.audit.attribute import Attribution, Cell, attribute
from evalstore.audit.causes import Journey, Sources, journey, repin
from evalstore.audit.edits import Hybrid, Track
from evalstore.audit.questions import History, References, find_repin, references_of
from evalstore.audit.replay import Grader, Stored, mixed
from evalstore.audit.rulers import Rulers
from evalstore.audit.shapley import State
from evalstore.audit.values import Origin, Source
from evalstore.checks import combine
from evalstore.model import CheckResult

# Which variant of a check, which state of the reference, and whose output (0 is A, 1 is B).
Table = Mapping[tuple[int, int, int], CheckResult]
_JourneyKey = tuple[str, str, Origin | None]
_Signature = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Common:
    """One question that both runs scored: its attribution (None if inseparable), and the sources of the edits."""

    id: str
    levels: Cell
    attribution: Attribution | None
    sources: tuple[Sources, ...]
    silent: tuple[Source, ...]


@dataclass(slots=True)
class Pairs:
    """Attributes common questions; journeys and equal tables are worked out once."""

    a: Stored
    b: Stored
    rulers: Rulers
    grader: Grader
    history: History
    _journeys: dict[_JourneyKey, Journey] = field(default_factory=dict)
    _hybrids: dict[tuple[_JourneyKey, State], Hybrid] = field(default_factory=dict)
    _attributions: dict[_Signature, Attribution | None] = field(default_factory=dict)

    def common(self, id_: str) -> Common:
        """Return the attribution of one question that both runs have scored."""
        key, passed = self._journey(id_)
        references = references_of(self.history, self.a.asked[id_])
        anew = self._anew(id_)
        levels: Cell = (passed.track.levels, _levels(len(references.sources)), _levels(int(anew)))
        table = self._table(id_, passed.track, references, anew=anew)
        return Common(
            id=id_,
            levels=levels,
            attribution=self._attribution(key, passed.track, levels, table),
            sources=(passed.sources, _sources(references.sources), _sources((self._answered(),) if anew else ())),
            silent=passed.silent,
        )

    def _journey(self, id_: str) -> tuple[_JourneyKey, Journey]:
        refs = self.a.rows[id_].rubric, self.b.rows[id_].rubric
        old, new = self.a.rulers[refs[0]], self.b.rulers[refs[1]]
        name = new.resolved.name
        brought = None if old.resolved.name == name else find_repin(self.history, id_, name)
        key = (*refs, brought)
        if key not in self._journeys:
            same = old.resolved.name == name
            self._journeys[key] = journey(self.rulers, old, new) if same else repin(old, new, brought)
        return key, self._journeys[key]

    def _anew(self, id_: str) -> bool:
        """Whether the outputs differ, or what they answered."""
        a, b = self.a.rows[id_].output_digest, self.b.rows[id_].output_digest
        return a != b or self.a.asked[id_].input != self.b.asked[id_].input

    def _answered(self) -> Source:
        return Source(None, Origin(None, self.a.run.model, self.b.run.model))

    def _table(self, id_: str, track: Track, references: References, *, anew: bool) -> Table:
        sides = [(side.rows[id_], side.asked[id_]) for side in ((self.a, self.b) if anew else (self.a,))]
        outputs = [(row.output, row.output_digest, asked) for row, asked in sides]
        return {
            (variant, state, side): self.grader.grade(check, mixed(reference, asked), output, digest)
            for variant, check in enumerate(track.variants)
            for state, reference in enumerate(references.states)
            for side, (output, digest, asked) in enumerate(outputs)
        }

    def _attribution(self, key: _JourneyKey, track: Track, levels: Cell, table: Table) -> Attribution | None:
        results = tuple((result.score, result.verdict, result.unscored) for result in table.values())
        signature = (key, levels, results)
        if signature not in self._attributions:
            self._attributions[signature] = attribute(levels, lambda cell: self._score(key, track, table, cell))
        return self._attributions[signature]

    def _score(self, key: _JourneyKey, track: Track, table: Table, cell: Cell) -> Fraction | None:
        edits, reference, output = cell
        hybrid = self._hybrids.get((key, edits))
        if hybrid is None:
            hybrid = self._hybrids[key, edits] = track.hybrid(edits)
        results = [table[variant, sum(reference), sum(output)] for variant in hybrid.variants]
        return combine(hybrid.scoring, results).score


def _levels(steps: int) -> State:
    return (steps,) if steps else ()


def _sources(steps: tuple[Source, ...]) -> Sources:
    return (steps,) if steps else ()
