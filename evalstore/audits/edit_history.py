"""From edits to their causes: the rule that names an edit, and the release that brought it, with commit and author."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from evalstore.audits.edits import RubricEdits, RubricPart, swap, track
from evalstore.audits.lineage import Names
from evalstore.audits.naming import RubricSide, VersionStep, name_edits
from evalstore.audits.rulers import ArtifactVersion, VersionFinder, VersionPath
from evalstore.audits.values import EditSource, Origin
from evalstore.diff import DiffFinding, compare
from evalstore.errors import EvalstoreError
from evalstore.model import Artifact, check_ids, rubric_of

Sources = tuple[tuple[EditSource, ...], ...]
_REPIN_RULE = "question-rubric-ref-changed"


@dataclass(frozen=True, slots=True)
class EditHistory:
    """The way from one rubric to another: its edits, the source of each of their steps, and what moves nothing."""

    track: RubricEdits
    sources: Sources
    silent: tuple[EditSource, ...] = ()


def journey(rulers: VersionFinder, old: ArtifactVersion, new: ArtifactVersion) -> EditHistory:
    """Return the edits between two versions of one rubric, each with its finding and its release."""
    if old.resolved.digest == new.resolved.digest:
        return EditHistory(track([rubric_of(old.resolved.artifact.value)]), ())
    way = rulers.way(old, new)
    passed = track([rubric_of(version.resolved.artifact.value) for version in way.versions])
    named = [
        name_edits(_build_step(rulers, way, passed, number), _list_edited_parts(passed, number))
        for number in range(len(way.origins))
    ]
    sources = tuple(tuple(named[step][0][edit.part] for step in edit.steps) for edit in passed.edits)
    return EditHistory(passed, sources, tuple(source for _, silent in named for source in silent))


def repin(old: ArtifactVersion, new: ArtifactVersion, brought: Origin | None) -> EditHistory:
    """Return the single edit of a question that another rubric grades now; `brought` is the dataset's release."""
    rubrics = [rubric_of(side.resolved.artifact.value) for side in (old, new)]
    origin = Origin(new.resolved.name, old.resolved.ref, new.resolved.ref)
    if brought:
        origin = replace(origin, ref=brought.ref, commit=brought.commit, author=brought.author, date=brought.date)
    return EditHistory(swap(*rubrics), ((EditSource(_REPIN_RULE, origin, rules=(_REPIN_RULE,)),),))


def _list_edited_parts(passed: RubricEdits, number: int) -> dict[RubricPart, tuple[Any, Any]]:
    """Return what the edits change in one step, before and after."""
    levels = [(edit, edit.steps.index(number)) for edit in passed.edits if number in edit.steps]
    return {edit.part: (edit.states[at][edit.part], edit.states[at + 1][edit.part]) for edit, at in levels}


def _build_step(rulers: VersionFinder, way: VersionPath, passed: RubricEdits, number: int) -> VersionStep:
    old, new = (way.versions[side].resolved.artifact for side in (number, number + 1))
    return VersionStep(
        origin=way.origins[number],
        findings=_compare_versions(rulers, old, new),
        old=_build_side(old, passed.names[number]),
        new=_build_side(new, passed.names[number + 1]),
    )


def _build_side(rubric: Artifact, names: Names) -> RubricSide:
    checks = rubric.value["checks"]
    return RubricSide(checks, check_ids(checks), names)


def _compare_versions(rulers: VersionFinder, old: Artifact, new: Artifact) -> tuple[DiffFinding, ...]:
    try:
        return compare(old, new, load=rulers.store.load).findings
    except EvalstoreError as error:
        rulers.notes.append(f"{new.name} {old.version} and {new.version} cannot be compared: {error.message}")
        return ()
