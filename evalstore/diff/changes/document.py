"""Changes between two documents, by their kind; key by key where the kinds differ, or one side cannot be read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from evalstore.diff.change import Change
from evalstore.diff.changes.dataset import find_question_changes, read_question_set
from evalstore.diff.changes.judge import find_judge_changes
from evalstore.diff.changes.loose import find_key_changes, find_extra_key_changes
from evalstore.diff.changes.rubric import find_rubric_changes
from evalstore.diff.changes.spelling import find_spelling_changes
from evalstore.diff.document import ComparedDocument
from evalstore.diff.plain import make_plain, is_same
from evalstore.diff.refs import ArtifactLoader
from evalstore.diff.state import read_rubric
from evalstore.model import Kind, is_cosmetic

DatasetRows = tuple[Iterable[Mapping[str, Any]], Iterable[Mapping[str, Any]]]

_RUBRIC = frozenset({"id", "version", "checks", "scoring"})
_DATASET = frozenset({"id", "version", "questions", "rows", "defaults"})


def find_changes(
    sides: tuple[ComparedDocument, ComparedDocument],
    rows: DatasetRows | None,
    renames: Mapping[str, str],
    load: ArtifactLoader | None,
) -> Iterator[Change]:
    """Yield the edits between two sides; `rows` are those of datasets that keep them in a file beside them."""
    old, new = (side.value for side in sides)
    kinds = {side.kind for side in sides}
    if kinds == {Kind.RUBRIC}:
        return _rubric(old, new, load)
    if kinds == {Kind.JUDGE}:
        return find_judge_changes(old, new)
    if kinds == {Kind.DATASET}:
        return _dataset(sides, rows, renames)
    return _unread(old, new)


def _rubric(old: dict[str, Any], new: dict[str, Any], load: ArtifactLoader | None) -> Iterator[Change]:
    before, after = read_rubric(old), read_rubric(new)
    if before is None or after is None:
        yield from _unread(old, new)
        return
    if not is_same(old.get("id"), new.get("id")):
        yield Change("rubric-id-changed", old.get("id"), new.get("id"), ("id",), ("id",))
    yield from find_extra_key_changes(old, new, known=_RUBRIC)
    yield from find_rubric_changes(before, after, load)
    yield from find_spelling_changes(old, new, (before, after))


def _dataset(
    sides: tuple[ComparedDocument, ComparedDocument], rows: DatasetRows | None, renames: Mapping[str, str]
) -> Iterator[Change]:
    old, new = (_with_rows(side.value, rows and rows[index]) for index, side in enumerate(sides))
    before, after = read_question_set(old), read_question_set(new)
    if before is None or after is None:
        yield from _unread(old, new)
        return
    whole = {"id"} if rows else {"id", "rows"}
    for key, mine, theirs in find_key_changes(old, new):
        if key in whole:
            yield Change("unclassified-change", mine, theirs, (key,), (key,), name=key)
    yield from find_extra_key_changes(old, new, known=_DATASET)
    yield from find_question_changes(before, after, renames)


def _with_rows(value: dict[str, Any], rows: Iterable[Mapping[str, Any]] | None) -> dict[str, Any]:
    """Return a dataset with its rows where it names their file."""
    return value if rows is None or "rows" not in value else value | {"rows": [make_plain(row) for row in rows]}


def _unread(old: dict[str, Any], new: dict[str, Any]) -> Iterator[Change]:
    for key, before, after in find_key_changes(old, new):
        if key != "version":
            rule = "metadata-changed" if is_cosmetic(key) else "unclassified-change"
            yield Change(rule, before, after, (key,), (key,), name=key)


def find_spelling_change(sides: tuple[ComparedDocument, ComparedDocument]) -> Iterator[Change]:
    """Yield the edit that is left where no other is: another digest under one version would be a second ruler."""
    old, new = (side.content for side in sides)
    if not is_same(old, new):
        yield Change("spelling-changed", old, new, (), ())
