"""Where a file of a report lies, seen from the root of its repository, as CI systems name files; only looks."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from evalstore.errors import GitError


def make_locator(directory: Path) -> Callable[[str], str]:
    """Return what turns a file's name in a report into its path from the root of the repository around `directory`.

    A name is one in the store, or as it was given on the command line; what is not there is no more, or not yet, in the
    store.
    """
    folders = _search_folders(directory)

    def locate(file: str) -> str:
        for folder in folders:
            path = os.path.normpath(folder / file)
            if os.path.lexists(path) and Path(path).is_relative_to(folders[-1]):
                return Path(path).relative_to(folders[-1]).as_posix()
        gone = Path(os.path.normpath(folders[0] / file))
        return (gone.relative_to(folders[-1]) if gone.is_relative_to(folders[-1]) else Path(file)).as_posix()

    return locate


def _search_folders(directory: Path) -> list[Path]:
    from evalstore.store.locate import find_root, find_top, resolve_folder

    try:
        start = resolve_folder(directory)
        top = find_top(start) or start
        return [find_root(start, top)[0], start, top]
    except GitError:
        return [directory]
