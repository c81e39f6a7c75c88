"""Replays the rows of a run under a side of a change, and measures what that does to scores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import TypeVar

from evalstore.audits.check_matching import EncodedCheck
from evalstore.audits.stored_run import (
    Grader,
    RecordedResults,
    RunArtifactLoader,
    StoredRun,
    list_run_pins,
    read_judge_model,
    read_recorded_results,
    read_stored_run,
    read_strictness,
)
from evalstore.audits.version_path import VersionFinder
from evalstore.checks import combine_results
from evalstore.diff import MovedOutput, RunMeasurement
from evalstore.errors import EvalstoreError, Place, RefError, SchemaError
from evalstore.model import (
    MALFORMED_ERRORS,
    Artifact,
    Check,
    CheckResult,
    JudgeCall,
    Kind,
    Question,
    RubricResult,
    Sample,
    Scoring,
    describe_misfit,
    find_check_pins,
    find_pins,
    parse_ref,
    read_rubric,
)
from evalstore.model.outcome import NO_GRADINGS, Coverage, count_coverage
from evalstore.runs import GradedRow, Run
from evalstore.runs.question_mean import QuestionMean, compute_question_mean
from evalstore.runs.run_files import read_json_objects
from evalstore.scoring.judging import Judges, JudgeSession, open_session
from evalstore.statistics import ExactMean
from evalstore.store import ArtifactStore, Resolved

Load = Callable[[str], Artifact]
# The scoring of a rubric, and its checks, each with its content as one text.
GradingRule = tuple[Scoring, tuple[EncodedCheck, ...]]
_Answer = TypeVar("_Answer")
# What a run's outputs get under one rubric, by question; None where a judge's reply or an artifact
# is missing.
RunResults = Mapping[str, QuestionMean | None]
# A question's outputs under one rubric, and how many of their gradings were made.
_Graded = tuple[QuestionMean | None, Coverage]


def measure_change(
    run: Path, old: ChangeSide, new: ChangeSide, store: ArtifactStore
) -> RunMeasurement:
    """Return how many outputs of a run a change moves, and the mean shift of the score.

    Such an output gets another score or verdict. Only outputs that the change can affect count.
    Judges answer from the replies in the repository's cache, else as the run recorded it, where the
    judge is the same; an output that lacks an answer is unscored. Asks no endpoint. Raises
    `RefusedError` for a run that cannot be graded again here.
    """
    with open_session(Judges(), store.git.common) as session:
        finder = VersionFinder(store)
        grader = OutputGrader(read_stored_run(run, finder), finder, session)
        before, after = (
            SideReplay.from_run(side, grader.stored, finder, session) for side in (old, new)
        )
        rows = grader.stored.rows.items()
        asked = [(id_, row) for id_, row in rows if before.can_affect(row) or after.can_affect(row)]
        grade = grader.grade_row
        found = [(row, grade(before, id_), grade(after, id_)) for id_, row in asked]
        sides = before, after
        apart = sum(any(grader.has_other_input(one, id_) for one in sides) for id_, _ in asked)
    return _sum_impact(grader.stored.run, found, apart)


def _sum_impact(
    run: Run, rows: Sequence[tuple[GradedRow, QuestionMean | None, QuestionMean | None]], apart: int
) -> RunMeasurement:
    """Return what happens to the rows of a run, of which `apart` answer another input."""
    graded = ((row, old, new) for row, old, new in rows if old and new)
    pairs = [(row, old, new) for row, old, new in graded if {old.score, new.score} != {None}]
    moved = [(row, old, new) for row, old, new in pairs if old != new]
    # As in the runs themselves, a mean is over what is scored.
    before, after = ExactMean(), ExactMean()
    for _, old, new in pairs:
        for mean, score in ((before, old.score), (after, new.score)):
            if score is not None:
                mean.add(score)
    means = before.compute_mean(), after.compute_mean()
    return RunMeasurement(
        run=str(run.path),
        outputs=len(rows),
        moved=len(moved),
        verdict_moved=sum(old.verdict is not new.verdict for _, old, new in moved),
        asked_otherwise=apart,
        unscored=len(rows) - len(pairs) - apart,
        mean_shift=None if means[0] is None or means[1] is None else means[1] - means[0],
        # Where none of n moved, at most 3/n do, with 95 % confidence.
        bound=min(Fraction(3, len(pairs)), Fraction(1)) if pairs and not moved else None,
        examples=tuple(_list_examples(run, moved[:5])),
    )


def _list_examples(
    run: Run, moved: list[tuple[GradedRow, QuestionMean, QuestionMean]]
) -> Iterator[MovedOutput]:
    lines = _find_lines(run, {row.id for row, _, _ in moved})
    for row, old, new in moved:
        place = Place(str(run.samples), lines.get(row.id))
        yield MovedOutput(row.id, place, old.score, new.score, old.verdict, new.verdict)


def _find_lines(run: Run, ids: set[str]) -> dict[str, int]:
    """Return the lines of rows by id; a run that holds its rows in itself has none."""
    if not ids or run.samples == run.path:
        return {}
    found = ((row.get("sample_id"), line) for line, row in read_json_objects(run.samples))
    return {id_: line for id_, line in found if id_ in ids}


@dataclass(frozen=True, slots=True)
class ChangeSide:
    """One side of a change: the artifact, and a dataset's questions.

    `load` is how what it refers to is loaded.
    """

    artifact: Artifact
    load: Load
    questions: Callable[[], Iterable[Question]] = tuple

    @property
    def name(self) -> str:
        """`<kind>/<id>`."""
        return self.artifact.name


@dataclass(slots=True)
class SideReplay:
    """One side, ready to grade the rows of a run.

    It has the run's artifacts, except for the one that changed. `is_same`: that one grades as the
    run's own did. `lacking` are the calls of judges that the last row needs.
    """

    side: ChangeSide
    stored: StoredRun
    grader: Grader
    questions: Mapping[str, Question]
    is_same: bool
    lacking: list[JudgeCall] = field(default_factory=list)
    _gradings: dict[str, GradingRule] = field(default_factory=dict)
    _affected_rubrics: dict[str, bool] = field(default_factory=dict)
    _affected_checks: dict[str, frozenset[str]] = field(default_factory=dict)

    @classmethod
    def from_run(
        cls, side: ChangeSide, stored: StoredRun, finder: VersionFinder, session: JudgeSession
    ) -> SideReplay:
        """Prepare one side of a change for the rows of a run."""
        recorded = list_run_pins(stored.run)
        load = _build_loader(side, RunArtifactLoader.from_runs(finder, stored.run))
        grader = Grader(
            load,
            session,
            read_judge_model(stored.run),
            strict=read_strictness(stored.run, finder.store),
        )
        questions = stored.questions
        if side.artifact.kind is Kind.DATASET:
            questions = {item.id: item for item in side.questions() if item.id in stored.rows}
        own = {pin.scoring_digest for pin in recorded if parse_ref(pin.ref).name == side.name}
        is_same = own == {side.artifact.scoring_digest}
        return cls(side, stored, grader, questions, is_same)

    def find_recorded_results(self, row: GradedRow, question: Question) -> RecordedResults:
        """Return what the run recorded of checks that this side grades as the run did."""
        rubric, before = self.stored.rubrics.get(row.rubric), self.stored.questions.get(row.id)
        if rubric is None or before is None or before.reference_digest != question.reference_digest:
            return {}
        found = read_recorded_results(rubric, row)
        # Of checks that the change affects, that holds only on the side that the run was graded
        # with.
        if row.rubric not in self._affected_checks:
            contents = (content for check, content in rubric.checks if self.has_subject(check))
            self._affected_checks[row.rubric] = frozenset(contents)
        affected = self._affected_checks[row.rubric]
        return (
            found
            if self.is_same
            else {content: result for content, result in found.items() if content not in affected}
        )

    def can_affect(self, row: GradedRow) -> bool:
        """Whether the changed artifact can affect the score of a row."""
        if self.side.artifact.kind is Kind.DATASET:
            return self.stored.dataset.resolved.name == self.side.name
        if row.rubric not in self._affected_rubrics:
            own = row.rubric.partition("@")[0] == self.side.name
            run_rubric = self.stored.rubrics.get(row.rubric)
            self._affected_rubrics[row.rubric] = own or any(
                self.has_subject(check) for check, _ in (run_rubric.checks if run_rubric else ())
            )
        return self._affected_rubrics[row.rubric]

    def grade_row(self, row: GradedRow, known: dict[str, CheckResult]) -> QuestionMean | None:
        """Return the result of a row, or None where something is missing.

        `known` maps contents of checks to results.
        """
        return _sum_outputs(self.grade_outputs(row, known))[0]

    def grade_outputs(
        self, row: GradedRow, known: dict[str, CheckResult]
    ) -> list[RubricResult] | None:
        """Return the result of each output of a row, or None where one lacks something.

        `known` is as in `grade_row`.
        """
        self.lacking.clear()
        if not row.samples:
            found = self._grade_output(row, known)
            return None if found is None else [found]
        results = [
            self._grade_output(sample._replace(rubric=row.rubric), {}) for sample in row.samples
        ]
        complete = [result for result in results if result]
        return complete if len(complete) == len(results) else None

    def _grade_output(self, row: GradedRow, known: dict[str, CheckResult]) -> RubricResult | None:
        question = self.questions.get(row.id)
        try:
            grading = self.find_grading(row, question) if question else None
            if question is None or grading is None:
                return None
            scoring, checks = grading
            recorded, sample = (
                self.find_recorded_results(row, question),
                Sample(row.output, question),
            )
            results: dict[str, CheckResult] = {}
            for one in checks:
                result = known.get(one.content) or self.grader.grade_check(
                    one, sample, recorded.get(one.content)
                )
                if result is None:
                    self.lacking += self.grader.lacking
                else:
                    results[one.content] = result
        except RefError:  # an artifact of this side is not there (yet)
            return None
        # All checks were tried, so that the price of a row is that of all of them.
        if any(content not in results for _, content in checks):
            return None
        # What no pin reaches is the same on both sides, so the other side need not grade it again.
        bare = (one for check, one in checks if not any(find_check_pins((), check.params)))
        known |= {content: results[content] for content in bare}
        return combine_results(
            scoring, [results[content]._replace(id=check.id) for check, content in checks]
        )

    def find_grading(self, row: GradedRow, question: Question) -> GradingRule | None:
        """Return what grades a row here.

        It is the changed rubric, the one that its question names, or the recorded one.
        """
        if row.rubric.partition("@")[0] == self.side.name:
            return self._read_grading(self.side.name)
        if self.side.artifact.kind is Kind.DATASET and question.rubric_ref != row.rubric:
            return self._read_grading(question.rubric_ref) if question.rubric_ref else None
        run_rubric = self.stored.rubrics.get(row.rubric)
        return (run_rubric.rubric.scoring, run_rubric.checks) if run_rubric else None

    def _read_grading(self, ref: str) -> GradingRule:
        """Return what a reference means here.

        It is resolved once, however many questions have it.
        """
        if ref not in self._gradings:
            try:
                rubric = read_rubric(self.grader.load(ref).value)
            except MALFORMED_ERRORS as error:
                raise SchemaError(
                    f"{ref} is not a valid rubric: {describe_misfit(error)}",
                    hint="evalstore validate says why",
                ) from None
            self._gradings[ref] = rubric.scoring, tuple(map(EncodedCheck.from_check, rubric.checks))
        return self._gradings[ref]

    def list_affected_checks(self, rubric: str) -> list[Check]:
        """Return the checks of a rubric of the run that the change can affect.

        They refer to the changed artifact, or to a rubric that does.
        """
        run_rubric = self.stored.rubrics.get(rubric)
        return (
            [check for check, _ in run_rubric.checks if self.has_subject(check)]
            if run_rubric
            else []
        )

    def has_subject(self, check: Check) -> bool:
        """Whether a check refers to the changed artifact, or to a rubric that does."""
        pins = (text for _, text in find_check_pins((), check.params))
        return any(self._leads_to_subject(text, inner=True) for text in pins)

    def _leads_to_subject(self, text: str, *, inner: bool = False) -> bool:
        try:
            ref = parse_ref(text)
            if ref.name == self.side.name or not inner or ref.kind is not Kind.RUBRIC:
                return ref.name == self.side.name
            pins = find_pins(Kind.RUBRIC, self.grader.load(text).value)
            return any(self._leads_to_subject(pin) for _, pin in pins)
        except EvalstoreError:
            return False  # a reference that resolves to nothing


def _build_loader(side: ChangeSide, recorded: Load) -> Load:
    """Return the loader of a side's checks.

    It loads the changed artifact, else the run's, else the side's own.
    """

    def load(text: str) -> Artifact:
        if parse_ref(text).name == side.name:
            return side.artifact
        try:
            return recorded(text)
        except RefError:
            return side.load(text)

    return load


@dataclass(frozen=True, slots=True)
class RunTotals:
    """The mean score and the mean share of passes over the scored questions.

    They are None without any, or where replies are missing. `missing` counts the outputs that could
    not be graded, because a reply or an artifact is missing. `coverage` is that of the outputs that
    could.
    """

    score: Fraction | None
    pass_rate: Fraction | None
    scored: int
    missing: int = 0
    coverage: Coverage = NO_GRADINGS


@dataclass(slots=True)
class OutputGrader:
    """The outputs of one stored run.

    What no judge answers and no other artifact changes is graded once.
    """

    stored: StoredRun
    finder: VersionFinder
    session: JudgeSession
    _known: dict[tuple[str, str, str], dict[str, CheckResult]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # Rows are held, for they are graded under one rubric after the other.
        self.stored = replace(self.stored, rows=dict(self.stored.rows))

    @property
    def recorded(self) -> RunResults:
        """The results that the run recorded."""
        return {id_: row.mean for id_, row in self.stored.rows.items()}

    def grade_under(self, resolved: Resolved) -> RunResults:
        """Return the results of all outputs with `resolved` in place of the artifact of its name.

        Outputs that it does not reach keep what the run recorded. A rubric that graded none of them
        grades them all.
        """
        return {id_: mean for id_, (mean, _) in self._grade_rows(resolved).items()}

    def sum_under(self, resolved: Resolved) -> RunTotals:
        """Return the totals of the same results, with their coverage."""
        graded = self._grade_rows(resolved)
        counts = [coverage for _, coverage in graded.values()]
        coverage = Coverage(sum(one.graded for one in counts), sum(one.asked for one in counts))
        totals = sum_results({id_: mean for id_, (mean, _) in graded.items()})
        return replace(totals, coverage=coverage)

    def _grade_rows(self, resolved: Resolved) -> dict[str, _Graded]:
        store = self.finder.store
        reaches_all = resolved.kind is Kind.RUBRIC and not self.has_used(resolved)
        stored = self._give_rubric(resolved) if reaches_all else self.stored
        side = ChangeSide(resolved.artifact, store.read_artifact, lambda: store.questions(resolved))
        replay = SideReplay.from_run(side, stored, self.finder, self.session)
        ids = self.session.judges.watch(stored.rows, len(stored.rows))
        return {id_: self._grade_row(replay, id_) for id_ in ids}

    def has_used(self, resolved: Resolved) -> bool:
        """Whether an artifact of this name graded an output of the run.

        It may have done so through another.
        """
        side = ChangeSide(resolved.artifact, self.finder.store.read_artifact)
        replay = SideReplay.from_run(side, self.stored, self.finder, self.session)
        return any(replay.can_affect(row) for row in self.stored.rows.values())

    def _give_rubric(self, resolved: Resolved) -> StoredRun:
        rows = {id_: row._replace(rubric=resolved.name) for id_, row in self.stored.rows.items()}
        return replace(self.stored, rows=rows)

    def has_other_input(self, replay: SideReplay, id_: str) -> bool:
        """Whether a question has another input on a side, which its outputs do not answer."""
        asked = [side.get(id_) for side in (self.stored.questions, replay.questions)]
        return len({question.input_digest for question in asked if question}) > 1

    def grade_row(self, replay: SideReplay, id_: str) -> QuestionMean | None:
        """Return the result of one question's outputs under one side.

        It is None where something is missing.
        """
        return self._grade_row(replay, id_)[0]

    def _grade_row(self, replay: SideReplay, id_: str) -> _Graded:
        row, after = replay.stored.rows[id_], replay.questions.get(id_)
        if not replay.can_affect(row):
            return row.mean, count_coverage(result for one in row.outputs for result in one.checks)
        if after is None or id_ not in self.stored.questions or self.has_other_input(replay, id_):
            return None, NO_GRADINGS
        known = self._known.setdefault((id_, after.input_digest, after.reference_digest), {})
        found = replay.grade_outputs(row, known)
        if found is None:
            self.session.note_missing(replay.lacking)
        return _sum_outputs(found)


def _sum_outputs(found: Sequence[RubricResult] | None) -> _Graded:
    if found is None:
        return None, NO_GRADINGS
    coverage = count_coverage(result for one in found for result in one.checks)
    return compute_question_mean((one.score, one.verdict) for one in found), coverage


def sum_results(results: RunResults) -> RunTotals:
    """Return the totals of a run's results.

    There is no score where some are missing, because they would move it.
    """
    missing = sum(result is None for result in results.values())
    scored = [result for result in results.values() if result and result.score is not None]
    if missing or not scored:
        return RunTotals(None, None, len(scored), missing)
    scores, passes = ExactMean(), ExactMean()
    for result in scored:
        scores.add(result.score or Fraction(0))
        passes.add(result.pass_share or Fraction(0))
    return RunTotals(scores.compute_mean(), passes.compute_mean(), len(scored))


def grade_with_judges(
    store: ArtifactStore,
    judges: Judges | None,
    attempt: Callable[[VersionFinder, JudgeSession], _Answer],
) -> _Answer:
    """Return what `attempt` returns once every judge that can be asked was.

    The session has the calls that are still missing. It is called again after the calls that it
    lacked were priced and made; so it must start anew.
    """
    with open_session(judges or Judges(), store.git.common) as session:
        return session.repeat_until_answered(lambda: attempt(VersionFinder(store), session))


def list_pairs(
    old: RunResults, new: RunResults
) -> Iterator[tuple[str, QuestionMean, QuestionMean]]:
    """Yield the outputs that have a result under both rubrics."""
    for id_, before in old.items():
        after = new.get(id_)
        if before is not None and after is not None:
            yield id_, before, after
