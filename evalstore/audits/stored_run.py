"""Reads a stored run for replay: rows, questions and rubrics; and how its questions changed up to another run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from evalstore.audits.rubric_edits import encode_check
from evalstore.audits.values import EditSource, Origin
from evalstore.audits.version_path import ArtifactVersion, VersionFinder
from evalstore.diff.changes.dataset import follow_renames as list_later_ids
from evalstore.errors import RefusedError
from evalstore.model import INPUT_KEYS, Check, Question, Rubric, read_rubric
from evalstore.provenance import ArtifactPart
from evalstore.runs import GradedRow, Run, read_rows, read_run
from evalstore.runs.samples import merge_samples

_REFERENCE_RULE = "question-reference-changed"
_REFERENCE_MESSAGE = "graders read other expected answers"


@dataclass(frozen=True, slots=True)
class QuestionVersion:
    """A question in one version of its dataset, and the digests of its input and of its reference."""

    question: Question
    input_digest: str
    reference_digest: str


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
    """One run, ready for replay: its rows and questions by id, its rubrics by reference, as they are in the store.

    `asked` are the ids of all questions of its dataset, also of those without a row.
    """

    run: Run
    rows: Mapping[str, GradedRow]
    dataset: ArtifactVersion
    rubrics: Mapping[str, RunRubric]
    questions: Mapping[str, QuestionVersion]
    asked: frozenset[str] = frozenset()


def read_stored_run(run: Run | Path | str, finder: VersionFinder, rows: Iterable[GradedRow] | None = None) -> StoredRun:
    """Read a run and find its artifacts; raises `RefusedError` with what is missing when it cannot be replayed.

    `rows` are those of the run where somebody has read them already.
    """
    run = run if isinstance(run, Run) else read_run(Path(run))
    if run.dataset is None:
        raise RefusedError(
            f"{run.path} names no dataset version, so its rulers cannot be found",
            hint=f"score its outputs here first: evalstore score DATASET {run.path}",
        )
    # One pass over the rows; an audit needs them by id, several times.
    by_id = index_rows(run, rows)
    dataset = finder.locate_pin(run.dataset)
    asked: set[str] = set()
    questions: dict[str, QuestionVersion] = {}
    for question in finder.store.questions(dataset.resolved):
        asked.add(question.id)
        if question.id in by_id:
            questions[question.id] = digest_question(question)
    return StoredRun(
        run=run,
        rows=by_id,
        dataset=dataset,
        rubrics={pinned.ref: RunRubric.from_version(finder.locate_pin(pinned)) for pinned in run.rubrics},
        questions=questions,
        asked=frozenset(asked),
    )


def follow_renames(a: StoredRun, b: StoredRun, finder: VersionFinder) -> StoredRun:
    """Return run A with the ids that its questions have in run B, where the settings declare a rename."""
    declared = finder.store.settings.get("renames", {}).get(b.dataset.resolved.name, {})
    names = {
        id_: next((name for name in list_later_ids(declared, id_) if name in b.asked), id_) for id_ in a.asked - b.asked
    }
    taken = Counter(names.values())
    names = {id_: name for id_, name in names.items() if name != id_ and name not in a.asked and taken[name] == 1}
    if not names:
        return a
    rows = {names.get(id_, id_): row for id_, row in a.rows.items()}
    questions = {names.get(id_, id_): question for id_, question in a.questions.items()}
    return replace(a, rows=rows, questions=questions, asked=frozenset(names.get(id_, id_) for id_ in a.asked))


def list_check_contents(rubric: Rubric) -> tuple[tuple[Check, str], ...]:
    """Return the checks of a rubric, each with its content as one text."""
    return tuple((check, encode_check(check)) for check in rubric.checks)


def digest_question(question: Question) -> QuestionVersion:
    """Return a question with the digests of its input (what the model saw) and its reference (what graders read)."""
    return QuestionVersion(question, question.input_digest, question.reference_digest)


def add_to_mix(reference: QuestionVersion, input_: QuestionVersion) -> QuestionVersion:
    """Return the question with the reference of one version and the input of another; cells of an audit mix both."""
    if reference.input_digest == input_.input_digest:
        return reference
    reference_fields = {key: value for key, value in reference.question.row.items() if key not in INPUT_KEYS}
    input_fields = {key: input_.question.row[key] for key in INPUT_KEYS if key in input_.question.row}
    question = Question(reference.question.id, input_.question.input, {**reference_fields, **input_fields})
    return QuestionVersion(question, input_.input_digest, reference.reference_digest)


def index_rows(run: Run, found: Iterable[GradedRow] | None = None) -> dict[str, GradedRow]:
    """Return the rows of a run by id, samples of a question in one; raises `RefusedError` where nothing was scored."""
    several: dict[str, list[GradedRow]] = {}
    for row in read_rows(run) if found is None else found:
        if any(row.sample == other.sample for other in several.setdefault(row.id, [])):
            raise RefusedError(
                f"{run.samples} holds the question {row.id} twice",
                hint="several answers to one question are numbered: score them as samples",
            )
        several[row.id].append(row)
    rows = {id_: merge_samples(samples) for id_, samples in several.items()}
    if not any(row.score is not None for row in rows.values()):
        raise RefusedError(f"{run.samples} holds no scored output, so there is nothing to explain")
    return rows


@dataclass(frozen=True, slots=True)
class QuestionHistory:
    """Where the references and the rubrics of questions that changed come from, by id."""

    references: Mapping[str, Origin]
    rubrics: Mapping[str, Origin]


def read_question_history(a: StoredRun, b: StoredRun, ids: Sequence[str], finder: VersionFinder) -> QuestionHistory:
    """Find the origins for those of `ids` whose reference or rubric changed, in one walk through the dataset."""
    references = [id_ for id_ in ids if a.questions[id_].reference_digest != b.questions[id_].reference_digest]
    rubrics = [id_ for id_ in ids if _has_other_rubric(a, b, id_)]
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


def _has_other_rubric(a: StoredRun, b: StoredRun, id_: str) -> bool:
    return a.rows[id_].rubric.partition("@")[0] != b.rows[id_].rubric.partition("@")[0]
