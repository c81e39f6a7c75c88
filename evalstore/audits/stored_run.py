"""Reads a stored run for replay: rows, questions and rubrics; and how its questions changed up to another run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from evalstore.audits.rubric_edits import encode_check
from evalstore.audits.values import EditSource, Origin
from evalstore.audits.version_path import ArtifactVersion, VersionFinder
from evalstore.diff.changes.dataset import follow_renames as list_later_ids
from evalstore.errors import RefusedError
from evalstore.model import Check, Question, Rubric, find_check_pins, read_rubric
from evalstore.provenance import ArtifactPart
from evalstore.runs import GradedRow, Run, read_rows, read_run
from evalstore.runs.row_index import RowIndex, make_doubled_error
from evalstore.runs.samples import merge_samples

_Item = TypeVar("_Item")
_REFERENCE_RULE = "question-reference-changed"
_REFERENCE_MESSAGE = "graders read other expected answers"


@dataclass(frozen=True, slots=True)
class RunRubric:
    """A rubric of a run: its version in the store, the parsed rubric, and its checks, each with its content."""

    version: ArtifactVersion
    rubric: Rubric
    checks: tuple[tuple[Check, str], ...]

    @classmethod
    def from_version(cls, located: ArtifactVersion) -> RunRubric:
        """Parse the rubric of a version."""
        rubric = read_rubric(located.resolved.artifact.value)
        return cls(located, rubric, list_check_contents(rubric))


@dataclass(frozen=True, slots=True)
class StoredRun:
    """One run, ready for replay: its rows by id, its rubrics by reference, and all questions of its dataset by id.

    Rows and questions are read when they are asked for, so that only one of each needs to be in memory.
    """

    run: Run
    rows: Mapping[str, GradedRow]
    dataset: ArtifactVersion
    rubrics: Mapping[str, RunRubric]
    questions: Mapping[str, Question]

    def find_rubric_name(self, id_: str) -> str:
        """Return `rubric/<id>` of what graded a question; empty where the run does not say."""
        rubric = self.rows.find_rubric(id_) if isinstance(self.rows, RowIndex) else self.rows[id_].rubric
        return rubric.partition("@")[0]


def read_stored_run(run: Run | Path | str, finder: VersionFinder, rows: Iterable[GradedRow] | None = None) -> StoredRun:
    """Read a run and find its artifacts; raises `RefusedError` with what is missing when it cannot be replayed.

    `rows` are those of the run where somebody has read them already.
    """
    found = locate_rulers(run if isinstance(run, Run) else read_run(Path(run)), finder)
    return replace(found, rows=index_rows(found.run, rows), questions=finder.open_questions(found.dataset.resolved))


def locate_rulers(run: Run, finder: VersionFinder) -> StoredRun:
    """Find the artifacts of a run, but no rows or questions; raises `RefusedError` with what is missing."""
    if run.dataset is None:
        raise RefusedError(
            f"{run.path} names no dataset version, so its rulers cannot be found",
            hint=f"score its outputs here first: evalstore score DATASET {run.path}",
        )
    return StoredRun(
        run=run,
        rows={},
        dataset=finder.locate_pin(run.dataset),
        rubrics={pinned.ref: RunRubric.from_version(finder.locate_pin(pinned)) for pinned in run.rubrics},
        questions={},
    )


def follow_renames(a: StoredRun, b: StoredRun, finder: VersionFinder) -> StoredRun:
    """Return run A with the ids that its questions have in run B, where the settings declare a rename."""
    names = find_renames(b, finder, a.questions.__contains__, b.questions.__contains__)
    return replace(a, rows=Renamed(a.rows, names), questions=Renamed(a.questions, names)) if names else a


def find_renames(
    b: StoredRun, finder: VersionFinder, is_in_a: Callable[[str], bool], is_in_b: Callable[[str], bool]
) -> dict[str, str]:
    """Return the ids that questions of run A have in run B, by their old ones, where the settings declare a rename."""
    declared = finder.store.settings.get("renames", {}).get(b.dataset.resolved.name, {})
    names = {
        id_: next(filter(is_in_b, list_later_ids(declared, id_)), id_)
        for id_ in declared
        if is_in_a(id_) and not is_in_b(id_)
    }
    taken = Counter(names.values())
    return {id_: name for id_, name in names.items() if name != id_ and not is_in_a(name) and taken[name] == 1}


class Renamed(Mapping[str, _Item]):
    """A mapping in which some keys have other names: `names` are the new ones by the old."""

    def __init__(self, held: Mapping[str, _Item], names: Mapping[str, str]) -> None:
        self._held, self._names = held, names
        self._earlier = {new: old for old, new in names.items()}

    def __getitem__(self, key: str) -> _Item:
        if key in self._names:
            raise KeyError(key)
        return self._held[self._earlier.get(key, key)]

    def __iter__(self) -> Iterator[str]:
        return (self._names.get(key, key) for key in self._held)

    def __len__(self) -> int:
        return len(self._held)


def list_check_contents(rubric: Rubric) -> tuple[tuple[Check, str], ...]:
    """Return the checks of a rubric, each with its content as one text."""
    return tuple((check, encode_check(check)) for check in rubric.checks)


def index_rows(run: Run, found: Iterable[GradedRow] | None = None) -> Mapping[str, GradedRow]:
    """Return the rows of a run by id, samples of a question in one; raises `RefusedError` where nothing was scored."""
    is_held = found is not None or run.samples == run.path
    rows = _hold_rows(run, read_rows(run) if found is None else found) if is_held else RowIndex(run)
    if not any(row.score is not None for row in rows.values()):
        raise make_unscored_error(run)
    return rows


def make_unscored_error(run: Run) -> RefusedError:
    """Return the error for a run without any score."""
    return RefusedError(f"{run.samples} holds no scored output, so there is nothing to explain")


def _hold_rows(run: Run, found: Iterable[GradedRow]) -> dict[str, GradedRow]:
    several: dict[str, list[GradedRow]] = {}
    for row in found:
        if any(row.sample == other.sample for other in several.setdefault(row.id, [])):
            raise make_doubled_error(run.samples, row.id)
        several[row.id].append(row)
    return {id_: merge_samples(samples) for id_, samples in several.items()}


@dataclass(frozen=True, slots=True)
class QuestionHistory:
    """Where the references and the rubrics of questions that changed come from, by id."""

    references: Mapping[str, Origin]
    rubrics: Mapping[str, Origin]


def read_question_history(a: StoredRun, b: StoredRun, finder: VersionFinder) -> QuestionHistory:
    """Find the origins for the questions of both runs whose reference or rubric changed: one walk, for all of them."""
    # Runs with one version of a dataset have one collection of questions.
    has_other_dataset = a.questions is not b.questions
    references: list[str] = []
    rubrics: list[str] = []
    for id_ in a.rows if has_other_dataset or has_other_rubrics(a, b) else ():
        if id_ in b.rows:
            if has_other_dataset and _has_other_reference(a, b, id_):
                references.append(id_)
            if a.find_rubric_name(id_) != b.find_rubric_name(id_):
                rubrics.append(id_)
    parts = [
        *(ArtifactPart("reference", id_) for id_ in references),
        *(ArtifactPart("rubric", id_) for id_ in rubrics),
    ]
    found = finder.find_origins(a.dataset, b.dataset, parts) if parts else {}
    return QuestionHistory(
        {id_: found[ArtifactPart("reference", id_)] for id_ in references},
        {id_: found[ArtifactPart("rubric", id_)] for id_ in rubrics},
    )


def trace_reference(history: QuestionHistory, id_: str, change: Origin) -> EditSource:
    """Return the source of a question's reference: the commit that changed it last, else the change of the dataset."""
    origin = history.references.get(id_, change)
    return EditSource(_REFERENCE_RULE, origin, rules=(_REFERENCE_RULE,), message=_REFERENCE_MESSAGE)


def find_repin(history: QuestionHistory, id_: str) -> Origin | None:
    """Return the commit that gave a question its other rubric; None where an option of the run did."""
    origin = history.rubrics.get(id_)
    return origin if origin and origin.commit else None


def has_other_rubrics(a: StoredRun, b: StoredRun) -> bool:
    """Whether a question may have a rubric of another name: not where both runs used one alone, and the same."""
    names = [{ref.partition("@")[0] for ref in stored.rubrics} for stored in (a, b)]
    return names[0] != names[1] or len(names[0]) != 1


def is_judged(a: StoredRun, b: StoredRun) -> bool:
    """Whether a judge may have a part in some score."""
    rubrics = (*a.rubrics.values(), *b.rubrics.values())
    return any(True for one in rubrics for check, _ in one.checks for _ in find_check_pins((), check.params))


def _has_other_reference(a: StoredRun, b: StoredRun, id_: str) -> bool:
    old, new = a.questions.get(id_), b.questions.get(id_)
    return old is not None and new is not None and old.reference_digest != new.reference_digest
