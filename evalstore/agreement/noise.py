"""Measures how far a judge, asked several times, disagrees with itself; writes nothing."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from hashlib import blake2b
from math import sqrt
from pathlib import Path
from typing import Any, NamedTuple

from evalstore.agreement.measurement import resolve_kind
from evalstore.audits.version_path import VersionFinder
from evalstore.checks import CheckContext
from evalstore.checks.judges import PreparedJudge, ask_judge, prepare_judge
from evalstore.checks.question_values import fill_from_question
from evalstore.checks.statements import read_statements
from evalstore.documents.edit_entries import Scalar
from evalstore.errors import Place, RefusedError
from evalstore.model import (
    Artifact,
    Check,
    Grade,
    Kind,
    Question,
    Rubric,
    Sample,
    parse_ref,
    read_rubric,
)
from evalstore.model.judge import FACT_VARIABLE, STATEMENT_VARIABLE
from evalstore.model.question_params import list_question_values
from evalstore.model.rubric import JUDGED_THRESHOLD
from evalstore.runs import GradedRow, Run, UsedArtifact, read_rows, read_run
from evalstore.scoring.grading import FloatingRefs, Grading, open_grading, pin_resolved
from evalstore.scoring.judging import CallPlan, Judges
from evalstore.store import ArtifactStore, Resolved
from evalstore.store.question_index import QuestionIndex, open_question_index

NO_ENDPOINT_HINT = "name an endpoint that answers them: --judge-url, EVALSTORE_JUDGE_URL"


@dataclass(frozen=True, slots=True)
class NoiseRequest:
    """What to measure: a judge, on `outputs` many outputs of the `run`, each asked `repeat` times.

    They are the same outputs every time.
    """

    judge: str
    run: Path
    repeat: int
    outputs: int

    def __post_init__(self) -> None:
        if self.repeat <= 1 or self.outputs < 1:
            raise RefusedError("to measure noise, judge each output at least twice")


class RepeatedJudgement(NamedTuple):
    """One output with its scores in the order of asking; `threshold` turns them into verdicts."""

    id: str
    check: str
    scores: tuple[Fraction, ...]
    threshold: Fraction

    @property
    def variance(self) -> Fraction:
        """The unbiased variance of the scores."""
        mean = sum(self.scores, Fraction(0)) / len(self.scores)
        return sum(((score - mean) ** 2 for score in self.scores), Fraction(0)) / (
            len(self.scores) - 1
        )

    @property
    def flip_rate(self) -> Fraction:
        """The share of pairs of judgements with one pass and one fail."""
        passed, size = sum(score >= self.threshold for score in self.scores), len(self.scores)
        return Fraction(2 * passed * (size - passed), size * (size - 1))


@dataclass(frozen=True, slots=True)
class JudgeNoise:
    """The noise of a judge: a judgement's standard deviation, and how often two verdicts differ.

    `unjudged` counts the outputs with a judgement that has no score; they are in no number. An
    entry is in the judge's `validation` afterwards; `written` is the file, None if nothing was
    written.
    """

    judge: UsedArtifact
    run: str
    repeat: int
    judgements: tuple[RepeatedJudgement, ...]
    unjudged: int = 0
    engines: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    entries: Mapping[str, Scalar | None] = field(default_factory=dict)
    diff: str = ""
    written: str | None = None

    @property
    def deviation(self) -> float:
        """The standard deviation of one judgement, pooled over the outputs."""
        return sqrt(
            sum((one.variance for one in self.judgements), Fraction(0)) / len(self.judgements)
        )

    @property
    def flip_rate(self) -> Fraction:
        """The mean share of pairs of judgements of one output whose verdicts differ."""
        return sum((one.flip_rate for one in self.judgements), Fraction(0)) / len(self.judgements)


class _Unit(NamedTuple):
    """An output of the run, and the check for which the judge grades it."""

    place: bytes
    row: GradedRow
    check: Check


@dataclass(frozen=True, slots=True)
class NoiseMeasurement:
    """All parts of a measurement before the first output is judged."""

    request: NoiseRequest
    judge: Resolved
    run: Run
    questions: QuestionIndex
    finder: VersionFinder
    grading: Grading

    def plan_calls(self) -> CallPlan:
        """Return the judge calls that measuring would make, without making any."""
        self._judge_outputs(self._choose_units())
        return self.grading.session.plan_calls()

    def measure_noise(self) -> JudgeNoise:
        """Judge, and ask until no reply is missing; refuses if nothing was judged."""
        units = self._choose_units()
        found = self.grading.session.repeat_until_answered(lambda: self._judge_outputs(units))
        self.grading.session.refuse_missing(NO_ENDPOINT_HINT)
        if not found.judgements:
            raise RefusedError(
                f"none of {len(units):,} outputs could be judged {self.request.repeat} times",
                place=Place(str(self.request.run)),
            )
        return found

    def _choose_units(self) -> list[_Unit]:
        """Return the outputs to judge: the smallest hashes, whatever the order of the file."""
        checks: dict[str, list[Check]] = {}
        units: list[_Unit] = heapq.nsmallest(
            self.request.outputs, self._list_units(checks), key=lambda unit: unit.place
        )
        if not units:
            raise RefusedError(
                f"no check of this run asks {self.judge.name}",
                place=Place(str(self.request.run)),
                hint="name a run whose rubrics refer to this judge, in any version",
            )
        return units

    def _list_units(self, checks: dict[str, list[Check]]) -> Iterator[_Unit]:
        pins = {pin.ref: pin for pin in self.run.rubrics}
        for row in read_rows(self.run):
            if row.rubric in pins and row.rubric not in checks:
                artifact = self.finder.locate_pin(pins[row.rubric]).resolved.artifact
                checks[row.rubric] = list(self._find_checks(read_rubric(artifact.value)))
            for check in checks.get(row.rubric, []):
                name = f"{row.id}\0{row.sample}\0{check.id}".encode()
                yield _Unit(blake2b(name, digest_size=16).digest(), row, check)

    def _find_checks(self, rubric: Rubric) -> Iterator[Check]:
        for check in rubric.checks:
            if "rubric_ref" in check.params:
                yield from self._find_checks(
                    read_rubric(self._load_inner(check.params["rubric_ref"]).value)
                )
            elif self.judge.name in {parse_ref(ref).name for ref in _list_judge_refs(check.params)}:
                yield check

    def _load_inner(self, ref: str) -> Artifact:
        pins = [pin for pin in self.run.rubrics if pin.ref == ref]
        return (
            self.finder.locate_pin(pins[0]).resolved.artifact
            if pins
            else self.grading.artifacts.load(ref)
        )

    def _judge_outputs(self, units: list[_Unit]) -> JudgeNoise:
        context = self.grading.context
        judgements, unjudged, engines = [], 0, set()
        for unit in units:
            question = self._find_question(unit.row)
            params = {**unit.check.params, "kind": unit.check.kind}
            filled = fill_from_question(params, list_question_values(params), question)
            if isinstance(filled, Grade):
                unjudged += 1
                continue
            variables = _list_variables(filled, question)
            judge, sample = (
                self._prepare(filled, variables, context),
                Sample(unit.row.output, question),
            )
            answers = list(ask_judge(judge, sample, variables, context, times=self.request.repeat))
            scores = tuple(
                answer.parsed.score for answer in answers if answer.parsed.score is not None
            )
            if len(scores) < self.request.repeat:
                unjudged += 1
                continue
            engines |= {answer.reply.served or str(judge.model["id"]) for answer in answers}
            bar = JUDGED_THRESHOLD if unit.check.threshold is None else unit.check.threshold
            judgements.append(RepeatedJudgement(unit.row.id, unit.check.id, scores, bar))
        return JudgeNoise(
            judge=pin_resolved(self.judge),
            run=str(self.request.run),
            repeat=self.request.repeat,
            judgements=tuple(sorted(judgements, key=lambda one: (-one.variance, one.id))),
            unjudged=unjudged,
            engines=tuple(sorted(engines)),
            notes=(
                *self.grading.artifacts.notes,
                *self.grading.session.list_notes(),
                *self.grading.session.list_usage_notes(),
            ),
        )

    def _prepare(
        self, params: Mapping[str, Any], variables: Mapping[str, str], context: CheckContext
    ) -> PreparedJudge:
        model: Mapping[str, Any] = params.get("model", {})
        names = [*variables, FACT_VARIABLE, STATEMENT_VARIABLE]
        judge = prepare_judge(self.judge.ref, context, model=model, variable_names=names)
        if isinstance(judge, Grade):
            raise RefusedError(judge.reason)
        return judge

    def _find_question(self, row: GradedRow) -> Question | None:
        found = self.questions.find(row.id)
        return found[1] if found else None


def _list_variables(params: Mapping[str, Any], question: Question | None) -> dict[str, str]:
    """Return what a check asks its judge in one call: of several facts or statements, the first."""
    facts = params.get("facts") or (question.row.get("expected_facts") if question else None)
    fact = {FACT_VARIABLE: str(facts[0])} if facts else {}
    statements = read_statements(params.get("each", ()))
    statement = {STATEMENT_VARIABLE: statements[0].text} if statements else {}
    return {**fact, **statement, **params.get("variables", {})}


def _list_judge_refs(params: Mapping[str, Any]) -> list[str]:
    members = params.get("jury", {}).get("members", [params])
    return [member["judge_prompt_ref"] for member in members if "judge_prompt_ref" in member]


@contextmanager
def open_noise_measurement(
    request: NoiseRequest, *, store: ArtifactStore, judges: Judges
) -> Iterator[NoiseMeasurement]:
    """Open a measurement: find the judge, run and dataset, and open the cache of replies."""
    run = read_run(request.run)
    if run.dataset is None:
        raise RefusedError(
            "names no dataset version, so its questions cannot be found",
            place=Place(str(request.run)),
            hint="score its outputs here first: evalstore score DATASET RUN",
        )
    finder = VersionFinder(store)
    with open_grading(store, judges, floating=FloatingRefs.BY_SETTINGS) as grading:
        judge = resolve_kind(grading, request.judge, Kind.JUDGE)
        with open_question_index(finder.locate_pin(run.dataset).resolved, store) as questions:
            yield NoiseMeasurement(request, judge, run, questions, finder, grading)
