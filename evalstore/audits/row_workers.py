"""Grades the outputs of a stored run in several processes: each has some of them, under every ruler.

No judge is asked there: where one has a part, the process that was started grades alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NoReturn

from evalstore.audits.rulers import OutputGrader, ReplacedRuler, RunResults
from evalstore.audits.side_replay import RowResult
from evalstore.audits.stored_run import RunRubric, StoredRun
from evalstore.audits.version_path import ArtifactVersion, VersionFinder
from evalstore.errors import EvalstoreError, RefusedError
from evalstore.judging import Judges, JudgeSession
from evalstore.judging.call_plan import CallQueue
from evalstore.model import Kind, Question, find_check_pins
from evalstore.runs import GradedRow, Run
from evalstore.store import ArtifactStore, Resolved
from evalstore.workers import WorkerLostError

_ROUNDS = 4  # tasks a worker, so that none waits long for the last
_MOST_ROWS = 5_000


@dataclass(frozen=True, slots=True)
class GradingTask:
    """Some outputs of a run under each of some rulers, in words that any process can read.

    `asked` are the questions in the versions of each ruler, where it is a dataset.
    """

    store: str
    run: Run
    dataset: ArtifactVersion
    rubrics: Mapping[str, RunRubric]
    rows: Mapping[str, GradedRow]
    questions: Mapping[str, Question]
    rulers: Sequence[ReplacedRuler]
    asked: Sequence[Sequence[Question] | None]


@dataclass(frozen=True, slots=True)
class GradedTask:
    """The results of a task under one ruler, in the order of its outputs, and what its versions were found as."""

    results: Sequence[RowResult | None]
    notes: Sequence[str]


def grade_under_each(grader: OutputGrader, rulers: Sequence[Resolved]) -> list[RunResults]:
    """Return the results of all outputs under each of some rulers, as `OutputGrader.grade_under` does."""
    replaced = [grader.replace_ruler(ruler) for ruler in rulers]
    jobs = grader.jobs.choose_jobs(grader.stored.run.samples.stat().st_size * len(rulers))
    found = _grade_in_processes(grader, replaced, jobs) if jobs > 1 else None
    return found or [grader.grade_replaced(one) for one in replaced]


def _grade_in_processes(grader: OutputGrader, rulers: Sequence[ReplacedRuler], jobs: int) -> list[RunResults] | None:
    """Return the results under each ruler; None where this process has to grade, and to say why it cannot."""
    pins = (
        pin
        for one in grader.stored.rubrics.values()
        for check, _ in one.checks
        for _, pin in find_check_pins((), check.params)
    )
    if any(pin.startswith(Kind.JUDGE) for pin in pins):
        return None
    tasks = list(_cut_tasks(grader, rulers, jobs))
    found: list[dict[str, RowResult | None]] = [{} for _ in rulers]
    notes: list[list[str]] = [[] for _ in rulers]

    def iterate_rows() -> Iterator[str]:
        done = grader.jobs.map_in_processes(grade_task, tasks, jobs)
        for task, graded in zip(tasks, done, strict=True):
            for index, one in enumerate(graded):
                found[index] |= zip(task.rows, one.results, strict=True)
                notes[index] += one.notes
            yield from task.rows

    try:
        for _ in grader.session.judges.watch(iterate_rows(), len(grader.stored.rows)):
            pass
    except WorkerLostError:
        raise
    except EvalstoreError:  # a judge is asked after all, or the first output that fails is another one here
        return None
    grader.finder.notes += [note for under_ruler in notes for note in under_ruler]
    return list(found)


def grade_task(task: GradingTask) -> list[GradedTask]:
    """Grade the outputs of a task under each of its rulers; what a worker runs."""
    with ArtifactStore.open(task.store) as store, CallQueue() as queue:
        finder = VersionFinder(store)
        stored = StoredRun(task.run, task.rows, task.dataset, task.rubrics, task.questions)
        grader = OutputGrader(stored, finder, JudgeSession(Judges(), _refuse_judges, queue))
        graded = []
        for ruler, asked in zip(task.rulers, task.asked, strict=True):
            finder.notes.clear()
            results = grader.grade_replaced(ruler, asked)
            graded.append(GradedTask(tuple(results.values()), tuple(finder.notes)))
        return graded


def _cut_tasks(grader: OutputGrader, rulers: Sequence[ReplacedRuler], jobs: int) -> Iterator[GradingTask]:
    store, stored = grader.finder.store, grader.stored
    asked = [
        {one.id: one for one in store.questions(ruler) if one.id in stored.rows} if ruler.kind is Kind.DATASET else None
        for ruler, _ in rulers
    ]
    ids, size = iter(stored.rows), max(1, min(_MOST_ROWS, -(-len(stored.rows) // (_ROUNDS * jobs))))
    while chunk := list(islice(ids, size)):
        yield GradingTask(
            store=str((store.root or store.git.directory).absolute()),
            run=stored.run,
            dataset=stored.dataset,
            rubrics=stored.rubrics,
            rows={id_: stored.rows[id_] for id_ in chunk},
            questions={id_: question for id_ in chunk if (question := stored.questions.get(id_)) is not None},
            rulers=rulers,
            asked=[_pick_questions(by_id, chunk) for by_id in asked],
        )


def _pick_questions(by_id: Mapping[str, Question] | None, ids: Sequence[str]) -> list[Question] | None:
    return None if by_id is None else [by_id[id_] for id_ in ids if id_ in by_id]


def _refuse_judges() -> NoReturn:
    raise RefusedError("a judge is asked")
