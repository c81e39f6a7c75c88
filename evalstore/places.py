"""The names that mark a store and a repository on disk.

It also knows where the data of this installation is.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from functools import cache
from pathlib import Path

Folder = str | os.PathLike[str]

SETTINGS_FILE = "evalstore.yaml"
LEDGER_FOLDER = ".evalstore/sums"
_GIT_NAMES = ("HEAD", "objects", "refs")
_PACKAGE = Path(__file__).resolve().parent


def has_settings(folder: Folder) -> bool:
    """Whether a folder holds evalstore.yaml as a regular file."""
    return _has_type(f"{folder}/{SETTINGS_FILE}", stat.S_ISREG)


def has_store_mark(folder: Folder) -> bool:
    """Whether a folder is marked as a store: by its settings, or by the ledgers of its releases."""
    return has_settings(folder) or _has_type(f"{folder}/{LEDGER_FOLDER}", stat.S_ISDIR)


def is_working_tree(folder: Folder) -> bool:
    """Whether a folder contains `.git`: a folder, or the file of a linked worktree."""
    return os.path.exists(f"{folder}/.git")


def is_git_directory(folder: Folder) -> bool:
    """Whether a folder is itself a git directory."""
    return not is_working_tree(folder) and all(
        os.path.exists(f"{folder}/{name}") for name in _GIT_NAMES
    )


def _has_type(path: str, is_type: Callable[[int], bool]) -> bool:
    try:
        return is_type(os.lstat(path).st_mode)
    except OSError:
        return False


@cache
def find_resource_folder(name: str) -> Path:
    """Return a data folder of this installation.

    `name` is `schema`, `migrations` or `sample_repo`.
    """
    checkout = _PACKAGE.parent
    # The project file proves that this is the checkout: PyPI's `schema` package puts a folder of
    # that name next to ours.
    if (checkout / "pyproject.toml").is_file():
        return checkout / name
    return _PACKAGE / "_data" / name
