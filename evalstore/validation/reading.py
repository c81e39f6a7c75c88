"""One file into what the rules look at: an artifact, another document, or the note that says why there is none."""

from __future__ import annotations

from dataclasses import dataclass

from evalstore.documents import Document, read_json, read_yaml
from evalstore.documents.yaml_reader import LIMIT
from evalstore.errors import LoadError, Place
from evalstore.files import read_below
from evalstore.model import Artifact
from evalstore.model.lock import LIMIT as LOCK_LIMIT
from evalstore.model.lock import read_lock
from evalstore.validation.notes import Note, failure, note
from evalstore.validation.sources import Role, Source, kind_of, may_be_artifact

_READ_AS_THEY_ARE = frozenset({Role.SETTINGS, Role.ACCEPTED})


@dataclass(frozen=True, slots=True)
class Read:
    """One file after reading; rows and bundles are read by the rules themselves."""

    source: Source
    document: Document | None = None
    artifact: Artifact | None = None
    failed: Note | None = None


def read(source: Source) -> Read | None:
    """Read one file; None for a candidate that turns out to be something else, and for a lock that is in form."""
    if source.role is Role.LINK:
        return Read(source, failed=note("link-not-followed"))
    if source.role in {Role.ROWS, Role.BUNDLE}:
        return Read(source)
    try:
        data = _bytes(source)
    except LoadError as error:
        return Read(source, failed=failure("file-unreadable", error, place=Place(source.file)))
    try:
        if source.role is Role.LOCK:
            read_lock(data, source.file)
            return None
        document = (read_json if source.path.endswith(".json") else read_yaml)(data, source.file)
    except LoadError as error:
        if source.role is Role.CANDIDATE and not may_be_artifact(data):
            return None
        return Read(source, failed=failure("document-malformed", error, place=error.place))
    return Read(source, document) if source.role in _READ_AS_THEY_ARE else _artifact(source, document)


def _artifact(source: Source, document: Document) -> Read | None:
    kind = source.kind or kind_of(document.value)
    if kind is None:
        return None if source.role is Role.CANDIDATE else Read(source, document, failed=note("kind-unknown"))
    value = document.value if isinstance(document.value, dict) else {}
    id_, version = (str(value[key]) if isinstance(value.get(key), str) else "" for key in ("id", "version"))
    return Read(source, document, Artifact(kind, source.stem or id_, version, document))


def _bytes(source: Source) -> bytes:
    limit = LOCK_LIMIT if source.role is Role.LOCK else LIMIT
    return read_below(source.root, source.path, limit) if source.root else source.data or b""
