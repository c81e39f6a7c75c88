"""Options of `score` about parts: how many processes, which engine, and a plan, a part of it, or the join of all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from evalstore.cli.context import CommandSettings
from evalstore.cli.jobs import MOST_JOBS
from evalstore.errors import UsageError

if TYPE_CHECKING:
    from evalstore.judging import Judges
    from evalstore.runs import Run
    from evalstore.scoring.by_parts import PartWorkers
    from evalstore.scoring.job import ScoringJob
    from evalstore.scoring.parts import PartOutcome
    from evalstore.scoring.plan import WrittenPlan

_F = TypeVar("_F", bound=Callable[..., Any])
_MOST_PARTS = 1_000_000
_PATH = click.Path(path_type=Path)


@dataclass(frozen=True, slots=True)
class PartOptions:
    """What the command line says of parts; at most one of `plan`, `part` and `merge`."""

    jobs: int | None
    engine: str | None
    scheduler: str | None
    plan: Path | None
    parts: int | None
    part: tuple[int, Path] | None
    merge: Path | None
    root: Path | None

    def __post_init__(self) -> None:
        if sum(value is not None for value in (self.plan, self.part, self.merge)) > 1:
            raise UsageError("--plan, --part and --merge are three commands: give one of them")
        if self.parts and not self.plan:
            raise UsageError("--parts is of --plan", hint="--jobs N takes N processes")

    def plan_job(self, settings: CommandSettings, job: ScoringJob) -> WrittenPlan:
        """Write the plan of a job."""
        from evalstore.runs.remote import RemoteFile
        from evalstore.scoring.by_parts import PART_SIZE, write_plan
        from evalstore.scoring.planning import make_plan

        if isinstance(job.samples, RemoteFile):
            raise UsageError(
                f"a plan names a file that each worker has, and {job.samples} is a URL",
                hint="copy it below --root first; --jobs reads a URL as it is",
            )
        root, samples = self._find_root(settings).resolve(), job.samples.resolve()
        if not samples.is_relative_to(root):
            raise UsageError(
                f"the outputs do not lie below {root}", hint="name a folder above them, which workers will have: --root"
            )
        parts = self.parts or 0
        size = -(-samples.stat().st_size // parts) if parts else PART_SIZE
        plan = make_plan(job, samples.relative_to(root).as_posix(), max(size, 1))
        path = settings.path / self.plan if self.plan else Path()
        written = write_plan(plan, path)
        return replace(written, path=self.plan or path, notes=plan.judges.record.notes if plan.judges else ())

    def run_one(self, settings: CommandSettings, judges: Judges) -> PartOutcome:
        """Do one part in this process."""
        from evalstore.scoring.parts import PartTask, run_part

        number, plan = self.part or (0, Path())
        cache = str(judges.cache) if judges.cache else None
        return run_part(
            PartTask(str(settings.path / plan), str(self._find_root(settings)), str(settings.path), number, cache)
        )

    def merge_all(self, settings: CommandSettings, out: Path, judges: Judges) -> Run:
        """Join all parts of a plan; with an engine or jobs the parts that are missing are done first."""
        from evalstore.cli.progress import make_stream_watch
        from evalstore.scoring.by_parts import merge_plan

        watches = judges.watch, make_stream_watch("joining", quiet=settings.quiet, fewest=2)
        plan = settings.path / (self.merge or Path())
        with settings.open_store() as store:
            workers = self._open_workers(settings, judges, self.jobs or 1) if self.jobs or self.engine else None
            return merge_plan(plan, store, root=self._find_root(settings), out=out, workers=workers, watches=watches)

    def score_job(self, settings: CommandSettings, job: ScoringJob, out: Path, judges: Judges) -> Run:
        """Score a job in this process, in several, or on a cluster."""
        from evalstore.scoring.by_parts import choose_jobs, write_run_by_parts
        from evalstore.workers import count_cores

        jobs = self.jobs or (count_cores() if self.engine else choose_jobs(job))
        if jobs == 1 and self.engine is None:
            return job.write_run(out)
        return write_run_by_parts(job, out, self._open_workers(settings, judges, jobs), jobs)

    def _open_workers(self, settings: CommandSettings, judges: Judges, jobs: int) -> PartWorkers:
        from evalstore.scoring.by_parts import PartWorkers
        from evalstore.scoring.executors import LOCAL, choose_executor

        executor = choose_executor(self.engine or LOCAL, jobs=jobs, scheduler=self.scheduler)
        return PartWorkers(
            executor, settings.path, judges.cache, lambda line: settings.print_message(f"warning: {line}")
        )

    def _find_root(self, settings: CommandSettings) -> Path:
        return settings.path / self.root if self.root else settings.path


_OPTIONS = (
    click.option(
        "--jobs",
        type=click.IntRange(1, MOST_JOBS),
        metavar="N",
        help="Processes at one time; by default every core for a large file without judges, else one.",
    ),
    click.option("--plan", type=_PATH, metavar="PLAN", help="Write a plan of the run in parts into this file instead."),
    click.option("--parts", type=click.IntRange(1, _MOST_PARTS), metavar="N", help="Of a plan: about so many parts."),
    click.option(
        "--part", type=(click.IntRange(min=1), _PATH), metavar="K PLAN", help="Do part K of a plan, counted from 1."
    ),
    click.option("--merge", type=_PATH, metavar="PLAN", help="Join the parts of a plan into its run."),
    click.option(
        "--root",
        type=_PATH,
        metavar="DIR",
        help="Folder below which a plan names the outputs; by default that of -C.",
    ),
    click.option(
        "--engine",
        type=click.Choice(["local", "dask"]),  # kept equal to `ENGINES`, which --help does not import
        help="Who does the parts: processes of this machine, or the workers of a Dask cluster.",
    ),
    click.option("--scheduler", metavar="ADDRESS", help="Of --engine dask: its scheduler, as tcp://host:8786."),
)
_NAMES = tuple(PartOptions.__dataclass_fields__)


def add_part_options(function: _F) -> _F:
    """Add the options about parts to a command, which gets them as one value `parts`."""

    @wraps(function)
    def run_with_parts(*args: Any, **options: Any) -> Any:
        values = {name: options.pop(name) for name in _NAMES}
        return function(*args, parts=PartOptions(**values), **options)

    for option in reversed(_OPTIONS):
        run_with_parts = option(run_with_parts)
    return run_with_parts  # type: ignore[return-value]  # the wrapper takes other keywords
