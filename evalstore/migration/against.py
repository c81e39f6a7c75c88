"""What a planned file is to the store: new, the same, or different; and the difference in words."""

from __future__ import annotations

import difflib
from contextlib import suppress
from pathlib import Path
from typing import Any

from evalstore.documents import digest, read_yaml
from evalstore.errors import LoadError
from evalstore.files import read_below
from evalstore.migration.outcome import Planned, State
from evalstore.model import Kind, scoring_part

_LIMIT = 64 << 20
_SHARED = {"rubrics": Kind.RUBRIC, "judges": Kind.JUDGE}


def planned(root: Path, path: str, text: str, *, with_diff: bool) -> Planned:
    """Compare a planned text with the file of the store; a link in its place is a `LoadError`."""
    old = _existing(root, path)
    state = State.NEW if old is None else State.UNCHANGED if _same(path, old, text) else State.CHANGED
    shows = with_diff and state is not State.UNCHANGED
    return Planned(path, state, _diff(path, old, text) if shows else "")


def text_there(root: Path, path: str) -> str | None:
    """Return the text of a file of the store; None where there is none that can be read."""
    with suppress(LoadError, UnicodeError):
        text = _existing(root, path)
        return text if text is None else text.encode().decode()  # no half of a character
    return None


def _existing(root: Path, path: str) -> str | None:
    try:
        (root / path).lstat()
    except FileNotFoundError:
        return None
    except NotADirectoryError:
        raise LoadError("cannot be read: a file stands in its path") from None
    return read_below(root, path, _LIMIT).decode("utf-8", "surrogateescape")


def _same(path: str, old: str, new: str) -> bool:
    # One rubric or judge with the same content is the same, whichever source brought it first, unless it keeps a file.
    kind = _SHARED.get(path.partition("/")[0])
    return old == new or (kind is not None and _content(old, kind) == _content(new, kind))


def _content(text: str, kind: Kind) -> str | None:
    try:
        value: Any = read_yaml(text, "").value
        return digest([scoring_part(kind, value), value.get("x_source", {}).get("kept")])
    except (LoadError, AttributeError, TypeError, UnicodeError):
        return None


def _diff(path: str, old: str | None, new: str) -> str:
    before, after = [] if old is None else old.splitlines(keepends=True), new.splitlines(keepends=True)
    name = "/dev/null" if old is None else f"a/{path}"
    return "".join(difflib.unified_diff(before, after, name, f"b/{path}"))
