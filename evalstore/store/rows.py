"""Streams the rows that a large dataset keeps in a file beside it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from evalstore import documents  # its names for rows are imported where a row is read
from evalstore.documents import Document, read_yaml
from evalstore.errors import LoadError, Place
from evalstore.files import iterate_pieces, open_below
from evalstore.model import Artifact, Kind, Ref
from evalstore.store.contents import StoreContents
from evalstore.store.objects import find_file
from evalstore.text import make_excerpt
from evalstore.versions import Version, find_version

ARTIFACT_LIMIT = 1 << 20  # a YAML file; large datasets keep their rows beside it
_ROWS_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}\.jsonl")
# Begins with the word, for which a text is searched five times as fast as for the start of a line.
_VERSION_KEY = re.compile(rb"""version(?:(?<=^version)|(?<=^["']version))["']?[ \t]*:(.*)$""", re.MULTILINE)
# In the spellings that `bump` and people write; all others are left to the parser.
_PLAIN_VERSION = re.compile(rb"""[ \t]+(["']?)([0-9]+\.[0-9]+\.[0-9]+[0-9A-Za-z.+-]*)\1[ \t]*(?:[ \t]#.*)?\r?""")


def read_artifact(ref: Ref, data: bytes, file: str) -> Artifact:
    """Parse the file of `ref`; `LoadError` at its place for a file with another id, or without a version."""
    return make_artifact(ref, read_yaml(data, file))


def read_version(ref: Ref, data: bytes, file: str) -> Version | None:
    """Return the version that the file of `ref` says, parsed only where it is not plain; raises as `read_artifact`."""
    values = _VERSION_KEY.findall(data)
    plain = _PLAIN_VERSION.fullmatch(values[0]) if len(values) == 1 else None
    version = find_version(plain[2].decode("ascii")) if plain else None
    return version or find_version(read_artifact(ref, data, file).version)


def make_artifact(ref: Ref, document: Document) -> Artifact:
    """Return the artifact of a parsed file; raises as `read_artifact`."""
    if not isinstance(document.value, dict):
        raise LoadError(f"holds no {ref.kind}: its root is no mapping", place=document.locate())
    if (id_ := _find_artifact_id(document, ref)) != ref.id:
        raise LoadError(
            f"the id is '{make_excerpt(str(id_))}', but the file is that of {ref.name}",
            place=document.locate(("id",)),
            hint=f"write id: {ref.id}, or rename the file",
        )
    return Artifact(ref.kind, ref.id, _require_version(document, ref.kind), document)


def find_rows_blob(store: StoreContents, dataset: Artifact, commit: str | None) -> str | None:
    """Return the blob of the rows beside a dataset at a commit; None without a commit or such a file."""
    path = find_rows_path(dataset)
    return require_blob(store, commit, path) if path and commit else None


def _find_artifact_id(document: Document, ref: Ref) -> object:
    return document.value.get("id", ref.id if ref.kind is Kind.DATASET else None)


def _require_version(document: Document, kind: Kind) -> str:
    text = document.value.get("version")
    if text is None and kind is Kind.DATASET:
        return ""  # a dataset needs no version before its first release
    version = find_version(text) if isinstance(text, str) else None
    if version is None:
        hint = "quote it" if isinstance(text, int | float) or hasattr(text, "as_tuple") else "write MAJOR.MINOR.PATCH"
        raise LoadError(
            "there is no version" if text is None else f"the version {make_excerpt(str(text))} is not a version",
            place=document.locate(("version",)),
            hint=f'{hint}, as in version: "1.2.0"',
        )
    return str(version)


def find_rows_path(dataset: Artifact) -> str | None:
    """Return the path of the rows beside a dataset; None where its own file has the questions."""
    name = dataset.value.get("rows") if dataset.kind is Kind.DATASET else None
    if name is None:
        return None
    if not isinstance(name, str) or not _ROWS_NAME.fullmatch(name):
        place = dataset.document.locate(("rows",))
        raise LoadError("rows names no file beside the dataset", place=place, hint=f"rows: {dataset.id}.jsonl")
    return f"{dataset.kind.folder}/{name}"


def require_blob(store: StoreContents, commit: str, path: str) -> str:
    """Return the blob of a file at a commit; `LoadError` where there is none."""
    path_then = store.moves.find_prefix(commit) + path
    blob = find_file(store.objects, commit, path_then)
    if blob is None:
        raise LoadError(f"there is no {path_then} at {commit[:12]}", place=Place(path))
    return blob


_REQUIRED_KEYS = ("id", "input")


class RowLine(NamedTuple):
    """One line of a file of rows that is not blank, with the name of the file and its number there."""

    data: bytes
    file: str
    number: int


def read_rows(
    store: StoreContents, dataset: Artifact, *, commit: str | None, tag: str | None
) -> Iterator[Mapping[str, Any]]:
    """Yield the rows beside a dataset at a commit (None: on disk); `LoadError` for a row without `id` or `input`."""
    return map(parse_row, read_row_lines(store, dataset, commit=commit, tag=tag))


def read_row_lines(
    store: StoreContents, dataset: Artifact, *, commit: str | None, tag: str | None
) -> Iterator[RowLine]:
    """Yield the lines of the rows beside a dataset at a commit (None: on disk)."""
    path = find_rows_path(dataset)
    if path is None:
        return
    file = f"{tag or 'git:' + commit[:12]}:{store.moves.find_prefix(commit)}{path}" if commit else path
    for number, line in enumerate(_split_lines(_read_pieces(store, path, commit), file), start=1):
        if line.strip():
            yield RowLine(line, file, number)


def read_row_pieces(store: StoreContents, dataset: Artifact, *, commit: str | None) -> Iterator[bytes]:
    """Yield the file of rows beside a dataset at a commit (None: on disk) in pieces."""
    path = find_rows_path(dataset)
    return iter(()) if path is None else _read_pieces(store, path, commit)


def parse_rows_once(lines: Iterable[RowLine], parsed: dict[bytes, Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of some lines; a line that is in `parsed` has the row there, the same object, and others join."""
    for line in lines:
        row = parsed.get(line.data)
        if row is None:
            row = parsed[line.data] = parse_row(line)
        yield row


def _read_pieces(store: StoreContents, path: str, commit: str | None) -> Iterator[bytes]:
    if commit is None:
        if store.root is None:
            return
        with open_below(store.root, path) as file:
            yield from iterate_pieces(file)
        return
    yield from store.objects.stream(require_blob(store, commit, path))


def _split_lines(pieces: Iterable[bytes], file: str) -> Iterator[bytes]:
    # A piece may end within a line: the tail waits for the next piece.
    tail, number = b"", 0
    for piece in pieces:
        *whole, tail = (tail + piece).split(b"\n")
        number += len(whole)
        yield from whole
        if len(tail) > documents.LINE_LIMIT:
            raise LoadError(f"a line is longer than {documents.LINE_LIMIT:,} bytes", place=Place(file, number + 1))
    if tail:
        yield tail


def parse_row(line: RowLine) -> Mapping[str, Any]:
    """Return the row of a line; `LoadError` for one without `id` or `input`."""
    data, file, number = line
    row = documents.read_row(data, file, number)
    if not isinstance(row, dict):
        raise LoadError("a row is an object", place=Place(file, number), hint='{"id": "…", "input": "…"}')
    for key in _REQUIRED_KEYS:
        if not isinstance(row.get(key), str):
            raise LoadError(f"the row has no {key}", place=Place(file, number), hint=f"every row has a text {key!r}")
    return row
