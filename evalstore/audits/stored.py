"""A stored run as it can be graded again: its rows, its questions, and its rulers as they are in the store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from evalstore.audits.lineage import content_of
from evalstore.audits.rulers import ArtifactVersion, VersionFinder
from evalstore.errors import RefusedError
from evalstore.model import SEEN, Check, Question, Rubric, rubric_of
from evalstore.runs import GradedRow, Run, read_rows, read_run


@dataclass(frozen=True, slots=True)
class QuestionVersion:
    """A question as one run asked it, and the digests of its two parts."""

    question: Question
    input: str
    reference: str


@dataclass(frozen=True, slots=True)
class RunRubric:
    """A rubric of a run: where it is in the store, read once, and its checks with their contents."""

    located: ArtifactVersion
    rubric: Rubric
    checks: tuple[tuple[Check, str], ...]

    @classmethod
    def of(cls, located: ArtifactVersion) -> RunRubric:
        """Read a located rubric."""
        rubric = rubric_of(located.resolved.artifact.value)
        return cls(located, rubric, with_contents(rubric))


@dataclass(frozen=True, slots=True)
class StoredRun:
    """One run, ready to be graded again: its rows by id, its questions, and its rulers as they are in the store."""

    run: Run
    rows: Mapping[str, GradedRow]
    dataset: ArtifactVersion
    rulers: Mapping[str, RunRubric]
    asked: Mapping[str, QuestionVersion]


def read_stored(run: Run | Path | str, rulers: VersionFinder) -> StoredRun:
    """Read a run and find its rulers; raises `RefusedError` with what is missing when it cannot be graded again."""
    run = run if isinstance(run, Run) else read_run(Path(run))
    if run.dataset is None:
        raise RefusedError(
            f"{run.path} names no dataset version, so its rulers cannot be found",
            hint=f"score its outputs here first: evalstore score DATASET {run.path}",
        )
    rows = _index_rows(run)
    dataset = rulers.locate(run.dataset)
    return StoredRun(
        run=run,
        rows=rows,
        dataset=dataset,
        rulers={pinned.ref: RunRubric.of(rulers.locate(pinned)) for pinned in run.rubrics},
        asked={q.id: asked_of(q) for q in rulers.store.read_questions(dataset.resolved) if q.id in rows},
    )


def with_contents(rubric: Rubric) -> tuple[tuple[Check, str], ...]:
    """Return the checks of a rubric, each with its content as one text."""
    return tuple((check, content_of(check)) for check in rubric.checks)


def asked_of(question: Question) -> QuestionVersion:
    """Return a question with the digests of what the model saw and of what graders read besides."""
    return QuestionVersion(question, question.input_digest, question.reference_digest)


def mixed(reference: QuestionVersion, input_: QuestionVersion) -> QuestionVersion:
    """Return the question with the reference of one version and the input of another."""
    if reference.input == input_.input:
        return reference
    kept = {key: value for key, value in reference.question.row.items() if key not in SEEN}
    seen = {key: input_.question.row[key] for key in SEEN if key in input_.question.row}
    question = Question(reference.question.id, input_.question.input, {**kept, **seen})
    return QuestionVersion(question, input_.input, reference.reference)


def _index_rows(run: Run) -> dict[str, GradedRow]:
    rows: dict[str, GradedRow] = {}
    for row in read_rows(run):
        if row.id in rows:
            raise RefusedError(
                f"{run.samples} holds the question {row.id} twice", hint="audit one answer to a question"
            )
        rows[row.id] = row
    if not any(row.score is not None for row in rows.values()):
        raise RefusedError(f"{run.samples} holds no scored output, so there is nothing to explain")
    return rows
