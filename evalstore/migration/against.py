"""What a planned file is to the store: new, the same, or different; and the difference in words."""

from __future__ import annotations

import difflib
from contextlib import suppress
from pathlib import Path

from evalstore.errors import AbsentError, LoadError
from evalstore.files import read_below
from evalstore.migration.outcome import FileState, PlannedFile
from evalstore.migration.spool import TextSpool
from evalstore.migration.texts import PlannedText

_LIMIT = 64 << 20


def read_current(root: Path, path: str) -> str | None:
    """Return the text of a file of the store; None where there is none that can be read."""
    with suppress(LoadError, UnicodeDecodeError):
        data = _data_there(root, path)
        return None if data is None else data.decode()
    return None


def plan_file(root: Path, path: str, text: PlannedText, diffs: TextSpool | None) -> PlannedFile:
    """Compare a planned text with the file of the store, and put the difference in `diffs`, if it is asked for.

    A link in its place is a `LoadError`.
    """
    old = text.current
    if old is None and (data := _data_there(root, path)) is not None:
        old = data.decode("utf-8", "surrogateescape")
    state = FileState.NEW if old is None else FileState.UNCHANGED if old == text.new else FileState.CHANGED
    if diffs is None or state is FileState.UNCHANGED:
        return PlannedFile(path, state)
    return PlannedFile(path, state, diffs.put(_diff(path, old, text.new)))


def _data_there(root: Path, path: str) -> bytes | None:
    try:
        return read_below(root, path, _LIMIT)
    except AbsentError:
        return None


def _diff(path: str, old: str | None, new: str) -> str:
    before, after = [] if old is None else old.splitlines(keepends=True), new.splitlines(keepends=True)
    name = "/dev/null" if old is None else f"a/{path}"
    return "".join(difflib.unified_diff(before, after, name, f"b/{path}"))
