"""Measures what another model does to a judge's verdicts on the same outputs; writes nothing."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import date
from fractions import Fraction
from hashlib import blake2b
from pathlib import Path

from evalstore.agreement.comparison import (
    Judgement,
    JudgementPair,
    JudgeReplacement,
    LabelledSides,
    PairTally,
    RunShift,
    ShiftTally,
)
from evalstore.agreement.confusion import LabelTally
from evalstore.agreement.correction import find_obstacle
from evalstore.agreement.measurement import Measurement, MeasurementRequest, resolve_kind
from evalstore.audits.side_replay import ChangeSide, SideReplay
from evalstore.audits.stored_run import StoredRun, list_run_pins, read_judge_model, read_stored_run
from evalstore.audits.version_path import VersionFinder
from evalstore.diff import Detail
from evalstore.documents.edit_entries import set_entries
from evalstore.errors import Place, RefusedError, UsageError
from evalstore.model import (
    Artifact,
    Check,
    CheckResult,
    Kind,
    RubricResult,
    UnscoredReason,
    parse_ref,
)
from evalstore.release.changes.acceptances import read_change_policy
from evalstore.release.changes.comparison import (
    compare_with_release,
    find_base_release,
    list_line_releases,
    make_loader,
    name_line,
)
from evalstore.release.changes.version_choice import find_free_version
from evalstore.runs import GradedRow
from evalstore.runs.question_mean import compute_question_mean
from evalstore.scoring.grading import FloatingRefs, Grading, open_grading, pin_resolved
from evalstore.scoring.judging import CallPlan, Endpoint, Judges
from evalstore.scoring.judging.session import refuse_large_plan
from evalstore.store import ArtifactStore, Resolved
from evalstore.store.question_index import open_question_index
from evalstore.text import make_excerpt
from evalstore.versions import Bump, parse_version

_ZERO = Fraction(0)
_NO_ENDPOINT_HINT = (
    "name the endpoint that answers: --judge-url, and --endpoint where another one has the new "
    "model"
)


@dataclass(frozen=True, slots=True)
class ReplacementRequest:
    """What to measure: a judge, the model to replace its own, and what to compare both on.

    `endpoint` answers for the new model (None: the one of the judges). `without` are parameters of
    the old model that are not sent to the new one. `outputs` is how many of a run's questions are
    judged (None: all), the same ones every time.
    """

    judge: str
    model: str
    run: Path | None = None
    labels: MeasurementRequest | None = None
    endpoint: Endpoint | None = None
    without: tuple[str, ...] = ()
    outputs: int | None = None

    def __post_init__(self) -> None:
        if self.run is None and self.labels is None:
            hint = "name a run (--run RUN), labelled rows (--labels FILE), or both"
            raise UsageError("there is nothing to compare the old and the new model on", hint=hint)
        Judges(model={"id": self.model})  # refuses a name that is not that of a model


@dataclass(frozen=True, slots=True)
class _Side:
    """The judge with one of the two models: its session, and what grades a run and rows by it."""

    judge: Resolved
    grading: Grading
    replay: SideReplay | None
    measurement: Measurement | None

    def grade_outputs(
        self, row: GradedRow, known: dict[str, CheckResult], *, asked: bool
    ) -> list[RubricResult] | None:
        """Return the results of a row's outputs; None if replies are missing, which are noted.

        A row in which the judge has no part, and which therefore is not `asked` about, stays as
        recorded.
        """
        if self.replay is None or not asked:
            return [RubricResult(one.score, one.verdict, one.checks) for one in row.outputs]
        found = self.replay.grade_outputs(row, known)
        if found is None:
            self.grading.session.note_missing(self.replay.lacking)
        return found


@dataclass(slots=True)
class _Counts:
    """What one pass over all outputs counted, with the labelled rows separate."""

    by_run: PairTally = field(default_factory=PairTally)
    scores: ShiftTally = field(default_factory=ShiftTally)
    passes: ShiftTally = field(default_factory=ShiftTally)
    by_rows: PairTally = field(default_factory=PairTally)
    labels: tuple[LabelTally, LabelTally] = field(
        default_factory=lambda: (LabelTally(), LabelTally())
    )


@dataclass(frozen=True)
class Replacement:
    """A comparison before the first output is judged; `old_model` is the judge's present model."""

    request: ReplacementRequest
    store: ArtifactStore
    old: _Side
    new: _Side
    old_model: str
    stored: StoredRun | None
    finder: VersionFinder

    def refuse_unasked(self) -> None:
        """Raise `RefusedError` for a run on which the judge's model has no effect."""
        if self.stored is None or self.new.replay is None:
            return
        pins = [pin.ref for pin in self.stored.run.rubrics]
        if any(self._list_checks(ref) for ref in pins):
            return
        asking = any(self.new.replay.list_affected_checks(ref) for ref in pins)
        what = f"asks {self.old.judge.name}"
        raise RefusedError(
            f"every check of this run that {what} names a model of its own"
            if asking
            else f"no check of this run {what}",
            place=Place(str(self.request.run)),
            hint="change the model in the rubric"
            if asking
            else "name a run whose rubrics refer to this judge, in any version",
        )

    def plan_calls(self) -> CallPlan:
        """Return the judge calls that comparing would make, the old model's first; makes none."""
        self._count()
        return self._join_plans()

    def measure(self, today: date) -> JudgeReplacement:
        """Compare, and ask for replies until none is missing; refuses if nothing is left.

        Nothing is asked unless everything may be asked.
        """
        counts = self._count()
        while any(side.grading.session.can_ask for side in self._sides):
            made = sum(side.grading.session.asked for side in self._sides)
            refuse_large_plan(self.old.grading.session.judges, self._join_plans(), made)
            for side in self._sides:
                if side.grading.session.can_ask:
                    side.grading.session.ask_missing()
            counts = self._count()
        if missing := sum(len(side.grading.session.missing) for side in self._sides):
            message = f"judge replies that are missing: {missing:,}, and nobody was asked"
            raise RefusedError(message, hint=_NO_ENDPOINT_HINT)
        pairs = counts.by_run if self.stored else counts.by_rows
        if not pairs.counts:
            why = f"; the first: {pairs.first_failure}" if pairs.first_failure else ""
            raise RefusedError(
                f"none of {pairs.unjudged:,} outputs could be judged by both models{why}"
            )
        level, version = self._find_bump(today)
        return JudgeReplacement(
            judge=pin_resolved(self.old.judge),
            old_model=self.old_model,
            new_model=self.request.model,
            judgements=pairs.summarize(),
            run=self._summarize_run(counts),
            labelled=self._summarize_labels(counts),
            retires=self.new.grading.session.find_retirement(self.request.model),
            required_bump=level,
            next_version=version,
            notes=tuple(dict.fromkeys((*self._list_notes(), *self._list_usage_notes()))),
        )

    @property
    def _sides(self) -> tuple[_Side, _Side]:
        return self.old, self.new

    def _join_plans(self) -> CallPlan:
        return self.old.grading.session.plan_calls().join(self.new.grading.session.plan_calls())

    def _count(self) -> _Counts:
        counts = _Counts()
        self._count_labels(counts)
        self._count_run(counts)
        return counts

    def _count_labels(self, counts: _Counts) -> None:
        if self.old.measurement is None or self.new.measurement is None:
            return
        old_tally, new_tally = counts.labels
        olds = self.old.measurement.judge_rows(old_tally)
        news = self.new.measurement.judge_rows(new_tally)
        for old, new in zip(olds, news, strict=True):
            before = Judgement(old.score, old.verdict, old.reason)
            after = Judgement(new.score, new.verdict, new.reason)
            counts.by_rows.add(JudgementPair(old.id, "", before, after, old.label), old.id)

    def _count_run(self, counts: _Counts) -> None:
        if self.stored is None:
            return
        ids = self._choose_questions(self.stored)
        for id_ in self.old.grading.session.judges.watch(ids, len(ids)):
            row = self.stored.rows[id_]
            group = f"group {row.group}" if row.group else f"question {id_}"
            asked = {check.id for check in self._list_checks(row.rubric)}
            known: dict[str, CheckResult] = {}
            # Both sides are graded, whatever the first one lacks: the plan has the calls of both.
            old, new = (side.grade_outputs(row, known, asked=bool(asked)) for side in self._sides)
            if old is None or new is None:
                continue
            for before, after in zip(old, new, strict=True):
                for pair in _pair_checks(id_, before, after, asked):
                    counts.by_run.add(pair, group)
            score, passed = compute_question_mean((one.score, one.verdict) for one in old)
            new_score, new_passed = compute_question_mean((one.score, one.verdict) for one in new)
            if score is not None and new_score is not None:
                counts.scores.add(score, new_score, group)
                counts.passes.add(passed or _ZERO, new_passed or _ZERO, group)

    def _choose_questions(self, stored: StoredRun) -> Sequence[str]:
        """Return the questions to judge: if there are too many, those with the smallest hashes."""
        most = self.request.outputs
        if most is None:
            return [*stored.rows]
        ids = (id_ for id_, row in stored.rows.items() if self._list_checks(row.rubric))
        return heapq.nsmallest(
            most, ids, key=lambda id_: blake2b(id_.encode(), digest_size=16).digest()
        )

    def _list_checks(self, rubric: str) -> list[Check]:
        """Return the checks of a rubric of the run that the judge's own model answers."""
        checks = self.new.replay.list_affected_checks(rubric) if self.new.replay else []
        return [check for check in checks if not _names_model(check)]

    def _summarize_run(self, counts: _Counts) -> RunShift | None:
        if self.stored is None:
            return None
        return RunShift(str(self.request.run), counts.scores.summarize(), counts.passes.summarize())

    def _summarize_labels(self, counts: _Counts) -> LabelledSides | None:
        labels = self.request.labels
        if labels is None or self.old.measurement is None or self.new.measurement is None:
            return None
        old_tally, new_tally = counts.labels
        found = LabelledSides(
            self.old.measurement.build_agreement(old_tally),
            self.new.measurement.build_agreement(new_tally),
        )
        if self.stored is None:
            return found
        checks = [check for pin in self.stored.run.rubrics for check in self._list_checks(pin.ref)]
        obstacles = (
            find_obstacle(check, self.old.judge.artifact, labels.threshold) for check in checks
        )
        return found.correct(counts.by_run, next(filter(None, obstacles), ""))

    def _find_bump(self, today: date) -> tuple[Bump | None, str | None]:
        """Return the bump and next version of the file; None if it was never released."""
        new = self.new.judge
        known = self.store.group_releases()
        releases = known.get(name_line(known, new.artifact), ())
        last = find_base_release(self.store, releases, parse_version(new.version))
        if last is None:
            return None, None
        policy, load = read_change_policy(self.store, today, None), make_loader(self.store, new)
        diff = compare_with_release(self.store, last, new, policy, load=load, detail=Detail.LEVELS)
        line = [release.version for release in list_line_releases(known, new.artifact)]
        return diff.required_bump, str(find_free_version(last.version, diff.required_bump, line))

    def _list_usage_notes(self) -> Iterator[str]:
        for name, side in zip(("old", "new"), self._sides, strict=True):
            yield from (f"{name} model: {note}" for note in side.grading.session.list_usage_notes())

    def _list_notes(self) -> Iterator[str]:
        for side in self._sides:
            yield from side.grading.artifacts.notes
            yield from side.grading.session.list_failure_notes()
        yield from self.finder.notes
        if self.stored is None:
            return
        name, run = self.old.judge.name, make_excerpt(str(self.request.run))
        pins = [pin for pin in list_run_pins(self.stored.run) if parse_ref(pin.ref).name == name]
        for ref, digest in {pin.ref: pin.scoring_digest for pin in pins}.items():
            if digest != self.old.judge.scoring_digest:
                yield (
                    f"{run} was graded with {ref}, whose content is not that of "
                    f"{self.old.judge.ref}"
                )
        if self.new.replay is None:
            return
        for pin in self.stored.run.rubrics:
            for check in filter(_names_model, self.new.replay.list_affected_checks(pin.ref)):
                yield (
                    f"{make_excerpt(check.id)} names a model of its own, which stays: change it in "
                    "its rubric"
                )


def _names_model(check: Check) -> bool:
    """Whether a check names the model of its judge, which overrides the judge's own."""
    model = check.params.get("model")
    return isinstance(model, dict) and bool(model.get("id"))


def _pair_checks(
    id_: str, before: RubricResult, after: RubricResult, asked: set[str]
) -> Iterator[JudgementPair]:
    """Yield the checks of one output that ask the judge and have something to grade."""
    others = {check.id: check for check in after.checks}
    for check in before.checks:
        if check.id in asked and check.unscored is not UnscoredReason.MISSING:
            old, new = (
                Judgement(one.score, one.verdict, one.reason) for one in (check, others[check.id])
            )
            yield JudgementPair(id_, check.id, old, new)


@contextmanager
def open_replacement(
    request: ReplacementRequest, *, store: ArtifactStore, judges: Judges
) -> Iterator[Replacement]:
    """Open a comparison: the judge with both models, the run, and the labelled questions."""
    finder = VersionFinder(store)
    stored = read_stored_run(request.run, finder) if request.run else None
    # The model that the run named graded it, not the one that is named today.
    judges = replace(judges, model=(read_judge_model(stored.run) if stored else {}) or judges.model)
    with ExitStack() as opened:
        by_settings = FloatingRefs.BY_SETTINGS
        before = opened.enter_context(open_grading(store, judges, floating=by_settings))
        old = resolve_kind(before, request.judge, Kind.JUDGE)
        model = find_model(old.artifact) or str(judges.model.get("id", ""))
        new = replace(old, artifact=_change_model(request, old, model))

        def find(ref: str) -> Resolved:
            return new if ref == new.ref else store.resolve(ref)

        others = replace(judges, endpoint=request.endpoint or judges.endpoint)
        after = opened.enter_context(open_grading(store, others, floating=by_settings, find=find))
        against = questions = None
        if request.labels and request.labels.against:
            against = resolve_kind(before, request.labels.against, Kind.DATASET)
            questions = opened.enter_context(open_question_index(against, store))

        def open_side(judge: Resolved, grading: Grading) -> _Side:
            replay = _prepare_replay(judge, stored, finder, grading) if stored else None
            if request.labels is None:
                return _Side(judge, grading, replay, None)
            # A verdict in a row is the old model's.
            is_old = judge is old
            measured = Measurement(
                request.labels, judge, against, questions, grading, trusts_rows=is_old
            )
            return _Side(judge, grading, replay, measured)

        sides = open_side(old, before), open_side(new, after)
        found = Replacement(request, store, *sides, model, stored, finder)
        found.refuse_unasked()
        yield found


def find_model(judge: Artifact) -> str:
    """Return the model that a judge names; empty if it names none."""
    model = judge.value.get("model")
    name = model.get("id") if isinstance(model, dict) else None
    return name if isinstance(name, str) else ""


def _change_model(request: ReplacementRequest, judge: Resolved, old: str) -> Artifact:
    """Return the judge with the other model in its file, without the parameters not sent to it."""
    parameters = judge.artifact.value.get("model")
    known = parameters if isinstance(parameters, dict) else {}
    if not old:
        hint = "name the one that it was asked by so far: --judge-model"
        raise RefusedError(
            f"no model is named for {judge.ref}, so there is none to replace", hint=hint
        )
    for key in request.without:
        if key not in known or key == "id":
            raise UsageError(
                f"the model of {judge.ref} has no parameter {make_excerpt(key, 60)!r} to leave out"
            )
    if old == request.model and not request.without:
        raise UsageError(f"{judge.ref} asks {make_excerpt(old, 60)} already")
    entries = {"id": request.model, **dict.fromkeys(request.without)}
    return replace(judge.artifact, document=set_entries(judge.artifact.document, "model", entries))


def _prepare_replay(
    judge: Resolved, stored: StoredRun, finder: VersionFinder, grading: Grading
) -> SideReplay:
    side = ChangeSide(judge.artifact, finder.store.read_artifact)
    replay = SideReplay.from_run(side, stored, finder, grading.session)
    # A call that failed for good is an output without a judgement, as in a run.
    replay.grader.takes_failures = True
    # Two models are compared by what they say: an unreadable reply is no reason to ask only one of
    # them.
    replay.grader.repeats_errors = True
    return replay
