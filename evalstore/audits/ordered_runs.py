"""Reads two runs and their dataset side by side where all three have one order: one question of each is in memory.

Most runs were graded in the order of their dataset. Where these were not, or have samples here and there,
`OutOfOrderError` says so, and the runs are read by an index instead; so are those that ask other questions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from evalstore.audits.question_sets import QuestionPair, build_pair
from evalstore.audits.stored_run import RunRubric, StoredRun, has_other_rubrics
from evalstore.audits.version_path import VersionFinder
from evalstore.model import Question
from evalstore.runs import GradedRow, Run, read_rows, read_run
from evalstore.runs.samples import merge_samples
from evalstore.store import ArtifactStore, Resolved
from evalstore.store.artifacts import find_rows_blob
from evalstore.store.question_index import check_questions

_Item = TypeVar("_Item")
RowReader = Callable[[Run], Iterable[GradedRow]]


class OutOfOrderError(Exception):
    """Somebody asked for another question than the one that is read, or two files differ in their order."""


class CurrentItem(Mapping[str, _Item], Generic[_Item]):
    """A collection of which one item is there at a time; its length is how many there were so far."""

    def __init__(self) -> None:
        self._held: tuple[str, _Item] | None = None
        self._count = 0

    def hold(self, id_: str, item: _Item) -> _Item:
        """Put an item in the place of the one before."""
        self._held, self._count = (id_, item), self._count + 1
        return item

    def forget(self) -> None:
        """Begin anew."""
        self._held, self._count = None, 0

    def __getitem__(self, id_: str) -> _Item:
        if self._held is None or self._held[0] != id_:
            raise OutOfOrderError(id_)
        return self._held[1]

    def __contains__(self, id_: object) -> bool:
        if self._held is None or self._held[0] != id_:
            raise OutOfOrderError(id_)
        return True

    def __iter__(self) -> Iterator[str]:
        raise OutOfOrderError("the items stream by")

    def __len__(self) -> int:
        return self._count


class _RowStream:
    """The rows of one run from its start: those of the question that comes next are taken, or left."""

    def __init__(self, rows: CurrentItem[GradedRow], lines: Iterator[GradedRow]) -> None:
        rows.forget()
        self._rows, self._lines = rows, lines
        self.next = next(lines, None)

    def take(self, id_: str) -> GradedRow | None:
        """Return the row of a question, all its samples in one; None where another question is next."""
        if (first := self.next) is None or first.id != id_:
            return None
        self.next, samples = next(self._lines, None), [first]
        if self.next is None or self.next.id != id_:
            return self._rows.hold(id_, first)
        while self.next is not None and self.next.id == id_:
            samples.append(self.next)
            self.next = next(self._lines, None)
        if len({row.sample for row in samples}) < len(samples):
            raise OutOfOrderError(id_)
        return self._rows.hold(id_, merge_samples(samples))


@dataclass(frozen=True, slots=True)
class OrderedRuns:
    """Two runs of one dataset whose rows stand in its order, as far as one can say before they are read.

    Whoever lists the pairs reads both runs from their start.
    """

    a: StoredRun
    b: StoredRun
    list_pairs: Callable[[], Iterator[QuestionPair]]


def open_ordered_runs(
    run_a: Run | Path | str, run_b: Run | Path | str, finder: VersionFinder, read: RowReader = read_rows
) -> OrderedRuns | None:
    """Return two runs to be read side by side, their rows by `read`; None where they cannot be read so."""
    runs = [run if isinstance(run, Run) else read_run(Path(run)) for run in (run_a, run_b)]
    old, new = (run.dataset for run in runs)
    if old is None or new is None or not all(map(_has_lone_rows, runs)):
        return None
    datasets = [finder.locate_pin(used) for used in (old, new)]
    if not _has_same_questions(datasets[0].resolved, datasets[1].resolved, finder.store):
        return None
    questions, rows = CurrentItem[Question](), (CurrentItem[GradedRow](), CurrentItem[GradedRow]())
    a, b = (
        StoredRun(
            run=run,
            rows=held,
            dataset=dataset,
            rubrics={pinned.ref: RunRubric.from_version(finder.locate_pin(pinned)) for pinned in run.rubrics},
            questions=questions,
        )
        for run, held, dataset in zip(runs, rows, datasets, strict=True)
    )
    if has_other_rubrics(a, b):
        return None

    def list_pairs() -> Iterator[QuestionPair]:
        streams = [_RowStream(held, iter(read(run))) for run, held in zip(runs, rows, strict=True)]
        for question in check_questions(finder.store.questions(datasets[1].resolved), datasets[1].resolved.ref):
            old, new = streams[0].take(question.id), streams[1].take(question.id)
            if old is not None or new is not None:
                questions.hold(question.id, question)
                yield build_pair(question.id, old, new, a, b)
        for stream in streams:
            if stream.next is not None:
                raise OutOfOrderError(stream.next.id)

    return OrderedRuns(a, b, list_pairs)


def _has_lone_rows(run: Run) -> bool:
    """Whether a run has one output to each question, in a file of their own."""
    return run.samples != run.path and run.outputs == run.questions > 0


def _has_same_questions(old: Resolved, new: Resolved, store: ArtifactStore) -> bool:
    """Whether two versions of a dataset ask the same in one order, and may differ in the rubric that they name."""
    if old.digest == new.digest:
        return True
    values = old.artifact.value, new.artifact.value
    defaults = [{**value.get("defaults", {}), "rubric_ref": None} for value in values]
    if defaults[0] != defaults[1] or values[0].get("questions") != values[1].get("questions"):
        return False
    if not any("rows" in value for value in values):
        return True
    blobs = [find_rows_blob(store, one.artifact, one.commit) for one in (old, new)]
    return blobs[0] == blobs[1] and blobs[0] is not None
