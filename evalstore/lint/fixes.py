"""Fixes what has one right answer: finds a file's wrong characters, and writes only those."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from evalstore.documents import Document, Span, read_yaml
from evalstore.errors import EvalstoreError, LoadError
from evalstore.files import SMALL_FILE, move_below, open_below, read_below, sweep_below, write_below
from evalstore.lint.notes import Fix, Note
from evalstore.lint.sources import FileRole, ValidationSource
from evalstore.model import Artifact, Finding, Kind, MendedPlace, TextEdit

_QUOTES = ('"', "'")
_YML, _YAML, _JSON, _ROWS = ".yml", ".yaml", ".json", ".jsonl"
_DEPTH = 2  # a folder and a file in it


class TextFile(NamedTuple):
    """A file, or one `line` of its rows.

    Without a root it is not in a store, and cannot be fixed.
    """

    root: Path | None
    path: str
    line: int = 0


def find_edit(document: Document, note: Note, file: TextFile) -> TextEdit | None:
    """Return the edit that mends a note of a document."""
    span = (document.key_spans if note.of_key else document.spans).get(note.pointer)
    return make_edit(document.text, span, note, file) if span else None


def make_edit(text: str, span: Span, note: Note, file: TextFile) -> TextEdit | None:
    """Return the edit that mends a note at a span of a file's text."""
    if note.fix is None or file.root is None:
        return None
    if note.fix.entry:
        entry = _write_entry(text, *note.fix.entry)
        return TextEdit(file.root, file.path, file.line, span.end, span.end, "", entry)
    old = text[span.start : span.end]
    new = _write_scalar(old, note.fix, is_json=bool(file.line) or file.path.endswith(_JSON))
    return (
        TextEdit(file.root, file.path, file.line, span.start, span.end, old, new)
        if new not in {None, old}
        else None
    )


def find_rename(source: ValidationSource) -> TextEdit | None:
    """Return the rename of a file whose extension only lacks a letter.

    None if the name is taken.
    """
    path = PurePosixPath(source.path)
    if (
        source.role is not FileRole.IGNORED
        or source.root is None
        or len(path.parts) != _DEPTH
        or path.suffix != _YML
    ):
        return None
    new = path.with_suffix(_YAML)
    if path.parts[0] not in {kind.folder for kind in Kind} or (source.root / new).exists():
        return None
    return TextEdit(source.root, source.path, 0, 0, 0, source.path, str(new))


def fix_files(findings: Iterable[Finding]) -> list[MendedPlace]:
    """Write the edits of findings; a file that could then not be read correctly stays as it is."""
    by_file: defaultdict[tuple[Path, str], dict[TextEdit, Finding]] = defaultdict(dict)
    for finding in findings:
        if edit := finding.edit:
            by_file[edit.root, edit.path].setdefault(edit, finding)
    mended: list[MendedPlace] = []
    for (root, path), edits in by_file.items():
        with suppress(LoadError):  # what can no longer be read is a finding of the next pass
            mended += _fix_file(root, path, edits)
    return mended


def _fix_file(root: Path, path: str, edits: dict[TextEdit, Finding]) -> Iterator[MendedPlace]:
    rename = next((edit for edit in edits if edit.old == path), None)
    if rename:
        with suppress(OSError):
            move_below(root, rename.old, root, rename.new)
            yield _describe_edit(rename, edits[rename], moves=True)
        return
    sweep_below(root, path)
    if path.endswith(_ROWS):
        write_below(root, path, _edit_rows(root, path, edits))
        yield from (_describe_edit(edit, finding, moves=True) for edit, finding in edits.items())
        return
    data = read_below(root, path, SMALL_FILE)
    changed = _splice(data, edits)
    if changed == data or not _is_document(changed):
        return
    moves = _find_scoring_digest(data, path) != _find_scoring_digest(changed, path)
    write_below(root, path, changed)
    yield from (_describe_edit(edit, finding, moves=moves) for edit, finding in edits.items())


def _describe_edit(edit: TextEdit, finding: Finding, *, moves: bool) -> MendedPlace:
    return MendedPlace(finding.file, finding.line, finding.column, edit.old, edit.new, moves)


def _is_document(data: bytes) -> bool:
    try:
        read_yaml(data, "")
    except LoadError:
        return False
    return True


def _edit_rows(root: Path, path: str, edits: Iterable[TextEdit]) -> Iterator[bytes]:
    """Yield the lines of a rows file with their edits; the file is never entirely in memory."""
    by_line: defaultdict[int, list[TextEdit]] = defaultdict(list)
    for edit in edits:
        by_line[edit.line].append(edit)
    with open_below(root, path) as file:
        for number, line in enumerate(file, start=1):
            yield _splice(line, by_line[number]) if number in by_line else line


def _splice(data: bytes, edits: Iterable[TextEdit]) -> bytes:
    text = data.decode("utf-8")
    # Offsets are those of a text without its byte order mark.
    mark, text = ("\ufeff", text[1:]) if text.startswith("\ufeff") else ("", text)
    # From the end backwards, so that the offsets of earlier edits stay right.
    for edit in sorted(edits, key=lambda edit: edit.start, reverse=True):
        if text[edit.start : edit.end] == edit.old:
            text = f"{text[: edit.start]}{edit.new}{text[edit.end :]}"
    return f"{mark}{text}".encode()


def _find_scoring_digest(data: bytes, path: str) -> str | None:
    """Return the digest of what can move a score; None if the file is not an artifact."""
    kind = next((kind for kind in Kind if kind.folder == PurePosixPath(path).parent.name), None)
    if kind is None:
        return None
    try:
        return Artifact(kind, "", "", read_yaml(data, path)).scoring_digest
    except (EvalstoreError, AttributeError, TypeError):
        return None


def _write_entry(text: str, key: str, value: str) -> str:
    """Return a key and its value as they continue after a value of the outermost mapping."""
    if text.lstrip("\ufeff \t\r\n").startswith("{"):
        return f', "{key}": "{value}"'
    end = "\r\n" if "\r\n" in text else "\n"
    return f"{end}{key}: {value}"


def _write_scalar(old: str, fix: Fix, *, is_json: bool) -> str | None:
    """Return a scalar's right text in its quotes; None if it is written in another way."""
    quote = old[:1] if old[:1] in _QUOTES and old[-1:] == old[:1] and len(old) > 1 else ""
    inner = old[len(quote) : len(old) - len(quote)]
    # Escapes, anchors, tags and multi-line texts are left to people.
    if (
        not inner
        or any(mark in inner for mark in "\\\"'\n\r")
        or (not quote and inner[0] in "&*!|>")
    ):
        return None
    word = fix.word or inner
    if fix.quoted is None:
        return f"{quote}{word}{quote}" if quote or not is_json else None
    return f'"{word}"' if fix.quoted else word
