"""Reads each file to validate: as a document, as its artifact, or as a note on why not."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from evalstore.documents import Document, read_json, read_yaml
from evalstore.documents.yaml_reader import LIMIT
from evalstore.errors import LoadError, Place
from evalstore.files import read_below
from evalstore.lint.notes import Note, make_note, note_error
from evalstore.lint.sources import FileRole, ValidationSource
from evalstore.model import Artifact, Kind
from evalstore.model.lock import LIMIT as LOCK_LIMIT
from evalstore.model.lock import read_lock

Parse = Callable[[bytes, str], Document]
Read = Callable[[Path, str, int], bytes]

_KEYS = {
    Kind.RUBRIC: {"checks", "scoring"},
    Kind.JUDGE: {"template", "score_type", "level_names", "reply_pattern"},
    Kind.DATASET: {"questions", "rows", "defaults"},
}
_TOP_KEY = re.compile(rb"^(checks|scoring|template|score_type|questions|rows)[ ]*:", re.MULTILINE)
_DEPTH = 2  # a folder and a file in it
_NOT_ARTIFACTS = frozenset({FileRole.SETTINGS, FileRole.ACCEPTED})


@dataclass(frozen=True, slots=True)
class ReadFile:
    """One file after reading; rows and bundles are read by the rules themselves."""

    source: ValidationSource
    document: Document | None = None
    artifact: Artifact | None = None
    failed: Note | None = None


def read_source(
    source: ValidationSource, parse: Parse = read_yaml, read: Read = read_below
) -> ReadFile | None:
    """Read one file; None for a candidate that is something else, and for a well-formed lock.

    `parse` reads YAML like `read_yaml`, and `read` a file like `read_below`.
    """
    if source.role is FileRole.LINK:
        return ReadFile(source, failed=make_note("link-not-followed"))
    if source.role is FileRole.IGNORED:
        return ReadFile(source, failed=_note_ignored(source.path))
    if source.role is FileRole.FOREIGN:
        # The file as a whole: its first line is not informative, and may be an archive's.
        place, reason = Place(source.file), source.tool
        note = make_note("format-foreign", place=place, reason=reason, hint=source.advice)
        return ReadFile(source, failed=note)
    if source.role in {FileRole.ROWS, FileRole.BUNDLE}:
        return ReadFile(source)
    try:
        data = _read_bytes(source, read)
    except LoadError as error:
        return ReadFile(
            source, failed=note_error("file-unreadable", error, place=Place(source.file))
        )
    try:
        if source.role is FileRole.LOCK:
            read_lock(data, source.file)
            return None
        document = (read_json if source.path.endswith(".json") else parse)(data, source.file)
    except LoadError as error:
        if source.role is FileRole.CANDIDATE and not may_be_artifact(data):
            return None
        return ReadFile(source, failed=note_error("document-malformed", error, place=error.place))
    return (
        ReadFile(source, document)
        if source.role in _NOT_ARTIFACTS
        else _make_artifact(source, document)
    )


def _make_artifact(source: ValidationSource, document: Document) -> ReadFile | None:
    kind = source.kind or guess_kind(document.value)
    if kind is None:
        return (
            None
            if source.role is FileRole.CANDIDATE
            else ReadFile(source, document, failed=make_note("kind-unknown"))
        )
    value = document.value if isinstance(document.value, dict) else {}
    id_, version = (
        str(value[key]) if isinstance(value.get(key), str) else "" for key in ("id", "version")
    )
    return ReadFile(source, document, Artifact(kind, source.stem or id_, version, document))


def guess_kind(value: object) -> Kind | None:
    """Return the artifact kind that most of a document's keys belong to, or None."""
    keys = set(value) if isinstance(value, dict) else set()
    best = max(Kind, key=lambda kind: len(keys & _KEYS[kind]))
    return best if keys & _KEYS[best] else None


def may_be_artifact(text: bytes) -> bool:
    """Whether a text that cannot be parsed looks like an artifact."""
    return _TOP_KEY.search(text) is not None


def _note_ignored(path: str) -> Note:
    """Return the note on a file that looks like an artifact, with why no command reads it."""
    parts = Path(path).parts
    folder = next(kind.folder for kind in Kind if kind.folder.startswith(parts[0].lower()))
    name = f"{Path(path).stem}.yaml"
    if len(parts) > _DEPTH:
        reason = f"artifacts must be in {folder}/ itself, not in a subfolder"
    elif parts[0] != folder:
        reason = f"the folder must be named {folder}/"
    else:
        reason = "the name of an artifact must end in .yaml"
    return make_note(
        "file-ignored", reason=reason, hint=f"move it to {folder}/{name}, or out of the store"
    )


def _read_bytes(source: ValidationSource, read: Read) -> bytes:
    limit = LOCK_LIMIT if source.role is FileRole.LOCK else LIMIT
    return read(source.root, source.path, limit) if source.root else source.data or b""
