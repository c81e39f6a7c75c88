"""Grades one part of a plan into two files, rows and counts: written aside, named last, and equal whoever does it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from evalstore.errors import EvalstoreError, LoadError, Place, RefusedError, UsageError
from evalstore.files import open_below, open_user_file, refuse_links_below
from evalstore.runs import GradedRow, OutputSpan, Run, compute_span_sha256
from evalstore.runs.eee_lines import write_row_line
from evalstore.runs.record_fields import explain_shape_errors, read_count, require_text
from evalstore.runs.temporary_files import replace_file
from evalstore.scoring.engines import refuse_other_engines
from evalstore.scoring.part_result import PartResult, format_part, parse_part
from evalstore.scoring.plan import ScorePlan, read_json_file, read_plan
from evalstore.scoring.planning import PlannedJob, open_planned_job
from evalstore.store import ArtifactStore

FORM = 1
COUNTS_LIMIT = 4 << 30  # bytes of the counts of one part
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class PartTask:
    """One part to do, in words that any process can read: the plan's file, its root, the store, and the number from 1.

    `cache` is the file of judges' replies (None: in the git directory of the store), `questions` an index of them that
    the process has saved which has the parts done (never a word of the plan, for the file is trusted).
    """

    plan: str
    root: str
    store: str
    number: int
    cache: str | None = None
    questions: str | None = None


@dataclass(frozen=True, slots=True)
class PartOutcome:
    """A part that is done: its number of how many, its outputs, and whether it was done before."""

    number: int
    parts: int
    outputs: int
    was_done: bool


@dataclass(frozen=True, slots=True)
class PartFile:
    """The files of a part: its rows, and beside them its counts, which name the rows by their SHA-256."""

    rows: Path
    counts: Path
    result: PartResult
    sha256: str
    size: int

    def copy_rows(self, target: BinaryIO) -> None:
        """Append the rows to a file; raises `LoadError` where they are not those that the counts name."""
        found = hashlib.sha256()
        with open_user_file(self.rows) as file:
            while block := file.read(_BLOCK):
                found.update(block)
                target.write(block)
        if found.hexdigest() != self.sha256:
            raise make_broken_error(self.rows)

    def list_rows(self) -> Iterator[bytes]:
        """Yield the rows, line by line."""
        with open_user_file(self.rows) as file:
            yield from file


def locate_parts(plan: Path) -> Path:
    """Return the folder that the parts of a plan are written into."""
    return plan.with_name(f"{plan.name}.parts")


def run_part(task: PartTask) -> PartOutcome:
    """Do one part in this process; what a worker runs."""
    path, plan = Path(task.plan), read_plan(Path(task.plan))
    folder = locate_parts(path)
    if not 1 <= task.number <= len(plan.spans):
        raise UsageError(f"there is no part {task.number:,}: the plan has {len(plan.spans):,}, numbered from 1")
    if (found := find_part(folder, plan, task.number)) is not None:
        return PartOutcome(task.number, len(plan.spans), len(found.result.results), was_done=True)
    refuse_other_engines(plan.engines)
    samples = locate_outputs(plan, Path(task.root))
    _refuse_other_bytes(samples, plan.spans[task.number - 1], task.number)
    with ArtifactStore.open(task.store) as store:
        if top := store.repository.top:
            refuse_links_below(top, folder)
        cache, saved = (Path(name) if name else None for name in (task.cache, task.questions))
        with open_planned_job(plan, store, samples, cache=cache, saved=saved and _find_file(saved)) as job:
            return write_part(job, folder, task.number)


def write_part(job: PlannedJob, folder: Path, number: int) -> PartOutcome:
    """Grade part `number` into `folder`; two workers that do so at once write the same bytes."""
    plan, digest, size = job.plan, hashlib.sha256(), 0

    def keep(row: GradedRow, run: Run) -> None:
        nonlocal size
        line = write_row_line(row, run)
        digest.update(line)
        size += rows.write(line)

    with replace_file(_name_rows(folder, number)) as rows:
        result = job.open_part().grade_span(plan.spans[number - 1], keep)
    with replace_file(_name_counts(folder, number)) as counts:
        head = {"evalstore_part": FORM, "plan": plan.digest, "number": number, "sha256": digest.hexdigest()}
        counts.write(json.dumps({**head, "size": size, **format_part(result)}).encode() + b"\n")
    return PartOutcome(number, len(plan.spans), len(result.results), was_done=False)


def find_part(folder: Path, plan: ScorePlan, number: int) -> PartFile | None:
    """Return a part that is there and whole; None for one that is to be done."""
    with suppress(EvalstoreError):
        part = read_part(folder, plan, number)
        whole = OutputSpan("file", 0, part.size, 1, part.sha256)
        return part if compute_span_sha256(part.rows, whole) == part.sha256 else None
    return None


def read_part(folder: Path, plan: ScorePlan, number: int) -> PartFile:
    """Read the counts of a part; raises `LoadError` for a part that is absent, of another plan, or damaged."""
    counts = _name_counts(folder, number)
    value = read_json_file(counts, COUNTS_LIMIT)
    with explain_shape_errors(Place(str(counts)), "is no part of a plan"):
        if (value["evalstore_part"], value["plan"], value["number"]) != (FORM, plan.digest, number):
            raise make_broken_error(counts)
        sha256, size = require_text(value, "sha256"), read_count(value["size"])
        try:
            result = parse_part(value)
        except ArithmeticError:
            raise make_broken_error(counts) from None
    return PartFile(_name_rows(folder, number), counts, result, sha256, size)


def make_broken_error(path: Path) -> LoadError:
    """Return the error for a file that is not what a worker of the plan wrote."""
    number = path.name.partition(".")[0].removeprefix("part-")
    return LoadError(
        "is damaged, or was written for another plan",
        place=Place(str(path)),
        hint=f"do it again: evalstore score --part {number} PLAN",
    )


def locate_outputs(plan: ScorePlan, root: Path) -> Path:
    """Return the file of outputs below the root; `LoadError` where it is not there, or a link leads elsewhere."""
    open_below(root, plan.outputs).close()
    return root / plan.outputs


def _find_file(path: Path) -> Path | None:
    """Return a file of the process that has the parts done, where this machine sees it."""
    return path if path.is_file() else None


def _refuse_other_bytes(samples: Path, span: OutputSpan, number: int) -> None:
    if compute_span_sha256(samples, span) != span.sha256:
        raise RefusedError(
            f"is not the file that was planned: part {number:,} has other bytes",
            place=Place(str(samples)),
            hint="name the folder that has the planned outputs (--root), or plan again",
        )


def _name_rows(folder: Path, number: int) -> Path:
    return folder / f"part-{number}.jsonl"


def _name_counts(folder: Path, number: int) -> Path:
    return folder / f"part-{number}.json"
