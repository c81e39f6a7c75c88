"""Reads the file of an artifact, and finds the file next to a large dataset that has its rows."""

from __future__ import annotations

import re

from evalstore.documents import Document, read_yaml
from evalstore.errors import LoadError, Place
from evalstore.model import Artifact, Kind, Ref, find_rows_path, is_id
from evalstore.store.contents import StoreReader
from evalstore.store.repository.objects import find_file, list_folder
from evalstore.text import make_excerpt
from evalstore.versions import Version, find_version

ARTIFACT_LIMIT = 1 << 20  # a YAML file; large datasets keep their rows in a separate file
# Begins with the word: searching for it is five times as fast as for the start of a line.
_VERSION_KEY = re.compile(
    rb"""version(?:(?<=^version)|(?<=^["']version))["']?[ \t]*:(.*)$""", re.MULTILINE
)
# In the spellings that `bump` and people use; all others are left to the parser.
_PLAIN_VERSION = re.compile(
    rb"""[ \t]+(["']?)([0-9]+\.[0-9]+\.[0-9]+[0-9A-Za-z.+-]*)\1[ \t]*(?:[ \t]#.*)?\r?"""
)


def read_artifact(ref: Ref, data: bytes, file: str) -> Artifact:
    """Parse the file of `ref`; raises `LoadError` at its place for another id or no version."""
    return make_artifact(ref, read_yaml(data, file))


def read_version(ref: Ref, data: bytes, file: str) -> Version | None:
    """Return the version in the file of `ref`; raises like `read_artifact`.

    The file is parsed only if its version is not plain to see.
    """
    values = _VERSION_KEY.findall(data)
    plain = _PLAIN_VERSION.fullmatch(values[0]) if len(values) == 1 else None
    version = find_version(plain[2].decode("ascii")) if plain else None
    return version or find_version(read_artifact(ref, data, file).version)


def make_artifact(ref: Ref, document: Document) -> Artifact:
    """Return the artifact of a parsed file; raises like `read_artifact`."""
    if not isinstance(document.value, dict):
        raise LoadError(f"holds no {ref.kind}: its root is not a mapping", place=document.locate())
    id_ = document.value.get("id", ref.id if ref.kind is Kind.DATASET else None)
    if id_ != ref.id:
        raise LoadError(
            f"the id is '{make_excerpt(str(id_))}', but the file belongs to {ref.name}",
            place=document.locate(("id",)),
            hint=f"write id: {ref.id}, or rename the file",
        )
    return Artifact(ref.kind, ref.id, _require_version(document, ref.kind), document)


def list_committed_artifacts(store: StoreReader, commit: str) -> dict[tuple[Kind, str], str]:
    """Return the blob of every artifact's file at a commit, by kind and id, in order."""
    blobs: dict[tuple[Kind, str], str] = {}
    for kind in Kind:
        entries = list_folder(store.objects, commit, store.prefix + kind.folder)
        for name, entry in sorted(entries.items()):
            if name.endswith(".yaml") and is_id(name[:-5]):
                blobs[kind, name[:-5]] = entry.oid
    return blobs


def find_rows_blob(store: StoreReader, dataset: Artifact, commit: str | None) -> str | None:
    """Return the blob of a dataset's rows at a commit; None if there is none."""
    path = find_rows_path(dataset)
    return require_blob(store, commit, path) if path and commit else None


def _require_version(document: Document, kind: Kind) -> str:
    text = document.value.get("version")
    if text is None and kind is Kind.DATASET:
        return ""  # a dataset needs no version before its first release
    version = find_version(text) if isinstance(text, str) else None
    if version is None:
        hint = (
            "quote it"
            if isinstance(text, int | float) or hasattr(text, "as_tuple")
            else "write MAJOR.MINOR.PATCH"
        )
        raise LoadError(
            "there is no version"
            if text is None
            else f"the version {make_excerpt(str(text))} is not a version",
            place=document.locate(("version",)),
            hint=f'{hint}, as in version: "1.2.0"',
        )
    return str(version)


def require_blob(store: StoreReader, commit: str, path: str) -> str:
    """Return the blob of a file at a commit; raises `LoadError` if there is none."""
    path_then = store.moves.find_prefix(commit) + path
    blob = find_file(store.objects, commit, path_then)
    if blob is None:
        raise LoadError(f"there is no {path_then} at {commit[:12]}", place=Place(path))
    return blob
