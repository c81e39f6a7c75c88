"""Stored runs graded again: what each was made from, and whether it still gives what was recorded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from evalstore.audit.lineage import content_of
from evalstore.audit.rulers import Located, Rulers
from evalstore.audit.values import Drift
from evalstore.checks import combine
from evalstore.checks.evaluate import grade
from evalstore.documents import digest
from evalstore.errors import RefusedError, SchemaError
from evalstore.model import (
    REFERENCE,
    Check,
    CheckResult,
    Question,
    Rubric,
    RubricResult,
    Unscored,
    Verdict,
    rubric_of,
)
from evalstore.runs import Row, Run, read_rows, read_run

# What the model saw; an edit of it reaches the score through the outputs. The rest of what a grader reads is reference.
_INPUT = ("input", "messages")
_REFERENCE = tuple(key for key in REFERENCE if key not in _INPUT)

_Key = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as one run asked it, and the digests of its two parts."""

    question: Question
    input: str
    reference: str


@dataclass(frozen=True, slots=True)
class Ruler:
    """A rubric of a run: where it is in the store, read once, and its checks with their contents."""

    located: Located
    rubric: Rubric
    checks: tuple[tuple[Check, str], ...]

    @classmethod
    def of(cls, located: Located) -> Ruler:
        """Read a located rubric."""
        rubric = rubric_of(located.resolved.artifact.value)
        return cls(located, rubric, tuple((check, content_of(check)) for check in rubric.checks))


@dataclass(frozen=True, slots=True)
class Stored:
    """One run, ready to be graded again: its rows by id, its questions, and its rulers as they are in the store."""

    run: Run
    rows: Mapping[str, Row]
    dataset: Located
    rulers: Mapping[str, Ruler]
    asked: Mapping[str, Asked]


@dataclass(slots=True)
class Grader:
    """Grades checks; what the rubrics of the runs gave is remembered, because the hybrids hold the same checks."""

    strict: bool
    _known: dict[_Key, CheckResult] = field(default_factory=dict)

    def rubric(self, ruler: Ruler, asked: Asked, row: Row) -> RubricResult:
        """Return what `evaluate` answers for one row."""
        results = self.grade(ruler.checks, asked, row)
        about = _about(asked, row)
        self._known |= {(content, *about): one for (_, content), one in zip(ruler.checks, results, strict=True)}
        return combine(ruler.rubric.scoring, results)

    def grade(self, checks: Sequence[tuple[Check, str]], asked: Asked, row: Row) -> list[CheckResult]:
        """Return the result of each check, given with its content, under its own id."""
        about = _about(asked, row)
        return [self._grade(check, (content, *about), asked, row) for check, content in checks]

    def _grade(self, check: Check, key: _Key, asked: Asked, row: Row) -> CheckResult:
        if key in self._known:
            return replace(self._known[key], id=check.id)
        try:
            return grade(check, row.output, asked.question, strict=self.strict)
        except SchemaError as error:  # of a version in between, which nobody has graded with
            return CheckResult(check.id, check.kind, None, Verdict.UNSCORED, error.message, Unscored.ERROR)


def read_stored(run: Run | Path | str, rulers: Rulers) -> Stored:
    """Read a run and find its rulers; raises `RefusedError` with what is missing when it cannot be graded again."""
    run = run if isinstance(run, Run) else read_run(Path(run))
    if run.dataset is None:
        raise RefusedError(
            f"{run.path} names no dataset version, so its rulers cannot be found",
            hint=f"score its outputs here first: evalstore score DATASET {run.path}",
        )
    rows = _by_id(run)
    dataset = rulers.locate(run.dataset)
    return Stored(
        run=run,
        rows=rows,
        dataset=dataset,
        rulers={pinned.ref: Ruler.of(rulers.locate(pinned)) for pinned in run.rubrics},
        asked={q.id: asked_of(q) for q in rulers.store.questions(dataset.resolved) if q.id in rows},
    )


def asked_of(question: Question) -> Asked:
    """Return a question with the digests of what the model saw and of what graders read besides."""
    return Asked(question, _digest(question.row, _INPUT), _digest(question.row, _REFERENCE))


def mixed(reference: Asked, input_: Asked) -> Asked:
    """Return the question with the reference of one version and the input of another."""
    if reference.input == input_.input:
        return reference
    kept = {key: value for key, value in reference.question.row.items() if key not in _INPUT}
    seen = {key: input_.question.row[key] for key in _INPUT if key in input_.question.row}
    question = Question(reference.question.id, input_.question.input, {**kept, **seen})
    return Asked(question, input_.input, reference.reference)


def drift(stored: Stored, grader: Grader, name: str) -> Iterator[Drift]:
    """Yield what grading a run again gives otherwise than recorded; nothing at all is expected."""
    for id_, row in stored.rows.items():
        asked = stored.asked.get(id_)
        if asked is None:
            raise RefusedError(f"{stored.run.path} has a row for {id_}, which is no question of {stored.dataset.label}")
        if row.reference_digest not in {"", asked.reference} or row.input_digest not in {"", asked.input}:
            yield Drift(name, id_, "the question is another one than was recorded")
        elif row.rubric and (what := _difference(row, grader.rubric(_ruler(stored, row), asked, row))):
            yield Drift(name, id_, what)


def _about(asked: Asked, row: Row) -> tuple[str, str, str]:
    return asked.input, asked.reference, row.output_digest


def _by_id(run: Run) -> dict[str, Row]:
    rows: dict[str, Row] = {}
    for row in read_rows(run):
        if row.id in rows:
            raise RefusedError(
                f"{run.samples} holds the question {row.id} twice", hint="audit one answer to a question"
            )
        rows[row.id] = row
    if not any(row.score is not None for row in rows.values()):
        raise RefusedError(f"{run.samples} holds no scored output, so there is nothing to explain")
    return rows


def _ruler(stored: Stored, row: Row) -> Ruler:
    if row.rubric not in stored.rulers:
        raise RefusedError(f"{stored.run.path} does not say which version of {row.rubric} graded {row.id}")
    return stored.rulers[row.rubric]


def _difference(row: Row, again: RubricResult) -> str:
    """Return the first difference in words; empty when there is none."""
    recorded = {check.id: check for check in row.checks}
    for check in again.checks:
        was = recorded.get(check.id)
        if was is None or (was.score, was.verdict) != (check.score, check.verdict):
            return f"{check.id} was {_shown(was)}, is {_shown(check)}"
    if len(recorded) != len(again.checks):
        return f"{len(recorded)} checks were recorded, the rubric has {len(again.checks)}"
    if (row.score, row.verdict) != (again.score, again.verdict):
        return f"the score was {_shown(row)}, is {_shown(again)}"
    return ""


def _shown(result: CheckResult | RubricResult | Row | None) -> str:
    return "absent" if result is None else "unscored" if result.score is None else f"{result.score} ({result.verdict})"


def _digest(row: Mapping[str, Any], keys: tuple[str, ...]) -> str:
    return digest({key: row[key] for key in keys if key in row})
