"""Grades bare outputs as the other run of an audit was graded.

An audit thus takes whatever `evalstore score` takes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Generic, TypeVar

from evalstore.audits.stored_run import read_judge_model
from evalstore.audits.values import Audit
from evalstore.errors import FindingsError, RefusedError
from evalstore.model import parse_ref
from evalstore.runs import Run, read_run
from evalstore.runs.outputs import is_bare_outputs
from evalstore.scoring import ScoringOptions, open_job
from evalstore.scoring.judging import Judges
from evalstore.scoring.run_record import UnmetSettingError
from evalstore.store import ArtifactStore

_Named = TypeVar("_Named", bound=Run | Path)


@dataclass(frozen=True, slots=True)
class AuditedRuns(Generic[_Named]):
    """Two runs to audit, as `named` and as read; `notes` say what was graded for the audit."""

    named: tuple[_Named, _Named]
    read: tuple[_Named | Path, _Named | Path]
    notes: tuple[str, ...] = ()

    def name_sides(self, found: Audit) -> Audit:
        """Return an audit of `read` that names each run as the user did."""
        if not self.notes:
            return found
        name_a, name_b = map(str, self.named)
        a, b = replace(found.a, run=name_a), replace(found.b, run=name_b)
        return replace(found, a=a, b=b, notes=(*self.notes, *found.notes))


@contextmanager
def grade_bare_outputs(
    run_a: _Named, run_b: _Named, store: ArtifactStore, judges: Judges | None
) -> Iterator[AuditedRuns[_Named]]:
    """Yield both runs, with one that is a file of outputs graded now.

    It is graded by the dataset and the rubrics of the other. Whatever is written for that is
    removed at the end. Raises `RefusedError` if neither run says what graded it.
    """
    runs = run_a, run_b
    bare = [isinstance(run, Path) and is_bare_outputs(run) for run in runs]
    if not any(bare):
        yield AuditedRuns(runs, runs)
        return
    place = bare.index(True)
    outputs, other = Path(str(runs[place])), runs[1 - place]
    if all(bare):
        raise RefusedError(
            f"neither {outputs} nor {other} names a dataset to grade it with",
            hint=f"score one of them first: evalstore score DATASET {outputs}",
        )
    graded = other if isinstance(other, Run) else read_run(other)
    if graded.dataset is None:
        raise RefusedError(
            f"{graded.path} names no dataset version, so {outputs} cannot be graded as it was",
            hint=f"score its outputs here first: evalstore score DATASET {graded.path}",
        )
    with TemporaryDirectory(prefix="evalstore-") as folder:
        made = _grade_as(
            graded, graded.dataset.ref, outputs, Path(folder), store, judges or Judges()
        )
        note = f"{outputs.name} holds outputs alone; they were graded now, by {graded.dataset.ref}"
        yield AuditedRuns(runs, (other, made) if place else (made, other), (note,))


def _grade_as(  # noqa: PLR0913, PLR0917  # two files, and what grades one of them
    graded: Run, dataset: str, outputs: Path, folder: Path, store: ArtifactStore, judges: Judges
) -> Path:
    """Grade outputs as a run was graded, and return the path of the resulting run.

    An error refers to `score`, which has more options.
    """
    model = judges.model or read_judge_model(graded)
    store = (
        store.with_worktree(graded.harness["worktree"]) if "worktree" in graded.harness else store
    )
    try:
        options = ScoringOptions(
            at=datetime.now(UTC),
            rubric=_find_override(graded, dataset, store),
            judges=replace(judges, model=model),
        )
        with open_job(dataset, outputs, store, options) as job:
            return job.write_run(folder).path
    except (UnmetSettingError, FindingsError):
        raise
    except RefusedError as error:
        hint = f"score them first: evalstore score {dataset} {outputs}"
        raise RefusedError(error.message, place=error.place, hint=hint) from error


def _find_override(graded: Run, dataset: str, store: ArtifactStore) -> str | None:
    """Return the rubric that graded every question of a run (`score --rubric`).

    Returns None if the dataset's own rubrics did.
    """
    if len(graded.rubrics) != 1:
        return None
    (used,) = graded.rubrics
    named = {question.rubric_ref for question in store.questions(store.resolve(dataset))}
    is_own = any(ref and parse_ref(ref).name == parse_ref(used.ref).name for ref in named)
    return None if is_own else used.ref
