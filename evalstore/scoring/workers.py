"""Grades a file of outputs in spans by a Dask cluster's workers; sole user of distributed.

The process that starts them cuts the file at line ends, counts every row itself in the order of the
file, and writes and names the run, so its bytes are the same as those of a single process.
"""

from __future__ import annotations

import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, TypeVar

from evalstore.about import suggest_install
from evalstore.errors import EvalstoreError, Place, RefusedError, UsageError
from evalstore.model import CheckResult, JudgeCall, Kind, Verdict
from evalstore.runs import (
    OutputSpan,
    Run,
    SeriesFilter,
    SeriesNames,
    UsedArtifact,
    compute_span_sha256,
    cut_outputs,
    read_output_span,
    read_outputs,
    write_run,
)
from evalstore.runs.eee_write import write_row_line
from evalstore.runs.remote import RemoteFile
from evalstore.scoring.grading import ArtifactResolver, pin_resolved
from evalstore.scoring.job import (
    ScoringJob,
    choose_file_name,
    describe_harness,
    grade_match,
    pin_dataset,
)
from evalstore.scoring.matching import OddOutputs, OutputMatcher
from evalstore.scoring.run_record import JudgeRecord, UsedReferences
from evalstore.store import ArtifactStore, Resolved
from evalstore.store.question_index import QuestionIndex, open_question_index
from evalstore.text import make_excerpt

# Bytes of outputs in a span. Its result is held in memory and is about three times as large.
SPAN_SIZE = 4 << 20
WORKER_START_SECONDS = 60  # for the worker processes of this machine to import their packages
_LOOK_SECONDS = 5  # between two checks for workers

# Submits a call, and returns a future of its result.
Submit = Callable[..., Any]

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


class WorkerLostError(EvalstoreError):
    """Workers or their scheduler died, so the run cannot be finished."""


class Workers(NamedTuple):
    """How to submit work to workers, and how many items they work on at the same time."""

    submit: Submit
    slots: int


@dataclass(frozen=True, slots=True)
class GradingPlan:
    """What is graded and with what, in plain values, so that all workers find the same.

    `worktree` is the store's setting; `pins` are what the references resolved to.
    """

    store: Path
    worktree: str | None
    dataset: str
    pins: Mapping[str, UsedArtifact]
    run: Run
    samples: Path
    choice: SeriesFilter
    rubric: str | None
    by_input: bool


class GradingTask(NamedTuple):
    """One span of the outputs of a plan."""

    plan: GradingPlan
    span: OutputSpan


class GradedLine(NamedTuple):
    """A row of the run as written, its parts that are counted, and its output's match."""

    text: bytes
    number: int
    sample: int
    line: int
    output_hash: int
    id: str
    score: Fraction | None
    verdict: Verdict
    rubric: str
    checks: tuple[CheckResult, ...]
    reason: str
    other: str


@dataclass(frozen=True, slots=True)
class GradedSpan:
    """The rows of a span in order, and what is needed to join it to the other spans."""

    lines: list[GradedLine]
    odd: OddOutputs
    repeats: int
    series: SeriesNames
    used: UsedReferences


def map_rows(
    submit: Submit, function: Callable[[_Item], _Result], items: Iterable[_Item], *, most: int
) -> Iterator[_Result]:
    """Yield the results in the order of the items, with at most `most` running at a time.

    An exception of `function` is raised when its item's turn comes.
    """
    waiting: deque[Any] = deque()
    for item in items:
        waiting.append(submit(function, item))
        if len(waiting) >= most:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


def write_run_by_engine(job: ScoringJob, out: Path) -> Run:
    """Write a job's run into `out` with its engine; a cluster started here is also ended here."""
    engine, scheduler = job.options.engine, job.options.scheduler
    if engine not in {"local", "dask"}:
        raise UsageError(f"there is no engine {make_excerpt(engine)}", hint="known: local, dask")
    if engine == "local":
        if scheduler:
            raise UsageError(
                "a scheduler needs the engine dask", hint="name the engine, too: --engine dask"
            )
        return job.write_run(out)
    if scheduler and isinstance(job.samples, RemoteFile):
        message = f"the workers of a cluster read files, and {job.samples} is a URL"
        raise UsageError(message, hint="copy it to a folder that they share")
    return write_run_by_workers(job, out, open_workers(scheduler))


def write_run_by_workers(
    job: ScoringJob,
    out: Path,
    workers: AbstractContextManager[Workers],
    *,
    span_size: int = SPAN_SIZE,
) -> Run:
    """Write the run of a job into `out` as `ScoringJob.write_run` does, byte for byte.

    The workers are opened only if there is more than one span. Raises `UsageError` if judges would
    be asked, and `RefusedError` if the outputs or artifacts change during grading.
    """
    job.refuse_links(out)
    plan = _make_plan(job)
    cut = cut_outputs(plan.samples, span_size)
    if cut.sha256 != job.run.outputs_sha256:
        raise _make_change_error(plan.samples)
    if len(cut.spans) == 1:
        return job.write_run(out)
    pairs, tally = job.open_counts()
    used, series = UsedReferences(), SeriesNames()
    with ExitStack() as stack:
        draft = stack.enter_context(write_run(out, choose_file_name(job.run)))
        submit, slots = stack.enter_context(workers)
        tasks = (GradingTask(plan, span) for span in cut.spans)
        # Two spans for each worker, so that none has to wait for its next.
        spans = map_rows(submit, grade_span, tasks, most=2 * slots)
        for graded in job.grading.session.judges.watch(spans, len(cut.spans)):
            if not series.join(graded.series, job.choice.single_parts):
                _raise_as_whole(job)
            for line in graded.lines:
                # A row that repeats an earlier output for another metric is not counted again.
                if pairs.note_output(line.number, line.sample, line.line, line.output_hash):
                    pairs.note_other(line.other)
                    tally.add(line, line.number)
                    draft.write_line(line.text)
            pairs.odd.join(graded.odd)
            pairs.repeats += graded.repeats
            used = used.join(graded.used)
        if job.choice.only and not series.wanted:
            _raise_as_whole(job)
        return draft.publish(
            job.finish_run(tally, pairs, used, JudgeRecord.from_session(job.grading.session))
        )


def grade_span(task: GradingTask) -> GradedSpan:
    """Grade one span of outputs; this is what a worker runs."""
    plan, span = task
    if compute_span_sha256(plan.samples, span) != span.sha256:
        raise _make_change_error(plan.samples)
    grader = _KEPT.find_grader(plan)
    # Each span starts with a new resolver, so that its notes and pins are only its own.
    resolver = ArtifactResolver(grader.store, _refuse_judges, find=grader.resolve)
    resolver.resolve(plan.dataset)
    pairs = OutputMatcher(str(plan.samples), grader.questions, by_input=plan.by_input)
    series = SeriesNames()
    lines = []
    for match in pairs.match_outputs(read_output_span(plan.samples, span, plan.choice, series)):
        row, output = grade_match(match, resolver, plan.rubric), match.recorded
        lines.append(
            GradedLine(
                write_row_line(row, plan.run),
                match.number,
                output.sample,
                output.line,
                match.output_hash,
                row.id,
                row.score,
                row.verdict,
                row.rubric,
                row.checks,
                row.reason,
                match.other,
            )
        )
    return GradedSpan(
        lines, pairs.odd, pairs.repeats, series, UsedReferences.from_resolver(resolver)
    )


@dataclass(frozen=True, slots=True)
class _Grader:
    """What a worker opens once for all spans of a plan: the store and its questions."""

    plan: GradingPlan
    store: ArtifactStore
    questions: QuestionIndex

    def resolve(self, ref: str) -> Resolved:
        """Resolve a reference; raises `RefusedError` if it changed since scoring began."""
        return _resolve_as_planned(self.plan, self.store, ref)


class _KeptGrader(threading.local):
    """The grader of this thread's plan: a cluster's worker may have several threads."""

    def __init__(self) -> None:
        self.opened = ExitStack()
        self.grader: _Grader | None = None

    def find_grader(self, plan: GradingPlan) -> _Grader:
        if self.grader is None or self.grader.plan != plan:
            self.grader = None
            self.opened.close()
            self.grader = self.opened.enter_context(_open_grader(plan))
        return self.grader


_KEPT = _KeptGrader()


@contextmanager
def _open_grader(plan: GradingPlan) -> Iterator[_Grader]:
    with ArtifactStore.open(plan.store).with_worktree(plan.worktree) as store:
        here = describe_harness(store)
        if here != plan.run.harness:
            planned = plan.run.harness.items()
            wanted = (f"{name} {version}" for name, version in planned if here[name] != version)
            raise RefusedError(
                "a worker has different versions or settings", hint=f"wanted: {', '.join(wanted)}"
            )
        dataset = _resolve_as_planned(plan, store, plan.dataset)
        with open_question_index(dataset, store) as questions:
            if plan.run.dataset != pin_dataset(dataset, store):
                message = f"the questions of {dataset.ref} changed while outputs were graded"
                raise RefusedError(message, hint="score again")
            yield _Grader(plan, store, questions)


def _resolve_as_planned(plan: GradingPlan, store: ArtifactStore, ref: str) -> Resolved:
    found = store.resolve(ref)
    if plan.pins.get(ref, pinned := pin_resolved(found)) != pinned:
        raise RefusedError(f"{ref} changed while outputs were graded", hint="score again")
    return found


def _make_plan(job: ScoringJob) -> GradingPlan:
    resolver = job.grading.artifacts
    store = resolver.store
    dataset = next(iter(resolver.resolved))
    planned = ArtifactResolver(store, _refuse_judges)
    planned.resolve(dataset)
    for ref in [job.options.rubric] if job.options.rubric else job.questions.rubric_refs:
        # An unreadable rubric matters only once an output is to be graded by it.
        with suppress(EvalstoreError):
            planned.prepare_rubric(ref)
    if planned.list_pins(Kind.JUDGE):
        _refuse_judges()
    return GradingPlan(
        store=(store.root or store.git.directory).absolute(),
        worktree=store.worktree,
        dataset=dataset,
        pins={ref: pin_resolved(resolved) for ref, resolved in planned.resolved.items()},
        run=job.run,
        samples=job.samples.resolve(),
        choice=job.choice,
        rubric=job.options.rubric,
        by_input=job.options.by_input,
    )


def _refuse_judges(_: JudgeCall | None = None) -> NoReturn:
    raise UsageError(
        "a rubric asks judges, and only a single process can do that", hint="remove --engine"
    )


def _make_change_error(path: Path) -> RefusedError:
    return RefusedError("changed while it was read", place=Place(str(path)), hint="score again")


def _raise_as_whole(job: ScoringJob) -> NoReturn:
    """Raise the error that reading the whole file at once raises; it names all the series."""
    for _ in read_outputs(job.samples, job.choice):
        pass
    raise _make_change_error(job.samples)


@contextmanager
def open_workers(scheduler: str | None) -> Iterator[Workers]:
    """Open the workers of a scheduler's cluster, or of this machine if none is named.

    A result raises `WorkerLostError` if its item kills workers, or if all of them are gone.
    """
    try:
        import distributed  # noqa: F401  # fails if it is not installed

        if not scheduler:
            import cryptography  # noqa: F401  # makes the keys of the cluster
    except ImportError as error:
        message = f"--engine dask needs the package {error.name}"
        raise EvalstoreError(message, hint=suggest_install("dask")) from None
    with _open_remote_cluster(scheduler) if scheduler else _open_local_cluster() as client:
        yield Workers(partial(_submit, client), sum(client.nthreads().values()) or 1)


def _submit(client: Any, function: Callable[..., Any], *items: Any) -> _AwaitedResult:
    return _AwaitedResult(client, client.submit(function, *items, pure=False))


class _AwaitedResult(NamedTuple):
    """A future of a cluster; waiting for it goes on while workers may still come back."""

    client: Any
    future: Any

    def result(self) -> Any:
        """Return the result, or raise what its function raised."""
        from concurrent.futures import CancelledError

        from distributed import KilledWorker

        waited = 0
        while True:
            try:
                return self.future.result(timeout=_LOOK_SECONDS)
            except KilledWorker as error:
                raise WorkerLostError(
                    f"Dask gave up on some outputs, because workers died: {error}",
                    hint=(
                        "they probably ran out of memory: name a cluster of larger workers "
                        "(--scheduler)"
                    ),
                ) from None
            except CancelledError:  # raised by distributed when the connection is lost
                raise WorkerLostError(
                    "the scheduler of Dask no longer answers", hint="start it, and score again"
                ) from None
            except TimeoutError:
                if self.future.status == "error":  # an error of the function itself
                    raise
            waited = 0 if self.client.nthreads() else waited + _LOOK_SECONDS
            if waited >= WORKER_START_SECONDS:
                raise WorkerLostError(
                    f"Dask has had no workers for {WORKER_START_SECONDS} seconds",
                    hint="start some, and score again",
                )


@contextmanager
def _open_remote_cluster(scheduler: str) -> Iterator[Any]:
    """Connect to a scheduler; what distributed logs about a lost one is raised here anyway."""
    import logging

    import distributed

    logger = logging.getLogger(distributed.client.__name__)
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        with _connect(scheduler) as client:
            yield client
    finally:
        logger.setLevel(level)


def _connect(scheduler: str) -> Any:
    import distributed

    connect: Any = distributed.Client
    try:
        return connect(scheduler, timeout=20, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        message = f"no scheduler of Dask answers here: {type(error).__name__}"
        raise EvalstoreError(
            message, place=Place(scheduler), hint="start one: dask scheduler"
        ) from None


@contextmanager
def _open_local_cluster() -> Iterator[Any]:
    """Start a worker process for each core; they end with the block, or with this process.

    Other users of the machine can reach the cluster's ports, so its traffic is encrypted with keys
    made for it, and it serves no dashboard.
    """
    import logging

    import dask
    from dask.system import CPU_COUNT
    from distributed import Client, LocalCluster

    start: Any = LocalCluster
    connect: Any = Client
    hidden = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}
    with dask.config.set(
        {f"distributed.{role}.http.routes": [] for role in ("scheduler", "worker")}
    ):
        with _keep_interrupt_from_children():
            cluster = start(
                n_workers=0,
                threads_per_worker=1,
                security=True,
                scheduler_kwargs=hidden,
                silence_logs=logging.CRITICAL,
            )
        # Fetch results from the workers directly: through the scheduler, which is in this process,
        # each would be packed and encrypted twice.
        options = {"set_as_default": False, "direct_to_workers": True}
        with cluster, connect(cluster, **options) as client:
            try:
                _start_workers(cluster, client, CPU_COUNT)
                yield client
            except BaseException:
                # Closing the cluster would wait until they have finished grading.
                cluster.sync(_end_workers, cluster)
                raise


def _start_workers(cluster: Any, client: Any, count: int) -> None:
    cluster.scale(count)
    try:
        client.wait_for_workers(count, timeout=WORKER_START_SECONDS)
    except TimeoutError:
        message = f"worker processes took more than {WORKER_START_SECONDS} seconds to start"
        hint = 'a script that scores needs if __name__ == "__main__":'
        raise EvalstoreError(message, hint=hint) from None


async def _end_workers(cluster: Any) -> None:
    import asyncio

    await asyncio.gather(*map(_end_worker, cluster.workers.values()))


async def _end_worker(nanny: Any) -> None:
    with suppress(TimeoutError):  # it is killed by then, but a busy system reports that late
        await nanny.close(timeout=0.1)


@contextmanager
def _keep_interrupt_from_children() -> Iterator[None]:
    """Keep Ctrl-C, which a terminal sends to all processes, from new threads and processes."""
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # started now: starting it later would unblock SIGINT
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
