"""A file's bytes into an artifact: its id must be the asked one, its version a version."""

from __future__ import annotations

from evalstore.documents import Document, read_yaml
from evalstore.errors import LoadError
from evalstore.model import Artifact, Kind, Ref
from evalstore.text import excerpt
from evalstore.versions import find_version

ARTIFACT_LIMIT = 1 << 20  # a YAML file; large datasets keep their rows beside it


def read_artifact(ref: Ref, data: bytes, file: str) -> Artifact:
    """Read the file that should hold `ref`; anything else in it is a `LoadError` at its place."""
    document = read_yaml(data, file)
    if not isinstance(document.value, dict):
        raise LoadError(f"holds no {ref.kind}: its root is no mapping", place=document.place())
    if (id_ := _id(document, ref)) != ref.id:
        raise LoadError(
            f"the id is '{excerpt(str(id_))}', but the file is that of {ref.name}",
            place=document.place(("id",)),
            hint=f"write id: {ref.id}, or rename the file",
        )
    return Artifact(ref.kind, ref.id, _version(document, ref.kind), document)


def _id(document: Document, ref: Ref) -> object:
    return document.value.get("id", ref.id if ref.kind is Kind.DATASET else None)


def _version(document: Document, kind: Kind) -> str:
    text = document.value.get("version")
    if text is None and kind is Kind.DATASET:
        return ""  # a dataset needs no version before its first release
    version = find_version(text) if isinstance(text, str) else None
    if version is None:
        hint = "quote it" if isinstance(text, int | float) or hasattr(text, "as_tuple") else "write MAJOR.MINOR.PATCH"
        raise LoadError(
            "there is no version" if text is None else f"the version {excerpt(str(text))} is not a version",
            place=document.place(("version",)),
            hint=f'{hint}, as in version: "1.2.0"',
        )
    return str(version)
