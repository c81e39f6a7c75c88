"""Merges the files of a store for git: artifacts by item, their versions by rule, rows by id, ledgers by line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from evalstore.documents import Document, compute_digest, encode_document, read_row, read_yaml, replace_scalar
from evalstore.documents.edit import put_item, split_items
from evalstore.errors import EvalstoreError, LoadError
from evalstore.migration.merging.part_merge import PartNode, build_parts, merge_parts
from evalstore.migration.planned_writes import keep_layout, write_artifact_text
from evalstore.model import Kind
from evalstore.places import LEDGER_FOLDER
from evalstore.store.ledger import parse_ledger, split_ledger
from evalstore.store.scratch import merge_texts, merge_texts_marked
from evalstore.versions import find_version

_VERSION = ("version",)
_SOURCE = "x_source"
_ITEMS = "# evalstore: items\n"  # in the place of the items of a list, while the text around them is merged
_TAKEN = "{name}@{version} was released on both sides: git merge --abort, then evalstore bump --again"


class MergeSides(NamedTuple):
    """One file as both sides began from it, and as each of them has it now."""

    base: bytes
    ours: bytes
    theirs: bytes


class FileMerge(NamedTuple):
    """The merged bytes; where they are in conflict, they have git's markers. `notes` are for the user."""

    data: bytes
    is_clean: bool
    notes: tuple[str, ...] = ()


def merge_file(path: str, sides: MergeSides) -> FileMerge:
    """Merge a file of the store at this path in the repository; any other file as git itself does, by lines."""
    if sides.theirs in {sides.base, sides.ours}:
        return FileMerge(sides.ours, is_clean=True)
    if sides.base == sides.ours:
        return FileMerge(sides.theirs, is_clean=True)
    parts = PurePosixPath(path).parts
    if f"{LEDGER_FOLDER}/" in f"/{path}":
        return _merge_ledgers("/".join(parts[-2:]), sides)
    kind = next((kind for kind in Kind if kind.folder == "".join(parts[-2:-1])), None)
    with suppress(EvalstoreError, UnicodeDecodeError):  # what cannot be read is merged by lines
        if kind is not None and path.endswith(".yaml"):
            return _merge_artifacts(f"{kind.folder}/{parts[-1]}", sides)
        if kind is Kind.DATASET and path.endswith(".jsonl") and (data := _merge_rows(sides)) is not None:
            return FileMerge(data, is_clean=True)
    return _merge_lines(*sides)


def _merge_lines(base: bytes, ours: bytes, theirs: bytes) -> FileMerge:
    merged = merge_texts_marked(base, ours, theirs)
    return FileMerge(merged.data, merged.is_clean)


def _merge_ledgers(name: str, sides: MergeSides) -> FileMerge:
    """Keep every line of both sides: only a version that both released, differently, is in conflict."""
    ours, theirs = parse_ledger(sides.ours), parse_ledger(sides.theirs)
    taken = [
        version
        for version, line in theirs.by_version.items()
        if version in ours.by_version and ours.by_version[version].sha256 != line.sha256
    ]
    if taken:
        notes = tuple(_TAKEN.format(name=name, version=version) for version in taken)
        return FileMerge(merge_texts_marked(*sides).data, is_clean=False, notes=notes)
    lines = dict.fromkeys([*split_ledger(sides.ours), *split_ledger(sides.theirs)])
    return FileMerge(b"".join(line + b"\n" for line in lines), is_clean=True)


def _merge_artifacts(path: str, sides: MergeSides) -> FileMerge:
    documents = _set_one_version([read_yaml(data, path) for data in sides])
    texts = [encode_document(document).decode() for document in documents]
    by_lines = merge_texts(*texts)
    value, clashes = _merge_values([document.value for document in documents])
    if value is None or clashes:
        # Within one text, such as a template, lines may merge where the text as a whole is in conflict.
        if by_lines is not None and _has_one_meaning(by_lines, path):
            return FileMerge(by_lines.encode(), is_clean=True)
        return _merge_lines(*(text.encode() for text in texts))
    merge = _ArtifactMerge(path, documents, value)
    found = (text for text in (by_lines, merge.join_items()) if text is not None and merge.has_value(text))
    text = next(found, None)
    if text is None:
        new = write_artifact_text(path, value)
        text = keep_layout(path, value, texts[1], new) or new
    return FileMerge(text.encode(), is_clean=True)


class _ArtifactMerge(NamedTuple):
    """The three sides of an artifact, and its merged value, for which a text is sought that keeps theirs."""

    path: str
    documents: Sequence[Document]
    value: Mapping[str, Any]

    def has_value(self, text: str) -> bool:
        """Whether a text has the merged value; the order of its items is anybody's."""
        with suppress(LoadError):
            return self._list_wholes(read_yaml(text.encode(), self.path).value) == self._list_wholes(self.value)
        return False

    def _list_wholes(self, value: Any) -> dict[tuple[str, ...], str | None]:
        return dict(_list_wholes((), build_parts(value, compute_digest, self._base)))

    @property
    def _base(self) -> PartNode:
        return build_parts(self.documents[0].value, compute_digest)

    def join_items(self) -> str | None:
        """Return the text with each item as the side wrote it that changed it, comments too; None where that fails."""
        key = next((key for key in ("checks", "questions") if key in self.value), "")
        sides = [self._split(document, key) for document in self.documents]
        if None in sides:
            return None
        (base, around_base), (ours, around_ours), (theirs, around_theirs) = (side for side in sides if side)
        around = merge_texts(around_base, around_ours, around_theirs)
        if around is None:
            return None
        pieces = [
            (label, self._choose_piece(base.get(label), ours.get(label), theirs.get(label)))
            for label in self._list_labels(self.value, key)
        ]
        text = around.replace(_ITEMS, "".join(piece for _, piece in pieces))
        document = read_yaml(text.encode(), self.path)
        # What both changed within one item is written anew: only there the layout goes.
        for index, item in enumerate(self.value[key]):
            if document.value[key][index] != item:
                document = put_item(document, key, index, item, replace=True)
        return encode_document(document).decode()

    def _split(self, document: Document, key: str) -> tuple[dict[str, str], str] | None:
        """Return the texts of the items by label, and the text around them."""
        split = split_items(document, key) if key in document.value else None
        if split is None:
            return None
        labels = self._list_labels(document.value, key)
        return dict(zip(labels, split.items, strict=True)), f"{split.head}{_ITEMS}{split.tail}"

    def _list_labels(self, value: Mapping[str, Any], key: str) -> list[str]:
        return [*((build_parts(value, compute_digest, self._base).children or {})[key].children or {})]

    def _choose_piece(self, base: str | None, ours: str | None, theirs: str | None) -> str:
        if ours is None or theirs is None:
            return ours or theirs or ""
        return (merge_texts(base, ours, theirs) if base is not None else None) or ours


def _list_wholes(place: tuple[str, ...], node: PartNode) -> Iterator[tuple[tuple[str, ...], str | None]]:
    if node.children is None:
        yield place, node.digest
    for label, child in (node.children or {}).items():
        yield from _list_wholes((*place, label), child)


def _set_one_version(documents: Sequence[Document]) -> list[Document]:
    """Write the version of the merge into all three, so that it is never in conflict: the higher one of both sides.

    From there the next bump goes on, whichever side has released.
    """
    values = (document.value if isinstance(document.value, dict) else {} for document in documents)
    base, ours, theirs = (value.get("version") for value in values)
    versions = [find_version(text) if isinstance(text, str) else None for text in (ours, theirs)]
    if not isinstance(base, str) or None in versions or ours == theirs:
        return list(documents)
    higher = ours if base == theirs else theirs if base == ours else str(max(filter(None, versions)))
    return [replace_scalar(document, _VERSION, str(higher)) for document in documents]


def _merge_values(values: Sequence[Any]) -> tuple[Mapping[str, Any] | None, Sequence[str]]:
    """Return the merged value, and the parts in conflict; None where the sides cannot be merged by item."""
    if not all(isinstance(value, dict) for value in values):
        return None, ()
    # Where an artifact was migrated from is not a part of it: both must say the same.
    if len({compute_digest(_list_sources(value)) for value in values}) > 1:
        return None, ()
    base = build_parts(values[0], compute_digest)
    merged, clashes = merge_parts(base, *(build_parts(value, compute_digest, base) for value in values[1:]))
    sources = {_SOURCE: values[1][_SOURCE]} if _SOURCE in values[1] else {}
    return merged | sources, clashes


def _list_sources(value: Any) -> list[Any]:
    items = value if isinstance(value, list) else value.values() if isinstance(value, dict) else ()
    own = [value[_SOURCE]] if isinstance(value, dict) and _SOURCE in value else []
    return [*own, *(source for item in items for source in _list_sources(item))]


def _has_one_meaning(text: str, path: str) -> bool:
    """Whether a text that was merged by lines is readable, and no item in it is there twice."""
    with suppress(LoadError):
        value = read_yaml(text.encode(), path).value
        items = [item for key in ("checks", "questions") for item in value.get(key) or ()]
        ids = [item["id"] for item in items if isinstance(item, dict) and "id" in item]
        return len(ids) == len(set(ids))
    return False


def _merge_rows(sides: MergeSides) -> bytes | None:
    """Return merged rows, each a line as it was; None where both sides changed one, or two have one id."""
    base, ours, theirs = (_index_rows(data) for data in sides)
    if base is None or ours is None or theirs is None:
        return None
    merged: dict[str, bytes] = {}
    for id_ in dict.fromkeys([*ours, *theirs]):
        old, here, there = base.get(id_), ours.get(id_), theirs.get(id_)
        if here not in {old, there} and there != old:
            return None
        line = there if here == old else here
        if line is not None:
            merged[id_] = line
    return b"".join(merged.values())


def _index_rows(data: bytes) -> dict[str, bytes] | None:
    rows: dict[str, bytes] = {}
    for number, line in enumerate(data.splitlines(keepends=True), start=1):
        row = read_row(line, "rows", number) if line.strip() else None
        id_ = row.get("id") if isinstance(row, dict) else None
        if not isinstance(id_, str) or id_ in rows:
            return None
        rows[id_] = line if line.endswith(b"\n") else line + b"\n"
    return rows
