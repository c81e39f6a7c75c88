"""Grades a file of outputs by the workers of an executor, a stretch of it each; sole user of distributed.

The process that starts them cuts the file at ends of lines, counts every row itself in the order of the file, and
writes and names the run: so its bytes are those that one process writes.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from fractions import Fraction
from multiprocessing.connection import wait as wait_for_end
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
from evalstore.scoring.job import ScoringJob, choose_file_name, describe_harness, grade_match, pin_dataset
from evalstore.scoring.matching import OddOutputs, OutputMatcher
from evalstore.scoring.run_record import JudgeRecord, UsedRulers
from evalstore.store import ArtifactStore, Resolved
from evalstore.store.question_index import QuestionIndex, open_question_index

SPAN_SIZE = 4 << 20  # bytes of outputs in a stretch: what comes back of it is held in memory, about three times as much

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


class WorkerLostError(EvalstoreError):
    """A worker was killed, and the run with it."""


class Workers(NamedTuple):
    """An executor, and how many of its workers grade at one time."""

    executor: Executor
    slots: int


@dataclass(frozen=True, slots=True)
class GradingPlan:
    """What is graded and by what, in words that any process can read: all workers must find the same.

    `worktree` is the store's; `pins` say what the references mean.
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
    """One stretch of the outputs of a plan."""

    plan: GradingPlan
    span: OutputSpan


class GradedLine(NamedTuple):
    """A row of the run as it is written, what is counted of it, and which output it is: as in `OutputMatch`."""

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
    """The rows of a stretch in its order, and what else joining it to the others needs."""

    lines: list[GradedLine]
    odd: OddOutputs
    repeats: int
    series: SeriesNames
    rulers: UsedRulers


def map_rows(
    executor: Executor, function: Callable[[_Item], _Result], items: Iterable[_Item], *, most: int
) -> Generator[_Result, None, None]:
    """Yield the result of each item in their order, at most `most` of them under way.

    An exception of `function` is raised at its item's turn; `WorkerLostError` where a worker is killed.
    """
    waiting: deque[Future[_Result]] = deque()
    try:
        for item in items:
            waiting.append(executor.submit(function, item))
            if len(waiting) >= most:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except BrokenExecutor:
        raise WorkerLostError(
            "a worker process was killed", hint="it probably ran out of memory: use fewer processes (--jobs)"
        ) from None
    finally:
        for future in waiting:
            future.cancel()


def write_run_by_workers(job: ScoringJob, out: Path, workers: Workers, *, span_size: int = SPAN_SIZE) -> Run:
    """Write the run of a job into `out` as `ScoringJob.write_run` does, byte for byte.

    Raises `RefusedError` where judges are asked, and for what changes while it is graded.
    """
    job.refuse_links(out)
    plan = _make_plan(job)
    cut = cut_outputs(plan.samples, span_size)
    if cut.sha256 != job.run.outputs_sha256:
        raise _make_change_error(plan.samples)
    if len(cut.spans) == 1:
        return job.write_run(out)
    pairs, tally = job.open_counts()
    rulers, series = UsedRulers(), SeriesNames()
    tasks = (GradingTask(plan, span) for span in cut.spans)
    # Two for each worker, so that none waits for the next.
    spans = map_rows(workers.executor, grade_span, tasks, most=2 * workers.slots)
    with write_run(out, choose_file_name(job.run)) as draft, closing(spans):
        for graded in job.session.judges.watch(spans, len(cut.spans)):
            if not series.join(graded.series, job.choice.single_parts):
                _raise_as_whole(job)
            for line in graded.lines:
                # A row that gives an earlier output once more, for another metric, counts once.
                if pairs.note_output(line.number, line.sample, line.line, line.output_hash):
                    pairs.note_other(line.other)
                    tally.add(line, line.number)
                    draft.write_line(line.text)
            pairs.odd.join(graded.odd)
            pairs.repeats += graded.repeats
            rulers = rulers.join(graded.rulers)
        if job.choice.only and not series.wanted:
            _raise_as_whole(job)
        return draft.publish(job.finish_run(tally, pairs, rulers, JudgeRecord.from_session(job.session)))


def grade_span(task: GradingTask) -> GradedSpan:
    """Grade one stretch of outputs; what a worker runs."""
    plan, span = task
    if compute_span_sha256(plan.samples, span) != span.sha256:
        raise _make_change_error(plan.samples)
    grader = _KEPT.find_grader(plan)
    # What a stretch notes and pins is its own: each starts with a resolver that has met nothing.
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
    return GradedSpan(lines, pairs.odd, pairs.repeats, series, UsedRulers.from_resolver(resolver))


@dataclass(frozen=True, slots=True)
class _Grader:
    """What a worker opens once for all stretches of a plan: the store, and the index of the questions."""

    plan: GradingPlan
    store: ArtifactStore
    questions: QuestionIndex

    def resolve(self, ref: str) -> Resolved:
        """Return what a reference means, as long as that is what it meant when scoring began."""
        return _resolve_as_planned(self.plan, self.store, ref)


class _KeptGrader(threading.local):
    """The grader of the plan that this thread works for: a worker of a cluster may have several threads."""

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
            wanted = ", ".join(
                f"{name} {version}" for name, version in plan.run.harness.items() if here[name] != version
            )
            raise RefusedError("a worker has different versions or settings", hint=f"wanted: {wanted}")
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
    store, resolver = job.resolver.store, job.resolver
    dataset = next(iter(resolver.resolved))
    planned = ArtifactResolver(store, _refuse_judges)
    planned.resolve(dataset)
    for ref in [job.rubric] if job.rubric else job.questions.rubric_refs:
        # A rubric that cannot be read is no matter until an output is to be graded by it.
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
        rubric=job.rubric,
        by_input=job.by_input,
    )


def _refuse_judges(_: JudgeCall | None = None) -> NoReturn:
    raise UsageError("a rubric asks judges, and only a single process can do that", hint="remove --jobs and --engine")


def _make_change_error(path: Path) -> RefusedError:
    return RefusedError("changed while it was read", place=Place(str(path)), hint="score again")


def _raise_as_whole(job: ScoringJob) -> NoReturn:
    """Raise what reading the whole file in one go raises, with the names of all its series."""
    for _ in read_outputs(job.samples, job.choice):
        pass
    raise _make_change_error(job.samples)


@contextmanager
def open_workers(engine: str, *, jobs: int | None, scheduler: str | None, samples: Path) -> Iterator[Workers]:
    """Open the workers of an engine: `local` has `jobs` processes, `dask` those of a scheduler."""
    if engine == "dask":
        if not scheduler:
            raise UsageError("--engine dask needs the address of its scheduler", hint="--scheduler tcp://HOST:8786")
        if isinstance(samples, RemoteFile):
            message = f"the workers of a cluster read files, and {samples} is a URL"
            raise UsageError(message, hint="copy it to a folder that they share")
        with _open_dask(scheduler, jobs) as workers:
            yield workers
        return
    if scheduler:
        raise UsageError("--scheduler needs --engine dask", hint="name the engine, too: --engine dask")
    with open_processes(jobs or 1) as workers:
        yield workers


@contextmanager
def open_processes(jobs: int) -> Iterator[Workers]:
    """Open so many processes of this machine; at the end they are ended at once, whatever they are doing."""
    # `fork` would copy locks and threads of the caller; the fork server imports once what all of them need.
    has_server = "forkserver" in multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("forkserver" if has_server else "spawn")
    context.set_forkserver_preload([__name__])
    executor = _ProcessPool(jobs, mp_context=context, initializer=_start_worker)
    try:
        yield Workers(executor, jobs)
    finally:
        processes = list((getattr(executor, "_processes", None) or {}).values())
        executor.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.kill()
        for process in processes:
            process.join()


class _ProcessPool(ProcessPoolExecutor):
    """A pool whose processes are all known: one whose start an interrupt cuts off is ended by nobody."""

    def submit(self, function: Callable[..., _Result], /, *args: Any, **named: Any) -> Future[_Result]:
        with _hold_interrupt():
            return super().submit(function, *args, **named)


@contextmanager
def _hold_interrupt() -> Iterator[None]:
    """Let Ctrl-C wait for the end; only in the main thread does Python heed it."""
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler) or threading.current_thread() is not threading.main_thread():
        yield
        return
    held = list[tuple[int, Any]]()
    signal.signal(signal.SIGINT, lambda *event: held.append(event))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if held:
            handler(*held[0])


def _start_worker() -> None:
    """Leave Ctrl-C to the process that started this one, and end when that one does, however it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        sentinel = parent.sentinel
        threading.Thread(target=lambda: (wait_for_end([sentinel]), os._exit(1)), daemon=True).start()


@contextmanager
def _open_dask(scheduler: str, jobs: int | None) -> Iterator[Workers]:
    try:
        import distributed

        connect: Any = distributed.Client
    except ImportError:
        raise EvalstoreError("--engine dask needs the package distributed", hint=suggest_install("dask")) from None
    try:
        client = connect(scheduler, timeout=20, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        message = f"no scheduler of Dask answers here: {type(error).__name__}"
        raise EvalstoreError(message, place=Place(scheduler), hint="start one: dask scheduler") from None
    with client, client.get_executor(pure=False) as executor:
        try:
            yield Workers(executor, jobs or sum(client.nthreads().values()) or 1)
        except distributed.KilledWorker as error:
            raise WorkerLostError(
                f"Dask gave up on some outputs, because workers died: {error}",
                hint="they probably ran out of memory: use larger workers",
            ) from None
