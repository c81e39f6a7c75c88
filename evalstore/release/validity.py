"""What a file must be to be released: of its schema, with a version, and a ledger that the tags have caught up with."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

from evalstore.errors import RefusedError
from evalstore.model import Kind
from evalstore.store import Resolved
from evalstore.validation.rules import RULES
from evalstore.validation.shape import ROOTS, check_notes, shape_notes
from evalstore.versions import Version, find_version

_NAME_LIMIT = 200


def check_shape(resolved: Resolved) -> None:
    """Refuse an artifact that its schema refuses, at the first place."""
    value = resolved.artifact.value
    checks = check_notes(value) if resolved.kind is Kind.RUBRIC else ()
    note = next(chain(shape_notes(ROOTS[resolved.kind], value), checks), None)
    if note is not None:
        raise RefusedError(
            RULES[note.rule].message.format(**note.facts),
            place=note.place or resolved.artifact.document.place(note.pointer, of_key=note.of_key),
            hint="evalstore validate lists everything that its schema asks for",
        )


def require_version(resolved: Resolved) -> Version:
    """Return the version of a working file, or refuse one that has none."""
    version = find_version(resolved.version)
    if version is None:
        place = resolved.artifact.document.place()
        raise RefusedError("has no version, so it cannot be released", place=place, hint='add version: "1.0.0"')
    if version.build:
        # SemVer sorts 1.0.0+a and 1.0.0+b as one, so that no range and no pin could tell them apart.
        raise RefusedError(
            f"the version {version} has build metadata, which no release carries",
            place=resolved.artifact.document.place(("version",)),
            hint=f"write {replace(version, build='')} there",
        )
    return version


def check_tag_name(tag: str) -> None:
    """Refuse the name of a tag that is a version to SemVer, and none to git."""
    if tag.endswith(".lock") or len(tag) > _NAME_LIMIT:
        why = (
            "git makes no tag that ends in .lock" if tag.endswith(".lock") else f"a tag has at most {_NAME_LIMIT} bytes"
        )
        raise RefusedError(f"{tag[:_NAME_LIMIT]} cannot be tagged: {why}", hint="choose another version")
