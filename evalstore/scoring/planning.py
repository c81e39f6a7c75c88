"""Makes the plan of a run in parts, and opens the run from its plan again, on any machine."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from evalstore.documents import write_canonical
from evalstore.errors import EvalstoreError, Place, RefusedError
from evalstore.judging import Judges, open_session
from evalstore.model import JudgeCall, JudgeReply, Kind
from evalstore.runs import SeriesFilter, cut_outputs
from evalstore.scoring.engines import describe_engines
from evalstore.scoring.grading import ArtifactResolver, pin_resolved
from evalstore.scoring.job import ScoringJob
from evalstore.scoring.plan import PlannedJudges, PlannedRuler, ScorePlan
from evalstore.scoring.planned_replies import ReplyRecorder, ReplyReplay
from evalstore.scoring.run_record import JudgeRecord
from evalstore.store import ArtifactStore, Resolved
from evalstore.store.question_index import open_question_index, open_saved_index

_NO_JUDGES = PlannedJudges(JudgeRecord(), {})


@dataclass(frozen=True, slots=True)
class PlannedJob:
    """A run that is opened from its plan; each part gets a resolver of its own, whose notes and pins are its own."""

    plan: ScorePlan
    job: ScoringJob
    find: Callable[[str], Resolved]
    ask: Callable[[JudgeCall], JudgeReply]

    def open_part(self) -> ScoringJob:
        """Return the job with a resolver that has met nothing but the dataset."""
        judges = self.plan.judges or _NO_JUDGES
        resolver = ArtifactResolver(self.job.resolver.store, self.ask, judges.record.model, find=self.find)
        resolver.resolve(_find_dataset(self.plan).ref)
        return replace(self.job, resolver=resolver)


def make_plan(job: ScoringJob, outputs: str, size: int) -> ScorePlan:
    """Return the plan of a job in parts of about `size` bytes; `outputs` is its file's path below the root.

    Where judges are asked, every output is graded once, what no reply is kept for is asked as the job's session may,
    and the plan lists every prompt with its reply. Raises `RefusedError` for outputs that change meanwhile.
    """
    recorder = ReplyRecorder(job.session)
    store, model = job.resolver.store, job.resolver.model
    resolver = ArtifactResolver(store, recorder.ask, model)
    for ref in job.resolver.resolved:
        resolver.resolve(ref)
    for ref in [job.rubric] if job.rubric else job.questions.rubric_refs:
        # A rubric that cannot be read is no matter until an output is to be graded by it.
        with suppress(EvalstoreError):
            resolver.prepare_rubric(ref)
    judged = bool(resolver.list_pins(Kind.JUDGE))
    judges = _ask_judges(replace(job, resolver=resolver), recorder) if judged else None
    cut = cut_outputs(job.samples, size)
    if cut.sha256 != job.run.outputs_sha256:
        raise RefusedError("changed while it was read", place=Place(str(job.samples)), hint="plan again")
    dataset = next(iter(job.resolver.resolved.values()))
    return ScorePlan(
        run=job.run,
        outputs=outputs,
        only=job.choice.only,
        any_model=job.choice.any_model,
        rubric=job.rubric,
        rulers=tuple(
            PlannedRuler(ref, found.kind, found.floating, pin_resolved(found))
            for ref, found in resolver.resolved.items()
        ),
        engines=describe_engines(),
        spans=cut.spans,
        size=cut.size,
        judges=judges,
        question_digest=_digest_questions(dataset, store),
    )


def has_judges(job: ScoringJob) -> bool:
    """Whether a rubric of the job asks judges, as far as its rubrics can be read."""
    resolver = ArtifactResolver(job.resolver.store, job.session.ask, job.resolver.model)
    for ref in [job.rubric] if job.rubric else job.questions.rubric_refs:
        with suppress(EvalstoreError):
            resolver.prepare_rubric(ref)
    return bool(resolver.list_pins(Kind.JUDGE))


@contextmanager
def open_planned_job(
    plan: ScorePlan, store: ArtifactStore, samples: Path, *, cache: Path | None = None, saved: Path | None = None
) -> Iterator[PlannedJob]:
    """Open a run from its plan; raises `RefusedError` where the store holds other rulers or questions than planned.

    `cache` is the file of judges' replies (None: in the git directory), `saved` an index of the questions that a
    process of this user has saved; without it they are indexed.
    """

    def find(ref: str) -> Resolved:
        return _resolve_planned(rulers.get(ref), ref, store)

    _refuse_other_strictness(plan, store)
    rulers = {ruler.ref: ruler for ruler in plan.rulers}
    dataset = find(_find_dataset(plan).ref)
    if saved is None and _digest_questions(dataset, store) != plan.question_digest:
        raise RefusedError(f"the questions of {dataset.ref} are not those of the plan", hint="plan again")
    choice = SeriesFilter(plan.only, any_model=plan.any_model)
    with open_session(Judges(cache=cache), store.git.find_common_directory) as session:
        replay = ReplyReplay(plan.judges or _NO_JUDGES, session.replies)
        with open_saved_index(saved) if saved else open_question_index(dataset, store) as questions:
            resolver = ArtifactResolver(store, replay.ask, find=find)
            job = ScoringJob(plan.run, samples, choice, plan.rubric, questions, resolver, session)
            yield PlannedJob(plan, job, find, replay.ask)


def _ask_judges(job: ScoringJob, recorder: ReplyRecorder) -> PlannedJudges:
    """Grade everything for its prompts, ask what is missing, and return the answer to each."""
    while True:
        recorder.answers.clear()
        job.grade_outputs(lambda *_: None)
        if not job.session.can_ask:
            return PlannedJudges(JudgeRecord.from_session(job.session), dict(sorted(recorder.answers.items())))
        job.session.ask_missing()


def _find_dataset(plan: ScorePlan) -> PlannedRuler:
    found = next((ruler for ruler in plan.rulers if ruler.kind is Kind.DATASET), None)
    if found is None:
        raise RefusedError("the plan names no dataset", hint="plan again")
    return found


def _resolve_planned(ruler: PlannedRuler | None, ref: str, store: ArtifactStore) -> Resolved:
    """Return what a reference means in the plan, if the store has just that."""
    if ruler is None:
        store.resolve(ref)  # raises for what is not there, as it did when the plan was made
        raise RefusedError(f"{ref} is not among the rulers of the plan", hint="plan again")
    resolved = store.resolve(ruler.pin.ref)
    if pin_resolved(resolved) != ruler.pin:
        raise RefusedError(
            f"{ruler.pin.ref} is not what it was when the plan was made: its digest is {resolved.digest[:12]} here, "
            f"{ruler.pin.digest[:12]} in the plan",
            hint="bring the store to the commit of the plan (git fetch --tags), or plan again",
        )
    return replace(resolved, floating=ruler.floating)


def _refuse_other_strictness(plan: ScorePlan, store: ArtifactStore) -> None:
    if plan.run.harness["strict"] != ("true" if store.strict else "false"):
        raise RefusedError(
            "the setting `strict` of this store is not that of the plan",
            hint="bring evalstore.yaml to the commit of the plan, or plan again",
        )


def _digest_questions(dataset: Resolved, store: ArtifactStore) -> str | None:
    """Return a digest of the rows beside a dataset that no commit holds; None where its pin says what they are."""
    if pin_resolved(dataset).commit is not None or "rows" not in dataset.artifact.value:
        return None
    found = hashlib.sha256()
    for question in store.questions(dataset):
        found.update(write_canonical(dict(question.row)).encode("utf-8", "surrogatepass") + b"\n")
    return found.hexdigest()
