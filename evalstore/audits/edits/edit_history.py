"""Traces the edits between two rubrics to the diff finding that names each, and its release."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from evalstore.audits.check_matching import CheckNames
from evalstore.audits.edits.check_pins import remove_rubric_pins
from evalstore.audits.edits.edit_naming import RubricSide, VersionStep, name_edits
from evalstore.audits.edits.rubric_edits import RubricEdits, RubricPart, find_edits
from evalstore.audits.edits.version_comparison import compare_or_note
from evalstore.audits.values import EditSource, Origin
from evalstore.audits.version_path import ArtifactVersion, VersionFinder
from evalstore.model import Artifact, Rubric, list_check_ids, read_rubric
from evalstore.release.history.artifact_parts import WHOLE, ArtifactPart, PartTable, read_parts

_PIN_KEYS = frozenset({"judge_prompt_ref", "rubric_ref", "jury"})
_REPIN_RULE = "question-rubric-ref-changed"


@dataclass(frozen=True, slots=True)
class EditHistory:
    """The edits between two rubrics, the source of each, and the findings that move nothing."""

    edits: RubricEdits
    sources: Mapping[RubricPart, EditSource]
    silent: tuple[EditSource, ...] = ()


def trace_edits(finder: VersionFinder, old: ArtifactVersion, new: ArtifactVersion) -> EditHistory:
    """Return the edits between two versions of one rubric, each with its finding and release."""
    # Equal content has no edits, whatever its references mean.
    if old.resolved.digest == new.resolved.digest:
        rubric = _read_unpinned(finder, old)
        return EditHistory(find_edits(rubric, rubric), {})
    history = _name_history(finder, old, new, finder.find_origins(old, new, [WHOLE])[WHOLE])
    origins = _find_origins(finder, old, new, history.edits)
    return replace(
        history,
        sources={part: replace(one, origin=origins[part]) for part, one in history.sources.items()},
    )


def _name_history(
    finder: VersionFinder, old: ArtifactVersion, new: ArtifactVersion, origin: Origin
) -> EditHistory:
    """Return the edits between two rubrics, each named by findings of their diff.

    All of them have the same origin.
    """
    edits = find_edits(_read_unpinned(finder, old), _read_unpinned(finder, new))
    step = VersionStep(
        origin=origin,
        findings=compare_or_note(finder, old.resolved.artifact, new.resolved.artifact),
        old=_build_side(old.resolved.artifact, edits.names[0]),
        new=_build_side(new.resolved.artifact, edits.names[1]),
    )
    return EditHistory(edits, *name_edits(step, edits.edits))


def _find_origins(
    finder: VersionFinder, old: ArtifactVersion, new: ArtifactVersion, edits: RubricEdits
) -> dict[RubricPart, Origin]:
    """Return the origin of each edit.

    For a check that is one part, it is that of its newest change.
    """
    ids = {name: id_ for id_, name in edits.names[1].items()}
    artifacts = [(side.resolved.kind, side.resolved.artifact.value) for side in (old, new)]
    tables = [read_parts(*artifact) or PartTable() for artifact in artifacts]
    wanted = {edit.part: _list_artifact_parts(edit.part, ids, *tables) for edit in edits.edits}
    found = finder.find_origins(old, new, {part for parts in wanted.values() for part in parts})

    def find_newest(parts: Iterable[ArtifactPart]) -> Origin:
        return max((found[one] for one in parts), key=lambda one: one.date or "")

    return {part: find_newest(parts) for part, parts in wanted.items()}


def _list_artifact_parts(
    part: RubricPart, ids: Mapping[str, str], old: PartTable, new: PartTable
) -> list[ArtifactPart]:
    """Return the parts whose history is that of an edited part.

    What a check pins is edited in another file.
    """
    now = ArtifactPart(*part)._replace(name=ids.get(part.name, part.name))
    if part.area != "check" or now not in new.meanings:
        return [now]
    settings = (one for one in {**old.meanings, **new.meanings} if one.area in {"param", "item"})
    own = (one for one in settings if one.name == now.name and one.key not in _PIN_KEYS)

    def has_changed(one: ArtifactPart) -> bool:
        return old.meanings.get(one._replace(name=part.name)) != new.meanings.get(one)

    changed = [*filter(has_changed, own)]
    return changed if ArtifactPart("check", part.name) in old.meanings and changed else [now]


def trace_repin(
    finder: VersionFinder, old: ArtifactVersion, new: ArtifactVersion, release: Origin | None
) -> EditHistory:
    """Return the edits of a question that another rubric grades now.

    They are the differences between the two rubrics. All of them were made by `release`, the step
    of the dataset that exchanged the rubrics.
    """
    origin = Origin(ref=new.resolved.name, old=old.resolved.ref, new=new.resolved.ref)
    if release:
        origin = replace(release, old=origin.old, new=origin.new)
    history = _name_history(finder, old, new, origin)
    if history.edits.edits:
        rules = {part: (*one.rules, _REPIN_RULE) for part, one in history.sources.items()}
        sources = {part: replace(history.sources[part], rules=each) for part, each in rules.items()}
        return replace(history, sources=sources)
    message = f"graded by {new.resolved.name} instead of {old.resolved.name}, which grade alike"
    return replace(
        history, silent=(EditSource(_REPIN_RULE, origin, rules=(_REPIN_RULE,), message=message),)
    )


def _read_unpinned(finder: VersionFinder, version: ArtifactVersion) -> Rubric:
    return remove_rubric_pins(read_rubric(version.resolved.artifact.value), finder.find_first_name)


def _build_side(rubric: Artifact, names: CheckNames) -> RubricSide:
    checks = rubric.value["checks"]
    return RubricSide(checks, list_check_ids(checks), names)
