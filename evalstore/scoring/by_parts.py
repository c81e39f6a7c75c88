"""Scores a run in parts that other processes do: writes its plan, has the parts done, and joins them as they come."""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
import warnings
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from evalstore.documents import write_json
from evalstore.errors import Place, RefusedError, UsageError
from evalstore.files import write_below
from evalstore.judging.session import Watch, watch_nothing
from evalstore.runs import Run
from evalstore.scoring.job import ScoringJob
from evalstore.scoring.joining import join_parts, list_missing_parts, read_parts, refuse_missing_parts
from evalstore.scoring.parts import PartFile, PartTask, locate_parts, read_part, run_part
from evalstore.scoring.plan import ScorePlan, WrittenPlan, format_plan, read_plan
from evalstore.scoring.planning import has_judges, make_plan, open_planned_job
from evalstore.store import ArtifactStore
from evalstore.workers import ANY_JOBS, OpenExecutor, map_in_order, open_processes

PART_SIZE = 64 << 20  # bytes of outputs in a part: a minute of work, and some hundred bytes a row in memory
_ROUNDS = 4  # parts a worker, so that none waits long for the last
_SUFFIX = ".evalstore.parts"


@dataclass(frozen=True, slots=True)
class PartWorkers:
    """Who does parts: an executor, the store and the file of replies as its workers find them, who hears of losses."""

    executor: OpenExecutor
    store: Path
    cache: Path | None = None
    on_loss: Callable[[str], None] = lambda _: None
    questions: Path | None = None

    def run_parts(self, plan_file: Path, root: Path, numbers: list[int]) -> Generator[int, None, None]:
        """Have parts done, and yield the number of each, in order."""
        texts = str(plan_file.absolute()), str(root.absolute()), str(self.store.absolute())
        cache = str(self.cache.absolute()) if self.cache else None
        questions = str(self.questions.absolute()) if self.questions else None
        tasks = [PartTask(*texts, number, cache, questions) for number in numbers]
        with closing(map_in_order(run_part, tasks, self.executor, on_loss=self.on_loss)) as outcomes:
            for outcome in outcomes:
                yield outcome.number


def choose_jobs(job: ScoringJob) -> int:
    """Return how many processes a job is worth: all cores for a large file without judges, else one."""
    count = ANY_JOBS.choose_jobs(job.samples.stat().st_size)
    return 1 if count > 1 and has_judges(job) else count


def write_run_by_parts(job: ScoringJob, out: Path, workers: PartWorkers, jobs: int) -> Run:
    """Write the run of a job into `out` as `ScoringJob.write_run` does, byte for byte, by `jobs` workers or more."""
    job.refuse_links(out)
    samples = job.samples.resolve()
    size = max(1, min(PART_SIZE, -(-samples.stat().st_size // (_ROUNDS * jobs))))
    with _open_plan_folder(out) as folder:
        plan_file = folder / "plan.json"
        plan = write_plan(make_plan(job, samples.name, size), plan_file).plan
        if job.questions.save:
            workers = replace(workers, questions=folder / "questions.db")
            job.questions.save(folder / "questions.db")
        with closing(_run_and_read(workers, plan, plan_file, samples.parent, job.session.judges.watch)) as parts:
            return join_parts(job, plan, parts, out)


def write_run_in_processes(job: ScoringJob, out: Path, jobs: int) -> Run:
    """Write the run of a job as `write_run_by_parts` does, by processes of this machine; a lost one is a warning."""
    if jobs < 1:
        raise UsageError(f"jobs is a number of processes, from 1, and not {jobs}")
    store = job.resolver.store
    folder, cache = store.root or store.git.directory, job.session.judges.cache
    workers = PartWorkers(open_processes(jobs), folder, cache, partial(warnings.warn, category=RuntimeWarning))
    return write_run_by_parts(job, out, workers, jobs)


def write_plan(plan: ScorePlan, path: Path) -> WrittenPlan:
    """Write a plan into its file; a plan that is there already is refused."""
    if os.path.lexists(path):
        raise RefusedError("is there already, and nothing is overwritten", place=Place(str(path)))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_below(path.parent, path.name, write_json(format_plan(plan)).encode())
    # As every worker reads it: a plan that cannot be read back is none.
    return WrittenPlan(path, read_plan(path))


def merge_plan(  # noqa: PLR0913  # where everything lies, and who watches
    plan_file: Path,
    store: ArtifactStore,
    *,
    root: Path,
    out: Path,
    workers: PartWorkers | None,
    watches: tuple[Watch, Watch] = (watch_nothing, watch_nothing),
) -> Run:
    """Join the parts of a plan into its run in `out`; with `workers` the parts that are missing are done first.

    `watches` wrap the iteration over the parts that are done, and over those that are joined.
    """
    plan = read_plan(plan_file)
    watch_work, watch_join = watches
    if workers:
        missing = list_missing_parts(plan_file, plan)
        for _ in watch_work(workers.run_parts(plan_file, root, missing), len(missing)):
            pass
    refuse_missing_parts(plan_file, plan)
    with open_planned_job(plan, store, root / plan.outputs) as planned:
        parts = watch_join(read_parts(plan_file, plan), len(plan.spans))
        return join_parts(planned.job, plan, parts, out)


def _run_and_read(
    workers: PartWorkers, plan: ScorePlan, plan_file: Path, root: Path, watch: Watch
) -> Generator[PartFile, None, None]:
    folder = locate_parts(plan_file)
    numbers = list(range(1, len(plan.spans) + 1))
    for number in watch(workers.run_parts(plan_file, root, numbers), len(numbers)):
        part = read_part(folder, plan, number)
        yield part
        # Its rows are in the run by now.
        part.rows.unlink()
        part.counts.unlink()


@contextmanager
def _open_plan_folder(out: Path) -> Iterator[Path]:
    """Make a hidden folder in `out` for a plan and its parts; it is removed at the end, or after a kill by the next."""
    out.mkdir(parents=True, exist_ok=True)
    for left in out.glob(f".*{_SUFFIX}"):
        _remove_if_unlocked(left)
    while True:
        folder = out / f".{secrets.token_hex(4)}{_SUFFIX}"
        folder.mkdir(mode=0o700)  # what workers unpickle lies in it
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with suppress(OSError):  # a file system without locks: nobody can lock it to sweep it either
            fcntl.flock(lock, fcntl.LOCK_EX)
        # Another process may have swept it between the two calls above; from here on it cannot.
        if folder.is_dir():
            break
        os.close(lock)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _remove_if_unlocked(folder: Path) -> None:
    with suppress(OSError):  # a link, a file, locked, or gone by now: not ours to remove
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder)
        finally:
            os.close(descriptor)
