"""Merges two edits of a text line by line, as git does."""

from __future__ import annotations

import tempfile
from pathlib import Path

from evalstore.store.git import CommandError, run_git

_MOST_CONFLICTS = 127  # `git merge-file` answers their number, and more for a failure


def merge_texts(base: str, ours: str, theirs: str) -> str | None:
    """Return `ours` with what changed from `base` to `theirs`; None where both changed the same lines."""
    with tempfile.TemporaryDirectory(prefix="evalstore-") as folder:
        paths = [Path(folder, name) for name in ("ours", "base", "theirs")]
        for path, text in zip(paths, (ours, base, theirs), strict=True):
            path.write_bytes(text.encode())
        try:
            return run_git(("merge-file", "-p", "-q", "--", *map(str, paths))).decode()
        except CommandError as failure:
            if 0 < failure.status <= _MOST_CONFLICTS:
                return None
            raise
