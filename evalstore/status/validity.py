"""What a working file must be to be released: valid, with a version, and with a tag here for all that is recorded."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

from evalstore.errors import RefusedError
from evalstore.model import Kind
from evalstore.store import Resolved
from evalstore.store.ledger import locate_ledger
from evalstore.validation.rules import VALIDATION_RULES
from evalstore.validation.shape import ROOTS, lint_check_shapes, lint_shape
from evalstore.versions import Version, find_version

LEDGER_LIMIT = 1 << 20  # bytes: some ten thousand releases


def check_shape(resolved: Resolved) -> None:
    """Refuse an artifact that its schema refuses (`RefusedError` at the first place)."""
    value = resolved.artifact.value
    checks = lint_check_shapes(value) if resolved.kind is Kind.RUBRIC else ()
    note = next(chain(lint_shape(ROOTS[resolved.kind], value), checks), None)
    if note is not None:
        raise RefusedError(
            VALIDATION_RULES[note.rule].message.format(**note.facts),
            place=note.place or resolved.artifact.document.locate(note.pointer, of_key=note.of_key),
            hint="evalstore validate lists everything that its schema asks for",
        )


def require_version(resolved: Resolved) -> Version:
    """Return the version of a working file; `RefusedError` for one without, or with build metadata."""
    version = find_version(resolved.version)
    if version is None:
        place = resolved.artifact.document.locate()
        raise RefusedError("has no version, so it cannot be released", place=place, hint='add version: "1.0.0"')
    if version.build:
        # SemVer sorts 1.0.0+a and 1.0.0+b as one, so that no range and no pin could tell them apart.
        raise RefusedError(
            f"the version {version} has build metadata, which no release carries",
            place=resolved.artifact.document.locate(("version",)),
            hint=f"write {replace(version, build='')} there",
        )
    return version


def list_ledger_versions(ledger: bytes) -> list[Version]:
    """Return the versions that a ledger names; malformed lines are skipped, and reported by `verify`."""
    words = (line.split(" ")[0] for line in ledger.decode("utf-8", "replace").split("\n"))
    return [version for word in words if (version := find_version(word))]


def check_ledger_complete(name: str, ledger: bytes, tagged: list[Version]) -> None:
    """Refuse a clone whose tags lack the latest release of a ledger: the next version would be computed wrong."""
    recorded = max(list_ledger_versions(ledger), default=None)
    if recorded is not None and (not tagged or recorded > max(tagged)):
        raise RefusedError(
            f"{name}@{recorded} was released, but its tag is not in this clone",
            hint=f"git fetch --tags (--unshallow); if it was withdrawn, take its line out of {locate_ledger(name)}",
        )
