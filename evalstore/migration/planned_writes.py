"""Plans the writes of a migration: the text of each file, compared with the file that the store has."""

from __future__ import annotations

import difflib
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, NamedTuple
from weakref import finalize

from evalstore.documents import LINE_LIMIT, compute_digest, read_yaml, write_row, write_yaml
from evalstore.errors import AbsentError, ConflictError, LoadError, RefusedError
from evalstore.files import read_below
from evalstore.migration.extraction import ArtifactDraft, LegacySource
from evalstore.migration.outcome import FileState, PlannedFile
from evalstore.migration.remainder import is_same_data
from evalstore.model import Kind, select_scoring_part

# A dataset of a larger source has its rows in a `.jsonl` file: YAML files are limited to 1 MiB.
_ROWS_FROM = 256 << 10
_ROWS_TO = 64 << 20
_LIMIT = 64 << 20
_SCHEMA = "# yaml-language-server: $schema=../.evalstore/schema/{}.schema.json\n"
ReadCurrent = Callable[[str], str | None]


class PlannedText(NamedTuple):
    """The planned text of a file, and its current text in the store (None where it cannot be read)."""

    new: str
    current: str | None


def build_path(draft: ArtifactDraft) -> str:
    """Return the path of an artifact's file."""
    return f"{draft.kind}s/{draft.id}.yaml"


def split_artifact(draft: ArtifactDraft, value: dict[str, Any], size: int) -> Iterator[tuple[str, Any]]:
    """Yield the files of an artifact with their values; `size` is that of its source, in characters."""
    if draft.kind is not Kind.DATASET or size < _ROWS_FROM:
        yield build_path(draft), value
        return
    # The YAML file keeps the order of its keys; `rows` takes the place of the questions.
    head = {("rows" if key == "questions" else key): item for key, item in value.items()}
    yield f"datasets/{draft.id}.jsonl", value["questions"]
    yield build_path(draft), head | {"rows": f"{draft.id}.jsonl"}


def render_text(path: str, value: Any, current: str | None) -> PlannedText:
    """Return the text of a file: the current one where it means the same, which is cheaper than to render it."""
    if path.endswith(".jsonl"):
        return _keep_line_ends(_render_rows(value), current)
    kind = Kind(path.partition("s/")[0])
    # Comments and layout that people added survive where the meaning is unchanged.
    if current and _has_same_meaning(current, value, kind):
        return PlannedText(current, current)
    return PlannedText(write_yaml(value, header=_SCHEMA.format(kind)), current)


def _render_rows(rows: Iterable[Any]) -> str:
    """Return the text of rows. Raises `RefusedError` for rows or files too large to be read again."""
    lines = [write_row(row) for row in rows]
    sizes = [len(line.encode()) for line in lines]
    if any(size > LINE_LIMIT for size in sizes):
        raise RefusedError(f"one question is larger than {LINE_LIMIT:,} bytes, the limit for one line")
    if sum(sizes) > _ROWS_TO:
        raise RefusedError(f"its questions are larger than {_ROWS_TO:,} bytes, the limit for one file")
    return "".join(lines)


def keep_source_text(legacy: LegacySource, current: str | None) -> PlannedText:
    """Return the text of a source, byte for byte. Raises `RefusedError` where it is not UTF-8 throughout."""
    text = f"{chr(0xFEFF) if legacy.document.bom else ''}{legacy.document.text}"
    if hashlib.sha256(text.encode()).hexdigest() != legacy.sha256:
        raise RefusedError("it is not UTF-8 from end to end, so it cannot stay as it is", hint="save it as UTF-8")
    return _keep_line_ends(text, current)


def _keep_line_ends(new: str, current: str | None) -> PlannedText:
    """Return a text, or the current one where it differs only in line ends, which git may have converted."""
    if current is not None and current.replace("\r\n", "\n") == new.replace("\r\n", "\n"):
        return PlannedText(current, current)
    return PlannedText(new, current)


def _has_same_meaning(text: str, value: Any, kind: Kind) -> bool:
    with suppress(LoadError):
        old = read_yaml(text, "").value
        return is_same_data(old, value) or (
            kind is not Kind.DATASET and _digest_content(old, kind) == _digest_content(value, kind)
        )
    return False


def _digest_content(value: Any, kind: Kind) -> str | None:
    """Return the identity of a rubric or judge, whichever source it came from: scoring content and remainder."""
    with suppress(AttributeError, TypeError):  # edited by hand against the schema
        return compute_digest(
            [select_scoring_part(kind, value), value.get("x_source", {}).get("kept"), value.get("x_unmapped")]
        )
    return None


class TextSpool:
    """Texts in an unnamed temporary file instead of memory; it is closed with the last reference to a text."""

    def __init__(self) -> None:
        self._file = TemporaryFile()  # noqa: SIM115  # as long as a text of it can be asked for
        finalize(self, self._file.close)

    def put(self, text: str) -> Callable[[], str]:
        """Store a text, and return a function that loads it."""
        start = self._file.seek(0, os.SEEK_END)
        return partial(self._load_text, start, self._file.write(text.encode("utf-8", "surrogateescape")))

    def _load_text(self, start: int, size: int) -> str:
        self._file.seek(start)
        return self._file.read(size).decode("utf-8", "surrogateescape")


def read_current(root: Path, path: str) -> str | None:
    """Return the text of a file of the store; None where none can be read."""
    with suppress(LoadError, UnicodeDecodeError):
        data = _read_current_bytes(root, path)
        return None if data is None else data.decode()
    return None


def plan_file(root: Path, path: str, text: PlannedText, diffs: TextSpool | None) -> PlannedFile:
    """Compare a planned text with the file of the store; store its unified diff in `diffs`, unless that is None.

    Raises `LoadError` where a symbolic link stands in the file's place.
    """
    old = text.current
    # A file that is no UTF-8 has no current text, and still must not be overwritten silently.
    if old is None and (data := _read_current_bytes(root, path)) is not None:
        old = data.decode("utf-8", "surrogateescape")
    state = FileState.NEW if old is None else FileState.UNCHANGED if old == text.new else FileState.CHANGED
    if diffs is None or state is FileState.UNCHANGED:
        return PlannedFile(path, state)
    return PlannedFile(path, state, diffs.put(_render_diff(path, old, text.new)))


def refuse_changes(files: Iterable[PlannedFile], *, force: bool) -> None:
    """Raise `RefusedError` where files of the store would change, unless `force` is given."""
    changed = sorted(file.path for file in files if file.state is FileState.CHANGED)
    if changed and not force:
        sentence = "1 file differs" if len(changed) == 1 else f"{len(changed)} files differ"
        raise RefusedError(
            f"{sentence} from what would be written, so nothing is: {', '.join(changed)}",
            hint="--dry-run shows the differences, --force overwrites",
        )


def refuse_late_files(files: Iterable[PlannedFile], root: Path) -> None:
    """Raise `ConflictError` for a planned new file that another process created since it was planned."""
    new = (file.path for file in files if file.state is FileState.NEW)
    if path := next((path for path in new if os.path.lexists(root / path)), None):
        raise ConflictError(f"{path} was made while the sources were read, so nothing is written", hint="try again")


def _read_current_bytes(root: Path, path: str) -> bytes | None:
    try:
        return read_below(root, path, _LIMIT)
    except AbsentError:
        return None


def _render_diff(path: str, old: str | None, new: str) -> str:
    before, after = [] if old is None else old.splitlines(keepends=True), new.splitlines(keepends=True)
    name = "/dev/null" if old is None else f"a/{path}"
    return "".join(difflib.unified_diff(before, after, name, f"b/{path}"))
