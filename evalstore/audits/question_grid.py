"""Grades one common question under every mix of the two runs, and attributes its change; equal grids only once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from evalstore.audits.attribution import Attribution, Cell, attribute_change
from evalstore.audits.edit_history import EditHistory, Sources, trace_edits, trace_repin
from evalstore.audits.grader import Grader
from evalstore.audits.rubric_edits import RubricEdits, encode_check
from evalstore.audits.shapley import State, list_states
from evalstore.audits.stored_run import (
    QuestionHistory,
    ReferenceHistory,
    StoredRun,
    add_to_mix,
    find_repin,
    trace_references,
)
from evalstore.audits.values import EditSource, Origin
from evalstore.audits.version_path import VersionFinder
from evalstore.checks import combine_results
from evalstore.model import Check, CheckResult, Scoring

CheckNumbers = tuple[int, ...]
# By step of the reference and by side of the output (0 is run A, 1 is run B): results and outcomes of all `checks`.
Table = Mapping[tuple[int, int], tuple[Sequence[CheckResult], Sequence[int]]]
_EditsKey = tuple[str, str, Origin | None]
_Signature = tuple[object, ...]


@dataclass(slots=True)
class HybridRubrics:
    """The hybrid rubrics of some edits, made once: `checks` are all variants, so that a question grades each once."""

    edits: RubricEdits
    checks: list[tuple[Check, str]] = field(default_factory=list)
    _check_numbers: dict[tuple[str, str], int] = field(default_factory=dict)
    _hybrids: dict[State, tuple[CheckNumbers, Scoring]] = field(default_factory=dict)
    _scores: dict[tuple[State, CheckNumbers], Fraction | None] = field(default_factory=dict)
    _outcomes: dict[tuple[object, ...], int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # Build all hybrids now: `checks` must be complete before the first question is graded.
        for state in list_states(self.edits.levels):
            self._get_hybrid(state)

    def number_outcome(self, result: CheckResult) -> int:
        """Return a number for message a result means to a score; equal results have equal numbers."""
        return self._outcomes.setdefault((result.score, result.verdict, result.unscored), len(self._outcomes))

    def score_state(self, state: State, results: Sequence[CheckResult], outcomes: Sequence[int]) -> Fraction | None:
        """Return the score of the hybrid at `state`; `results` and `outcomes` are in the order of `checks`."""
        numbers, scoring = self._get_hybrid(state)
        # Most questions of a dataset give equal outcomes, so a score is computed once for all of them.
        key = state, tuple(outcomes[number] for number in numbers)
        if key not in self._scores:
            self._scores[key] = combine_results(scoring, [results[number] for number in numbers]).score
        return self._scores[key]

    def _get_hybrid(self, state: State) -> tuple[CheckNumbers, Scoring]:
        if state not in self._hybrids:
            rubric = self.edits.build_hybrid(state)
            self._hybrids[state] = tuple(map(self._number_check, rubric.checks)), rubric.scoring
        return self._hybrids[state]

    def _number_check(self, check: Check) -> int:
        content = encode_check(check)
        if (check.id, content) not in self._check_numbers:
            self._check_numbers[check.id, content] = len(self.checks)
            self.checks.append((check, content))
        return self._check_numbers[check.id, content]


@dataclass(frozen=True, slots=True)
class CommonQuestion:
    """One question that both runs scored: its attribution (None if inseparable), and the sources of its edits."""

    id: str
    levels: Cell
    attribution: Attribution | None
    sources: tuple[Sources, ...]
    silent: tuple[EditSource, ...]


@dataclass(slots=True)
class QuestionAttributor:
    """Attributes common questions; edits and equal grids are computed once."""

    a: StoredRun
    b: StoredRun
    finder: VersionFinder
    grader: Grader
    history: QuestionHistory
    _edit_histories: dict[_EditsKey, tuple[EditHistory, HybridRubrics]] = field(default_factory=dict)
    _attributions: dict[_Signature, Attribution | None] = field(default_factory=dict)

    def attribute_question(self, id_: str) -> CommonQuestion:
        """Return the attribution of one question that both runs have scored."""
        key = self._find_edits_key(id_)
        edit_history, hybrids = self._find_edit_history(key)
        references = trace_references(self.history, self.a.questions[id_])
        # Equal outputs are graded once: their side of the grid has a single row.
        output_sources = (self._make_output_source(),) if self._has_other_output(id_) else ()
        table = self._grade_variants(id_, hybrids, references, sides=1 + len(output_sources))
        levels: Cell = (edit_history.edits.levels, _count_steps(references.sources), _count_steps(output_sources))
        return CommonQuestion(
            id=id_,
            levels=levels,
            attribution=self._find_attribution(key, hybrids, levels, table),
            sources=(edit_history.sources, _group_sources(references.sources), _group_sources(output_sources)),
            silent=edit_history.silent,
        )

    def _find_edits_key(self, id_: str) -> _EditsKey:
        old, new = self.a.rows[id_].rubric, self.b.rows[id_].rubric
        name = new.partition("@")[0]
        # A question that moved to another rubric has one edit, whose origin is the release of the dataset.
        return old, new, None if old.partition("@")[0] == name else find_repin(self.history, id_, name)

    def _find_edit_history(self, key: _EditsKey) -> tuple[EditHistory, HybridRubrics]:
        if key not in self._edit_histories:
            old, new = self.a.rubrics[key[0]].version, self.b.rubrics[key[1]].version
            same = old.resolved.name == new.resolved.name
            edit_history = trace_edits(self.finder, old, new) if same else trace_repin(old, new, key[2])
            self._edit_histories[key] = edit_history, HybridRubrics(edit_history.edits)
        return self._edit_histories[key]

    def _has_other_output(self, id_: str) -> bool:
        """Whether the outputs differ, or the inputs that they answer."""
        a, b = self.a.rows[id_].output_digest, self.b.rows[id_].output_digest
        return a != b or self.a.questions[id_].input_digest != self.b.questions[id_].input_digest

    def _make_output_source(self) -> EditSource:
        a, b = self.a.run.model, self.b.run.model
        message = (
            "the same model answered again"
            if a == b
            else "model and its settings, which stored outputs cannot separate"
        )
        return EditSource(None, Origin(None, a, b), message=message)

    def _grade_variants(self, id_: str, hybrids: HybridRubrics, references: ReferenceHistory, *, sides: int) -> Table:
        answers = [(side.rows[id_], side.questions[id_]) for side in (self.a, self.b)[:sides]]
        table = {}
        for state, reference in enumerate(references.states):
            for side, (row, question) in enumerate(answers):
                results = self.grader.grade_checks(hybrids.checks, add_to_mix(reference, question), row)
                table[state, side] = results, [hybrids.number_outcome(result) for result in results]
        return table

    def _find_attribution(
        self, key: _EditsKey, hybrids: HybridRubrics, levels: Cell, table: Table
    ) -> Attribution | None:
        signature = (
            key,
            levels,
            tuple(number_outcome for _, outcomes in table.values() for number_outcome in outcomes),
        )
        if signature not in self._attributions:

            def score(cell: Cell) -> Fraction | None:
                rubric_state, reference, output = cell
                return hybrids.score_state(rubric_state, *table[sum(reference), sum(output)])

            self._attributions[signature] = attribute_change(levels, score)
        return self._attributions[signature]


def _count_steps(steps: Sequence[EditSource]) -> State:
    return (len(steps),) if steps else ()


def _group_sources(steps: Sequence[EditSource]) -> Sources:
    return (tuple(steps),) if steps else ()
