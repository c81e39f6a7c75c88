"""One side of a change at work on the rows of a run: what it was recorded with, but for the artifact that changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from evalstore.audits.grader import Grader
from evalstore.audits.reach import RunArtifactLoader, model_of
from evalstore.audits.rulers import VersionFinder
from evalstore.audits.stored import QuestionVersion, StoredRun, asked_of, with_contents
from evalstore.checks import combine_results
from evalstore.errors import EvalstoreError, RefError, SchemaError
from evalstore.judging import JudgeSession
from evalstore.model import (
    MALFORMED_ERRORS,
    Artifact,
    Check,
    CheckResult,
    Kind,
    Question,
    RubricResult,
    Scoring,
    check_pins,
    parse_ref,
    pins_of,
    rubric_of,
)
from evalstore.runs import GradedRow

Load = Callable[[str], Artifact]
# How the checks of a rubric are combined, and the checks, each with its content as one text.
_GradingRule = tuple[Scoring, tuple[tuple[Check, str], ...]]


@dataclass(frozen=True, slots=True)
class ChangeSide:
    """One side of a change: the artifact, how what it refers to is loaded, and a dataset's questions."""

    artifact: Artifact
    load: Load
    questions: Callable[[], Iterable[Question]] = tuple

    @property
    def name(self) -> str:
        """`<kind>/<id>`."""
        return self.artifact.name


@dataclass(slots=True)
class SideReplay:
    """One side, ready to grade the rows of a run; rubrics are read once."""

    side: ChangeSide
    stored: StoredRun
    grader: Grader
    asked: Mapping[str, QuestionVersion]
    _parsed_rubrics: dict[str, _GradingRule] = field(default_factory=dict)
    _affected_rubrics: dict[str, bool] = field(default_factory=dict)

    @classmethod
    def of(cls, side: ChangeSide, stored: StoredRun, rulers: VersionFinder, panel: JudgeSession) -> SideReplay:
        """Set one side up."""
        recorded = (*stored.run.judges, *stored.run.rubrics)
        load = _build_loader(side, RunArtifactLoader(rulers, recorded))
        grader = Grader(load, panel, model_of(stored.run, stored.run), strict=rulers.store.strict)
        is_dataset = side.artifact.kind is Kind.DATASET
        asked = {one.id: asked_of(one) for one in side.questions() if one.id in stored.rows} if is_dataset else None
        bench = cls(side, stored, grader, stored.asked if asked is None else asked)
        same = {one.digest for one in recorded if parse_ref(one.ref).name == side.name} == {side.artifact.digest}
        grader.learn(stored if same else bench.unreached())
        return bench

    def unreached(self) -> StoredRun:
        """Return the run without the checks that grade otherwise now: what it recorded of those is no answer."""
        rulers = {
            ref: replace(ruler, checks=tuple(one for one in ruler.checks if not self._refers_to_subject(one[0])))
            for ref, ruler in self.stored.rulers.items()
        }
        return replace(self.stored, rulers=rulers)

    def reaches(self, row: GradedRow) -> bool:
        """Whether the changed artifact has a say in the score of a row."""
        if self.side.artifact.kind is Kind.DATASET:
            return self.stored.dataset.resolved.name == self.side.name
        if row.rubric not in self._affected_rubrics:
            own = row.rubric.partition("@")[0] == self.side.name
            ruler = self.stored.rulers.get(row.rubric)
            self._affected_rubrics[row.rubric] = own or any(
                self._refers_to_subject(check) for check, _ in (ruler.checks if ruler else ())
            )
        return self._affected_rubrics[row.rubric]

    def grade(self, row: GradedRow, known: dict[str, CheckResult]) -> RubricResult | None:
        """Return the result of a row, or None where something is missing; `known` are results of checks by content."""
        asked, before = self.asked.get(row.id), self.grader.unanswered
        try:
            graded_by = self._find_grading(row, asked) if asked else None
            if asked is None or graded_by is None:
                return None
            scoring, checks = graded_by
            fresh = [(check, content) for check, content in checks if content not in known]
            results = self.grader.grade(fresh, asked, row)
        except RefError:  # what is referred to is not there (yet)
            return None
        found = {content: result for (_, content), result in zip(fresh, results, strict=True)}
        known |= {content: found[content] for check, content in fresh if not any(check_pins((), check.params))}
        if self.grader.unanswered > before:
            return None
        by_content = {**known, **found}
        return combine_results(scoring, [by_content[content]._replace(id=check.id) for check, content in checks])

    def _find_grading(self, row: GradedRow, asked: QuestionVersion) -> _GradingRule | None:
        """Return what grades a row on this side: the changed rubric, what its question names now, else as recorded."""
        if row.rubric.partition("@")[0] == self.side.name:
            return self._parse_rubric(self.side.name, self.side.artifact)
        if self.side.artifact.kind is Kind.DATASET and asked.question.rubric_ref != row.rubric:
            ref = asked.question.rubric_ref
            return self._parse_rubric(ref, self.grader.load(ref)) if ref else None
        ruler = self.stored.rulers.get(row.rubric)
        return (ruler.rubric.scoring, ruler.checks) if ruler else None

    def _parse_rubric(self, key: str, artifact: Artifact) -> _GradingRule:
        if key not in self._parsed_rubrics:
            try:
                rubric = rubric_of(artifact.value)
            except MALFORMED_ERRORS as error:
                raise SchemaError(
                    f"{key} cannot grade anything: {type(error).__name__}: {error}", hint="evalstore validate says why"
                ) from None
            self._parsed_rubrics[key] = rubric.scoring, with_contents(rubric)
        return self._parsed_rubrics[key]

    def _refers_to_subject(self, check: Check) -> bool:
        """Whether a check refers to the changed artifact, or to a rubric that does."""
        return any(self._leads_to_subject(text, inner=True) for _, text in check_pins((), check.params))

    def _leads_to_subject(self, text: str, *, inner: bool = False) -> bool:
        try:
            ref = parse_ref(text)
            if ref.name == self.side.name or not inner or ref.kind is not Kind.RUBRIC:
                return ref.name == self.side.name
            return any(self._leads_to_subject(pin) for _, pin in pins_of(Kind.RUBRIC, self.grader.load(text).value))
        except EvalstoreError:
            return False  # what cannot be found leads nowhere


def _build_loader(side: ChangeSide, recorded: Load) -> Load:
    """Return how a side's checks are given what they refer to: the side itself, else as the run recorded it."""

    def load(text: str) -> Artifact:
        if parse_ref(text).name == side.name:
            return side.artifact
        try:
            return recorded(text)
        except RefError:
            return side.load(text)

    return load
