"""Merges a store's files for git.

Artifacts are merged by item, versions by rule, rows by id, and ledgers by line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from evalstore.documents import (
    Document,
    compute_digest,
    encode_document,
    read_row,
    read_yaml,
    replace_scalar,
)
from evalstore.documents.regions import count_comments
from evalstore.errors import EvalstoreError, LoadError
from evalstore.migration.merging.part_merge import PartNode, build_parts, merge_parts
from evalstore.migration.merging.text_merge import TextClashError, merge_regions
from evalstore.model import Kind
from evalstore.model.lock import LOCK_FILE, NO_LOCK, merge_locks, read_lock, write_lock
from evalstore.places import LEDGER_FOLDER
from evalstore.store.ledger import Ledger, parse_ledger, split_ledger
from evalstore.store.repository.text_merge import merge_texts, merge_texts_marked
from evalstore.versions import find_version

_VERSION = ("version",)
_SOURCE = "x_source"
_TAKEN = (
    "{name}@{version} was released on both sides: git merge --abort, then evalstore bump --again"
)


class MergeSides(NamedTuple):
    """One file as both sides began with it, and as each of them has it now."""

    base: bytes
    ours: bytes
    theirs: bytes


class FileMerge(NamedTuple):
    """The merged bytes.

    If they conflict, they have git's markers. `notes` are for the user.
    """

    data: bytes
    is_clean: bool
    notes: tuple[str, ...] = ()


def merge_file(path: str, sides: MergeSides) -> FileMerge:
    """Merge the store's file at this path in the repository; any other by lines, like git."""
    if sides.theirs in {sides.base, sides.ours}:
        return FileMerge(sides.ours, is_clean=True)
    if sides.base == sides.ours:
        return FileMerge(sides.theirs, is_clean=True)
    parts = PurePosixPath(path).parts
    if f"{LEDGER_FOLDER}/" in f"/{path}":
        return _merge_ledgers("/".join(parts[-2:]), sides)
    if parts[-1] == LOCK_FILE:
        with suppress(EvalstoreError):  # what cannot be read is merged by lines
            if (lock := _merge_locks(sides)) is not None:
                return lock
    kind = next((kind for kind in Kind if kind.folder == "".join(parts[-2:-1])), None)
    with suppress(EvalstoreError, UnicodeDecodeError):  # what cannot be read is merged by lines
        if kind is not None and path.endswith(".yaml"):
            return _merge_artifacts(f"{kind.folder}/{parts[-1]}", sides)
        if (
            kind is Kind.DATASET
            and path.endswith(".jsonl")
            and (merged := _merge_rows(sides)) is not None
        ):
            return merged
    return _merge_lines(*sides)


def _merge_lines(base: bytes, ours: bytes, theirs: bytes) -> FileMerge:
    merged = merge_texts_marked(base, ours, theirs)
    return FileMerge(merged.data, merged.is_clean)


def _list_taken(ours: Ledger, theirs: Ledger) -> Iterator[str]:
    """Yield the versions that both sides released with different content."""
    for version, line in theirs.by_version.items():
        own = ours.by_version.get(version)
        if own and own.sha256 != line.sha256:
            yield version


def _merge_ledgers(name: str, sides: MergeSides) -> FileMerge:
    """Keep every line of both sides.

    Only a version that both released, with different content, is a conflict.
    """
    ours, theirs = parse_ledger(sides.ours), parse_ledger(sides.theirs)
    if taken := list(_list_taken(ours, theirs)):
        notes = tuple(_TAKEN.format(name=name, version=version) for version in taken)
        return FileMerge(merge_texts_marked(*sides).data, is_clean=False, notes=notes)
    lines = dict.fromkeys([*split_ledger(sides.ours), *split_ledger(sides.theirs)])
    return FileMerge(b"".join(line + b"\n" for line in lines), is_clean=True)


def _merge_locks(sides: MergeSides) -> FileMerge | None:
    """Return the entries of both sides; None if both locked one reference differently."""
    base, ours, theirs = (read_lock(data) if data.strip() else NO_LOCK for data in sides)
    for ref in ours.refs.keys() & theirs.refs.keys():
        if ours.refs[ref] != theirs.refs[ref] and base.refs.get(ref) not in {
            ours.refs[ref],
            theirs.refs[ref],
        }:
            return None
    return FileMerge(write_lock(merge_locks(base, ours, theirs, ())), is_clean=True)


def _merge_artifacts(path: str, sides: MergeSides) -> FileMerge:
    documents = _set_one_version([read_yaml(data, path) for data in sides])
    texts = [document.text for document in documents]
    by_lines, merge = merge_texts(*texts), _ArtifactMerge.find(path, documents)
    is_met = merge.is_met_by if merge else partial(_has_one_meaning, path)
    text = by_lines if by_lines is not None and is_met(by_lines) else None
    if text is None and merge and not merge.clashes:
        joined = merge.join_parts()
        text = joined if joined is not None and is_met(joined) else None
    if text is None:
        return _mark_conflict(*(encode_document(document) for document in documents))
    return FileMerge(encode_document(replace(documents[1], text=text)), is_clean=True)


def _mark_conflict(base: bytes, ours: bytes, theirs: bytes) -> FileMerge:
    """Return a conflict as git writes it, around all differences, even where lines would merge."""
    merged = merge_texts_marked(base, ours, theirs)
    return FileMerge(
        (merge_texts_marked(b"", ours, theirs) if merged.is_clean else merged).data, is_clean=False
    )


class _ArtifactMerge(NamedTuple):
    """The three sides of an artifact with their parts, and the merged parts.

    It looks for a text that has the merged parts.
    """

    path: str
    documents: Sequence[Document]
    nodes: Sequence[PartNode]
    merged: PartNode
    clashes: Sequence[tuple[str, ...]]

    @classmethod
    def find(cls, path: str, documents: Sequence[Document]) -> _ArtifactMerge | None:
        """Merge the parts of three sides; None if they cannot be merged by part."""
        values = [document.value for document in documents]
        if not all(isinstance(value, dict) for value in values):
            return None
        # The origin of an artifact is not a part of it: all sides must agree.
        if len({_digest_sources(value) for value in values}) > 1:
            return None
        base = build_parts(values[0], compute_digest)
        nodes = (base, *(build_parts(value, compute_digest, base) for value in values[1:]))
        return cls(path, documents, nodes, *merge_parts(*nodes))

    def join_parts(self) -> str | None:
        """Return the text with each part as written by the side that changed it.

        Returns None if the layouts differ.
        """
        with suppress(TextClashError):
            return merge_regions(self.documents, self.nodes, self.merged)
        return None

    def is_met_by(self, text: str) -> bool:
        """Whether a text has the merged value, and every comment that it must have.

        The order of the value does not matter. If both sides changed one part, such as a template,
        its lines may have merged.
        """
        with suppress(LoadError):
            document = read_yaml(text, self.path)
            if not isinstance(document.value, dict) or not self._has_value(document.value):
                return False
            return not _count_due_comments(self.documents) - count_comments(document)
        return False

    def _has_value(self, value: Mapping[str, Any]) -> bool:
        if _digest_sources(value) != _digest_sources(self.documents[1].value):
            return False
        found = build_parts(value, compute_digest, self.nodes[0])
        return self._map_agreed(found) == self._map_agreed(self.merged)

    def _map_agreed(self, node: PartNode) -> dict[tuple[str, ...], str | None]:
        """Return the digests of all wholes by place, except for what both sides changed."""
        clashes = self.clashes

        def is_clash(place: tuple[str, ...]) -> bool:
            return any(place[: len(clash)] == clash for clash in clashes)

        wholes = _list_wholes((), node)
        return {place: digest for place, digest in wholes if not is_clash(place)}


def _count_due_comments(documents: Sequence[Document]) -> Counter[str]:
    """Return the comments that a merge must have.

    They are both sides', except for those that one side changed.
    """
    base, ours, theirs = map(count_comments, documents)
    due: Counter[str] = Counter()
    for text in {*ours, *theirs}:
        counts = ours[text] - base[text], theirs[text] - base[text]
        # One that both added may be the same.
        due[text] = base[text] + (max(counts) if min(counts) >= 0 else sum(counts))
    return due


def _list_wholes(
    place: tuple[str, ...], node: PartNode
) -> Iterator[tuple[tuple[str, ...], str | None]]:
    if node.children is None:
        yield place, node.digest
    for label, child in (node.children or {}).items():
        yield from _list_wholes((*place, label), child)


def _set_one_version(documents: Sequence[Document]) -> list[Document]:
    """Write the merge's version, the higher of both, into all three sides, so it never conflicts.

    The next bump continues from there, whichever side has released.
    """
    values = (document.value if isinstance(document.value, dict) else {} for document in documents)
    base, ours, theirs = (value.get("version") for value in values)
    versions = [find_version(text) if isinstance(text, str) else None for text in (ours, theirs)]
    if not isinstance(base, str) or None in versions or ours == theirs:
        return list(documents)
    higher = str(max(filter(None, versions)))
    if base in {ours, theirs}:
        higher = str(ours if base == theirs else theirs)
    return [replace_scalar(document, _VERSION, higher) for document in documents]


def _digest_sources(value: Any) -> str:
    return compute_digest(_list_sources(value))


def _list_sources(value: Any) -> list[Any]:
    items: Iterable[Any] = value if isinstance(value, list) else ()
    sources: list[Any] = []
    if isinstance(value, dict):
        items = value.values()
        sources += [value[_SOURCE]] if _SOURCE in value else []
    for item in items:
        sources += _list_sources(item)
    return sources


def _has_one_meaning(path: str, text: str) -> bool:
    """Whether a text merged by lines is readable and has no duplicate items."""
    with suppress(LoadError):
        value = read_yaml(text, path).value
        if not isinstance(value, dict):
            return True
        lists = [value.get(key) for key in ("checks", "questions")]
        items = [item for one in lists if isinstance(one, list) for item in one]
        ids = [item.get("id") for item in items if isinstance(item, dict)]
        named = [id_ for id_ in ids if isinstance(id_, str)]
        return len(named) == len(set(named))
    return False


def _merge_rows(sides: MergeSides) -> FileMerge | None:
    """Merge rows, each a line as it was, or return None if they lack ids.

    A row that both sides changed is a conflict.
    """
    base, ours, theirs = (_index_rows(data) for data in sides)
    if base is None or ours is None or theirs is None:
        return None
    merged: dict[str, bytes] = {}
    for id_ in dict.fromkeys([*ours, *theirs]):
        old, here, there = base.get(id_), ours.get(id_), theirs.get(id_)
        if here not in {old, there} and there != old:
            return _mark_conflict(*sides)
        line = there if here == old else here
        if line is not None:
            merged[id_] = line
    return FileMerge(b"".join(merged.values()), is_clean=True)


def _index_rows(data: bytes) -> dict[str, bytes] | None:
    rows: dict[str, bytes] = {}
    for number, line in enumerate(data.splitlines(keepends=True), start=1):
        row = read_row(line, "rows", number) if line.strip() else None
        id_ = row.get("id") if isinstance(row, dict) else None
        if not isinstance(id_, str) or id_ in rows:
            return None
        rows[id_] = line if line.endswith(b"\n") else line + b"\n"
    return rows
