"""Scores stored outputs under the rubrics of a dataset and keeps the result as a run; reads no clock."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from datetime import datetime
from importlib import metadata
from pathlib import Path

from evalstore.errors import LoadError, Place, RefError, RefusedError
from evalstore.model import Kind, Question, Reply
from evalstore.model.outcome import APPROXIMATE
from evalstore.runs import Row, Run, drafted, read_outputs, run_name, samples_of, sha256_of
from evalstore.scoring.grade import grade
from evalstore.scoring.pairs import Pairs
from evalstore.scoring.questions import Questions, in_memory, on_disk
from evalstore.scoring.tally import Tally
from evalstore.scoring.used import Ruler, Used, pin
from evalstore.store import Resolved, Store
from evalstore.store.revisions import head
from evalstore.text import excerpt


def score(  # noqa: PLR0913  # what a command line can say, each by its name
    dataset: str,
    outputs: Path,
    *,
    store: Store,
    out: Path,
    at: datetime,
    model: str | None = None,
    rubric: str | None = None,
) -> Run:
    """Grade every output that answers a question of `dataset`, and write the run into the folder `out`.

    `outputs` is JSONL (`{id, output, tool_calls?}` or rows of Every Eval Ever) or the aggregate JSON of a stored run.
    A question is graded by its own rubric, or by `rubric` if given. Outputs are streamed, so memory does not grow with
    them. `at` is the time that the run records. Raises `LoadError` for an output that cannot be read and `RefusedError`
    for one that stands twice, both at file:line; then nothing is left in `out`.
    """
    used = Used(store, ask=lambda _: Reply(problem="judges are not asked yet"))
    resolved = used.resolve(dataset)
    if resolved.kind is not Kind.DATASET:
        raise RefusedError(f"{dataset} holds no questions: it is a {resolved.kind}", hint="dataset/<id>@<version> does")
    samples = samples_of(outputs)
    stated = _model(samples)
    run = _begun(resolved, samples, store=store, at=at, model=model or stated or samples.stem)
    with _indexed(resolved, store) as questions, drafted(out, _file_name(run)) as draft:
        pairs, tally = Pairs(str(samples), questions), Tally()
        for row in _graded(pairs, used, model=None if model else stated, rubric=rubric):
            tally.add(row)
            draft.add(row, run)
        return draft.finish(_ended(tally.close(run), used, pairs))


def _model(samples: Path) -> str | None:
    """Return the model that the outputs name; a file without any output is refused."""
    first = next(read_outputs(samples), None)
    if first is None:
        raise LoadError("holds no output", place=Place(str(samples)))
    return first.model


def _begun(resolved: Resolved, samples: Path, *, store: Store, at: datetime, model: str) -> Run:
    stamp = f"{at.timestamp():.6f}"
    return Run(
        path=Path(),
        samples=Path(),
        id=f"{resolved.id}/{model.replace('/', '_')}/{stamp}",
        name=resolved.id,
        at=stamp,
        model=model,
        dataset=pin(resolved),
        rubrics=(),
        outputs_sha256=sha256_of(samples),
        score=None,
        pass_rate=None,
        scored=0,
        unscored=0,
        checks={},
        harness=_harness(),
        commit=_head(store),
    )


def _graded(pairs: Pairs, used: Used, *, model: str | None, rubric: str | None) -> Iterator[Row]:
    for recorded, question in pairs.of(read_outputs(Path(pairs.file)), model):
        ruler = used.ruler(rubric) if rubric else _own_ruler(used, question)
        yield grade(recorded.output, question, ruler)


def _own_ruler(used: Used, question: Question) -> Ruler | None:
    if question.rubric_ref is None:
        return None
    try:
        return used.ruler(question.rubric_ref)
    except RefError as error:
        message = f"the question {question.id!r} names {excerpt(question.rubric_ref)}: {error.message}"
        raise RefError(message, place=error.place, hint=error.hint) from None


def _ended(run: Run, used: Used, pairs: Pairs) -> Run:
    dataset = f"dataset/{run.name}"
    if not run.questions:
        raise RefusedError(
            f"no output answers a question of {dataset}",
            place=Place(pairs.file),
            hint=f"outputs and questions meet by id; the first output is '{excerpt(pairs.first_stray, 60)}'",
        )
    return replace(
        run,
        rubrics=used.pinned(Kind.RUBRIC),
        judges=used.pinned(Kind.JUDGE),
        without_output=pairs.unanswered,
        without_question=pairs.strays,
        notes=(*used.notes, *pairs.notes(dataset), *_unscored(run), *_approximations(run)),
    )


def _unscored(run: Run) -> Iterator[str]:
    if not run.scored:
        yield f"none of {run.questions} answered questions has a score: each row of the run says why"


def _approximations(run: Run) -> Iterator[str]:
    for engine in run.harness["engines"].split(", "):
        if engine.endswith(APPROXIMATE):
            yield f"some verdicts only come close: {engine} answered for an engine that is not installed"


def _indexed(resolved: Resolved, store: Store) -> AbstractContextManager[Questions]:
    questions = _checked(store.questions(resolved), str(resolved.ref))
    return on_disk(questions) if "rows" in resolved.artifact.value else nullcontext(in_memory(questions))


def _checked(questions: Iterator[Question], ref: str) -> Iterator[Question]:
    """Yield questions as their schema wants them, as far as scoring depends on it."""
    try:
        for question in questions:
            yield _sound(question)
    except KeyError as error:
        raise _unsound(f"a question of {ref} has no {excerpt(str(error))}") from None
    except (AttributeError, TypeError):
        raise _unsound(f"the questions of {ref} do not have the shape of a dataset") from None


def _unsound(message: str) -> RefusedError:
    return RefusedError(message, hint="`evalstore validate` shows the place")


def _sound(question: Question) -> Question:
    for key in ("id", "input", "rubric_ref"):
        if not isinstance(question.row.get(key, ""), str):
            raise _unsound(f"the `{key}` of a question is no text")
    return question


def _file_name(run: Run) -> str:
    pin_ = run.dataset.ref.partition("@")[2] if run.dataset else ""
    return run_name(run.name, pin_, run.model)


def _head(store: Store) -> str | None:
    try:
        return head(store.git)
    except RefError:
        return None


def _harness() -> dict[str, str]:
    """Return what grades; the engines of the checks name themselves and are added when they have answered."""
    try:
        version = metadata.version("evalstore")
    except metadata.PackageNotFoundError:
        version = "unknown"
    return {"evalstore": version, "python": f"{platform.python_implementation()} {platform.python_version()}"}
