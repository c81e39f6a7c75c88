"""Lints an artifact's id and version.

It finds ids that two files share now, or did before a rename.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal

from evalstore.errors import RefError
from evalstore.lint.notes import Fix, Note, describe_value, make_note
from evalstore.lint.reference_lookup import ArtifactFiles, ReferenceLookup
from evalstore.model import Artifact, is_id, parse_ref
from evalstore.model.artifact import RENAMED_FROM
from evalstore.versions import TWO_PART, find_version


def lint_identity(artifact: Artifact) -> Iterator[Note]:
    """Yield what is wrong with the id (`artifact.id` is the file's name) and the version."""
    if isinstance(artifact.document.value, dict):
        yield from _lint_id(artifact)
        yield from _lint_version(artifact)


def lint_twins(artifact: Artifact, files: ArtifactFiles) -> Iterator[Note]:
    """Yield the ids of other files that differ from this one's only in case."""
    for twin in files.list_case_twins(artifact):
        yield make_note("id-twin", ("id",), twin=twin)


def _lint_id(artifact: Artifact) -> Iterator[Note]:
    id_ = artifact.value.get("id", artifact.id)
    if not isinstance(id_, str):
        return
    if not is_id(id_):
        yield make_note("id-malformed", ("id",), found=describe_value(id_))
    elif id_ != artifact.id:
        other = f", or write id: {artifact.id}" if is_id(artifact.id) else ""
        yield make_note(
            "id-not-file-name", ("id",), found=id_, hint=f"name the file {id_}.yaml{other}"
        )


def _lint_version(artifact: Artifact) -> Iterator[Note]:
    if "version" not in artifact.value:
        return
    version = artifact.value["version"]
    if not isinstance(version, str):
        number = isinstance(version, int | Decimal) and not isinstance(version, bool)
        mark = artifact.document.spans["version",]
        written = artifact.document.text[mark.start : mark.end]
        what = f"the number {written}" if number else describe_value(version)
        full = _complete_version(written)
        fix = Fix(full, quoted=True) if number and find_version(full) else None
        yield make_note(
            "version-not-text", ("version",), fix=fix, what=what, example=full or "1.0.0"
        )
    elif TWO_PART.fullmatch(version):
        yield make_note("version-two-part", ("version",), fix=Fix(f"{version}.0"), found=version)
    elif find_version(version) is None:
        yield make_note("version-malformed", ("version",), found=describe_value(version))


def _complete_version(written: str) -> str:
    """Return the three-part version that a number means; empty if it means none."""
    if written.isdecimal():
        return f"{written}.0.0"
    return f"{written}.0" if TWO_PART.fullmatch(written) else ""


def lint_former_id(artifact: Artifact, lookup: ReferenceLookup) -> Iterator[Note]:
    """Yield the former id in an artifact if it is its own, or was never released."""
    value, former = artifact.document.value, artifact.former_name
    if isinstance(value, dict) and value.get(RENAMED_FROM) in [artifact.id, artifact.name]:
        yield _note_former(f"{artifact.name} is this file", "remove the line")
    elif former and lookup.load is not None:
        try:
            lookup.load(parse_ref(former))
        except RefError as error:
            yield _note_former(error.message, error.hint or "")


def lint_missing_rename(artifact: Artifact, renames: Mapping[str, str]) -> Iterator[Note]:
    """Yield that an artifact is a deleted one under another id, without saying so."""
    if (former := renames.get(artifact.name)) and RENAMED_FROM not in artifact.value:
        fix = Fix(entry=(RENAMED_FROM, former))
        yield make_note("renamed-from-missing", ("id",), fix=fix, former=former)


def _note_former(message: str, hint: str) -> Note:
    return make_note("renamed-from-unknown", (RENAMED_FROM,), message=message, hint=hint)
