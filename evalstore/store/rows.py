"""The rows of a large dataset: one question a line, streamed from disk or from git, never loaded whole."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from evalstore.documents import LINE_LIMIT, read_row
from evalstore.errors import LoadError, Place
from evalstore.files import open_below
from evalstore.model import Artifact, Kind
from evalstore.store.objects import find_file

if TYPE_CHECKING:
    from evalstore.store.resolve import Resolved
    from evalstore.store.store import ArtifactStore

_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}\.jsonl")
_CHUNK = 1 << 16
_NEEDED = ("id", "input")


def read_rows(store: ArtifactStore, dataset: Resolved) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of a resolved dataset; a row without `id` or `input` is a `LoadError` at its line."""
    path = _path(dataset.artifact)
    if path is None:
        return
    file = f"{dataset.tag or 'git:' + dataset.commit[:12]}:{store.prefix}{path}" if dataset.commit else path
    for number, line in enumerate(_lines(_pieces(store, dataset, path), file), start=1):
        if line.strip():
            yield _row(line, file, number)


def rows_blob(store: ArtifactStore, dataset: Artifact, commit: str | None) -> str | None:
    """Return the blob of the rows beside a dataset at a commit; None when it has no such file, or on disk."""
    path = _path(dataset)
    return _blob(store, commit, path) if path and commit else None


def _path(dataset: Artifact) -> str | None:
    name = dataset.value.get("rows")
    if dataset.kind is not Kind.DATASET or name is None:
        return None
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        place = dataset.document.place(("rows",))
        raise LoadError("rows names no file beside the dataset", place=place, hint=f"rows: {dataset.id}.jsonl")
    return f"{dataset.kind.folder}/{name}"


def _pieces(store: ArtifactStore, dataset: Resolved, path: str) -> Iterator[bytes]:
    if dataset.commit is None:
        if store.root is None:
            return
        with open_below(store.root, path) as file:
            yield from iter(partial(file.read, _CHUNK), b"")
        return
    yield from store.objects.stream(_blob(store, dataset.commit, path))


def _blob(store: ArtifactStore, commit: str, path: str) -> str:
    blob = find_file(store.objects, commit, store.prefix + path)
    if blob is None:
        raise LoadError(f"there is no {store.prefix}{path} at {commit[:12]}", place=Place(path))
    return blob


def _lines(pieces: Iterable[bytes], file: str) -> Iterator[bytes]:
    rest, number = b"", 0
    for piece in pieces:
        *whole, rest = (rest + piece).split(b"\n")
        number += len(whole)
        yield from whole
        if len(rest) > LINE_LIMIT:
            raise LoadError(f"a line is longer than {LINE_LIMIT:,} bytes", place=Place(file, number + 1))
    if rest:
        yield rest


def _row(line: bytes, file: str, number: int) -> Mapping[str, Any]:
    row = read_row(line, file, number)
    if not isinstance(row, dict):
        raise LoadError("a row is an object", place=Place(file, number), hint='{"id": "…", "input": "…"}')
    for key in _NEEDED:
        if not isinstance(row.get(key), str):
            raise LoadError(f"the row has no {key}", place=Place(file, number), hint=f"every row has a text {key!r}")
    return row
