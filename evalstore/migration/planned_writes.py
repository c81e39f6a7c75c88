"""Plans the writes of a migration.

The text of each file is compared with the file that the store has.
"""

from __future__ import annotations

import difflib
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from evalstore.documents import LINE_LIMIT, read_yaml, replace_scalars, write_row, write_yaml
from evalstore.errors import AbsentError, ConflictError, LoadError, RefusedError
from evalstore.files import LARGE_FILE, read_below
from evalstore.migration.extraction import ArtifactDraft, LegacySource
from evalstore.migration.merging.artifact_merge import ConflictSide
from evalstore.migration.merging.carried_comments import carry_comments
from evalstore.migration.merging.stored_artifacts import ArtifactOrigin, locate_rows
from evalstore.migration.outcome import FileState, PlannedFile
from evalstore.migration.suites.suite_artifacts import PlannedArtifact
from evalstore.model import Kind
from evalstore.model.artifact import build_rows_name
from evalstore.store.repository.text_merge import merge_texts

# A dataset from a larger source has its rows in a `.jsonl` file: YAML files are limited to 1 MiB.
_ROWS_FROM = 256 << 10
_SCHEMA = "# yaml-language-server: $schema=../.evalstore/schema/{}.schema.json\n"
ReadText = Callable[[str], str | None]
_NO_TEXT = "it is not UTF-8 text, so it stays"
_RUN = (
    "it differs from the source, and a run is a record: --force takes the source's side, --keep "
    "yours"
)
_OTHER_PLACE = "it moved within the source"
_RELAID = "it is rewritten in the plain layout, without comments"
_WRITTEN = frozenset({FileState.NEW, FileState.UPDATED, FileState.RENAMED})


class PlannedText(NamedTuple):
    """The text that the source asks for, the stored text, and what follows from them.

    The stored text is None if it is unreadable.
    """

    new: str
    current: str | None
    state: FileState
    reason: str = ""


def build_path(draft: ArtifactDraft) -> str:
    """Return the path of an artifact's file."""
    return f"{draft.kind}s/{draft.id}.yaml"


def list_texts(
    item: PlannedArtifact, head: Mapping[str, str], moved: str, read_text: ReadText, size: int
) -> Iterator[tuple[str, PlannedText]]:
    """Yield the files of an artifact with their texts.

    `head` are the first keys of its `x_source`, `moved` says where its suite has gone, `size` is
    the source's size in characters.
    """
    value = item.result.value
    if value is None:
        yield from _list_kept_texts(item, moved, read_text)
        return
    source = {**head, **item.origin, **(value.get("x_source") or {})}
    yield from _list_new_texts(item, {**value, "x_source": source}, moved, read_text, size)


def _list_kept_texts(
    item: PlannedArtifact, moved: str, read_text: ReadText
) -> Iterator[tuple[str, PlannedText]]:
    """Yield the files of an artifact as they are, except for the place of its suite."""
    path, result = build_path(item.draft), item.result
    current = read_text(path) if item.stored else None
    changes = _find_moves(item) if current is not None else {}
    state, reason, new = result.state, result.reason, current or ""
    if changes:
        place = f"its case is {changes['case']} now" if "case" in changes else _OTHER_PLACE
        reason = "; ".join(filter(None, (moved or place, reason)))
        state = FileState.RENAMED if state is FileState.UNCHANGED else state
        new = _edit_origin(new, path, changes)
    yield path, PlannedText(new, current, state, reason)
    if item.stored and item.draft.kind is Kind.DATASET:
        rows = locate_rows(path)
        if (text := read_text(rows)) is not None:
            yield rows, PlannedText(text, text, result.state, result.reason)


def _list_new_texts(
    item: PlannedArtifact, value: dict[str, Any], moved: str, read_text: ReadText, size: int
) -> Iterator[tuple[str, PlannedText]]:
    """Yield the files with the content `value`; a large dataset has its rows in a separate file."""
    path = build_path(item.draft)
    state, reason = item.result.state, item.result.reason
    if moved and state in {FileState.UPDATED, FileState.KEPT}:
        state = FileState.RENAMED if state is FileState.UPDATED else state
        reason = f"{moved}; {reason}"
    is_kept = state is FileState.KEPT
    is_large = size >= _ROWS_FROM and not is_kept
    has_rows = is_large or bool(item.stored and read_text(locate_rows(path)) is not None)
    for part_path, part in _split_artifact(item.draft, value, has_rows=has_rows):
        there = read_text(part_path) if item.stored else None
        if not part_path.endswith(".jsonl"):
            yield part_path, _render_artifact(part_path, part, there, state, reason)
        elif is_kept and there is not None:
            yield part_path, PlannedText(there, there, state, reason)
        else:
            yield part_path, render_rows(part, there, state, reason)


def _find_moves(item: PlannedArtifact) -> dict[str, str]:
    """Return the keys in the file's `x_source` that say where the suite was."""
    stored = item.stored.origin if item.stored else ArtifactOrigin()
    keys = ("case", "part", "name", "file")
    values = {
        key: item.origin[key] for key in keys if item.origin.get(key) and getattr(stored, key)
    }
    return {key: text for key, text in values.items() if text != getattr(stored, key)}


def _edit_origin(current: str, path: str, changes: Mapping[str, str]) -> str:
    """Return a text with other values in its `x_source`; every other byte stays."""
    document = read_yaml(current.encode(), path)
    return replace_scalars(
        document, {("x_source", key): text for key, text in changes.items()}
    ).text


def _split_artifact(
    draft: ArtifactDraft, value: dict[str, Any], *, has_rows: bool
) -> Iterator[tuple[str, Any]]:
    """Yield the files of an artifact with their values."""
    if draft.kind is not Kind.DATASET or not has_rows:
        yield build_path(draft), value
        return
    # The YAML file keeps the order of its keys; `rows` takes the place of the questions.
    head = {("rows" if key == "questions" else key): item for key, item in value.items()}
    yield locate_rows(build_path(draft)), value["questions"]
    yield build_path(draft), head | {"rows": build_rows_name(draft.id)}


def render_rows(
    rows: Iterable[Any], current: str | None, state: FileState, reason: str = ""
) -> PlannedText:
    """Return the text of rows; one with the same content as the current text stays byte for byte.

    Raises `RefusedError` for rows or files too large to be read again.
    """
    lines = [write_row(row) for row in rows]
    sizes = [len(line.encode()) for line in lines]
    if any(size > LINE_LIMIT for size in sizes):
        raise RefusedError(
            f"one question is larger than {LINE_LIMIT:,} bytes, the limit for one line"
        )
    if sum(sizes) > LARGE_FILE:
        raise RefusedError(
            f"its questions are larger than {LARGE_FILE:,} bytes, the limit for one file"
        )
    return _keep_line_ends("".join(lines), current, state, reason)


def write_artifact_text(path: str, value: Any) -> str:
    """Return the text of an artifact's file; `RefusedError` for what cannot be written as YAML."""
    return write_yaml(value, header=_SCHEMA.format(Kind(path.partition("s/")[0])))


def _render_artifact(
    path: str, value: Any, current: str | None, state: FileState, reason: str
) -> PlannedText:
    """Return the text of an artifact's file.

    It has the current layout and comments where they fit.
    """
    new = write_artifact_text(path, value)
    if state not in {FileState.UPDATED, FileState.RENAMED, FileState.KEPT} or current is None:
        return PlannedText(new, current, state, reason)
    kept = keep_layout(path, value, current, new)
    if kept is None and state is FileState.KEPT:
        # What stays is not written again: it notes no more than fits into its layout.
        source = read_yaml(current.encode(), path).value["x_source"]
        texts = {key: text for key, text in value["x_source"].items() if isinstance(text, str)}
        texts = {key: text for key, text in texts.items() if isinstance(source.get(key), str)}
        changes = {key: text for key, text in texts.items() if source[key] != text}
        kept = _edit_origin(current, path, changes)
    return PlannedText(kept or new, current, state, reason if kept else f"{reason}; {_RELAID}")


def keep_layout(path: str, value: Any, current: str, new: str) -> str | None:
    """Return the current text with the lines of `new` and its own comments.

    `new` is the text of `value`. Returns None if both changed the same lines.
    """
    try:
        base = write_artifact_text(path, read_yaml(current.encode(), path).value)
    except (LoadError, RefusedError):
        return None
    # git may have converted the line endings of a file.
    ends = "\r\n" if "\r\n" in current else "\n"
    base, theirs = (text.replace("\n", ends) for text in (base, new))
    if base == current:
        return theirs
    for merge in (merge_texts, carry_comments):
        merged = merge(base, current, theirs)
        # Even if lines merge, values may not.
        with suppress(LoadError):
            if merged is not None and read_yaml(merged.encode(), path).value == value:
                return merged
    return None


def keep_source_text(legacy: LegacySource, current: str | None, side: ConflictSide) -> PlannedText:
    """Return the text of a source, byte for byte.

    Raises `RefusedError` if it is not UTF-8 throughout.
    """
    text = f"{chr(0xFEFF) if legacy.document.bom else ''}{legacy.document.text}"
    if hashlib.sha256(text.encode()).hexdigest() != legacy.sha256:
        raise RefusedError(
            "it is not UTF-8 from end to end, so it cannot stay as it is", hint="save it as UTF-8"
        )
    if current is None:
        return PlannedText(text, current, FileState.NEW)
    state = {ConflictSide.SOURCE: FileState.UPDATED, ConflictSide.STORE: FileState.KEPT}.get(
        side, FileState.CONFLICT
    )
    return _keep_line_ends(text, current, state, _RUN if state is FileState.CONFLICT else "")


def _keep_line_ends(new: str, current: str | None, state: FileState, reason: str) -> PlannedText:
    """Return a text, or the current one if it differs only in line endings.

    git may have converted these.
    """
    if current is not None and current.replace("\r\n", "\n") == new.replace("\r\n", "\n"):
        return PlannedText(current, current, FileState.UNCHANGED)
    return PlannedText(new, current, state, reason)


def read_current(root: Path, path: str) -> str | None:
    """Return the text of a file in the store; None if it cannot be read."""
    with suppress(LoadError, UnicodeDecodeError):
        data = _read_current_bytes(root, path)
        return None if data is None else data.decode()
    return None


def plan_file(root: Path, path: str, text: PlannedText, *, is_dry: bool) -> PlannedFile:
    """Return the plan of a file.

    It has a diff for a conflict, and, in a dry run, for whatever would be written. Raises
    `LoadError` if there is a symbolic link in the file's place.
    """
    old = text.current
    if old is None and (data := _read_current_bytes(root, path)) is not None:
        # A file that is not UTF-8 has no current text, and still must not be overwritten silently.
        old, text = (
            data.decode("utf-8", "surrogateescape"),
            text._replace(state=FileState.CONFLICT, reason=_NO_TEXT),
        )
    state = FileState.UNCHANGED if old == text.new and text.state in _WRITTEN else text.state
    # Of a file that is kept, only its origin can change; a removed one has none.
    is_kept = text.state is FileState.KEPT and old is not None
    is_written = (text.state in _WRITTEN or is_kept) and old != text.new
    reason = text.reason if state is not FileState.UNCHANGED else ""
    # Both sides of a conflict are always shown; what is written can be seen in the store.
    has_diff = (is_dry and is_written) or (state is FileState.CONFLICT and old != text.new)
    diff = _render_diff(path, old, text.new) if has_diff else ""
    return PlannedFile(path, state, reason, is_written=is_written, diff=diff)


def refuse_late_files(files: Iterable[PlannedFile], root: Path) -> None:
    """Raise `ConflictError` if a planned new file exists by now.

    Another process created it since it was planned.
    """
    new = (file.path for file in files if file.state is FileState.NEW)
    if path := next((path for path in new if os.path.lexists(root / path)), None):
        raise ConflictError(
            f"{path} was made while the sources were read, so nothing is written", hint="try again"
        )


def _read_current_bytes(root: Path, path: str) -> bytes | None:
    try:
        return read_below(root, path, LARGE_FILE)
    except AbsentError:
        return None


def _render_diff(path: str, old: str | None, new: str) -> str:
    before, after = (
        [] if old is None else old.splitlines(keepends=True),
        new.splitlines(keepends=True),
    )
    name = "/dev/null" if old is None else f"a/{path}"
    return "".join(difflib.unified_diff(before, after, name, f"b/{path}"))
