"""An artifact's id and version: their form, and that the file is named as the id."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from evalstore.model import Artifact, is_id
from evalstore.validation.lookup import Files
from evalstore.validation.notes import Note, note, shown
from evalstore.versions import TWO_PART, find_version


def identity_notes(artifact: Artifact, files: Files) -> Iterator[Note]:
    """Yield what is wrong with the id (`artifact.id` is the file's name) and the version."""
    if isinstance(artifact.document.value, dict):
        yield from _id(artifact)
        yield from _version(artifact)
    for twin in files.twins(artifact):
        yield note("id-twin", ("id",), twin=twin)


def _id(artifact: Artifact) -> Iterator[Note]:
    id_ = artifact.value.get("id", artifact.id)
    if not isinstance(id_, str):
        return
    if not is_id(id_):
        yield note("id-malformed", ("id",), found=shown(id_))
    elif id_ != artifact.id:
        other = f", or write id: {artifact.id}" if is_id(artifact.id) else ""
        yield note("id-not-file-name", ("id",), found=id_, hint=f"name the file {id_}.yaml{other}")


def _version(artifact: Artifact) -> Iterator[Note]:
    if "version" not in artifact.value:
        return
    version = artifact.value["version"]
    if not isinstance(version, str):
        number = isinstance(version, int | Decimal) and not isinstance(version, bool)
        mark = artifact.document.spans["version",]
        written = artifact.document.text[mark.start : mark.end]
        what, example = (f"the number {written}", written) if number else (shown(version), "1.0.0")
        yield note("version-not-text", ("version",), what=what, example=example)
    elif TWO_PART.fullmatch(version):
        yield note("version-two-part", ("version",), found=version)
    elif find_version(version) is None:
        yield note("version-malformed", ("version",), found=shown(version))
