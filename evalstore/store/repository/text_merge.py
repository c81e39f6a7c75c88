"""Merges two texts by lines, like git."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import NamedTuple

from evalstore.store.repository.git import CommandError, run_git

_MOST_CONFLICTS = 127  # `git merge-file` exits with their number, and with more for a failure


def merge_texts(base: str, ours: str, theirs: str) -> str | None:
    """Return `ours` with the changes from `base` to `theirs`.

    None if both changed the same line.
    """
    merged = merge_texts_marked(base.encode(), ours.encode(), theirs.encode())
    return merged.data.decode() if merged.is_clean else None


class MergedText(NamedTuple):
    """Merged lines, with git's markers around those that both sides changed."""

    data: bytes
    is_clean: bool


def merge_texts_marked(base: bytes, ours: bytes, theirs: bytes) -> MergedText:
    """Merge two texts by lines, like git."""
    with tempfile.TemporaryDirectory(prefix="evalstore-") as folder:
        paths = [Path(folder, name) for name in ("ours", "base", "theirs")]
        for path, data in zip(paths, (ours, base, theirs), strict=True):
            path.write_bytes(data)
        labels = (word for path in paths for word in ("-L", path.name))
        try:
            return MergedText(
                run_git(("merge-file", "-p", "-q", *labels, "--", *map(str, paths))), is_clean=True
            )
        except CommandError as failure:
            if 0 < failure.status <= _MOST_CONFLICTS:
                return MergedText(failure.stdout, is_clean=False)
            raise
