"""Finds by names on disk the repository around a folder, and the root of the store within it."""

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


def find_top(start: str) -> str | None:
    """Return the nearest folder from the real path `start` upwards that has a `.git`."""
    return next((folder for folder in _list_upwards(start) if os.path.exists(f"{folder}/.git")), None)


def find_root(start: str, top: str) -> str:
    """Return the root of the store: the nearest marked folder from `start` up to `top`, else `top`."""
    for folder in _list_upwards(start):
        if has_store_mark(folder):
            return folder
        if folder == top:
            break
    return top


def has_settings(folder: Folder) -> bool:
    """Whether a folder holds evalstore.yaml as a regular file."""
    return _has_type(f"{folder}/{SETTINGS_FILE}", stat.S_ISREG)


def has_store_mark(folder: Folder) -> bool:
    """Whether a folder is marked as a store: by its settings, or by the ledgers of its releases."""
    return has_settings(folder) or _has_type(f"{folder}/{LEDGER_FOLDER}", stat.S_ISDIR)


def is_git_directory(folder: Folder) -> bool:
    """Whether a folder is itself a git directory."""
    return not os.path.exists(f"{folder}/.git") and all(os.path.exists(f"{folder}/{name}") for name in _GIT_NAMES)


def _list_upwards(start: str) -> list[str]:
    folders = [start]
    while (above := os.path.dirname(folders[-1])) != folders[-1]:
        folders.append(above)
    return folders


def _has_type(path: str, is_type: Callable[[int], bool]) -> bool:
    try:
        return is_type(os.lstat(path).st_mode)
    except OSError:
        return False


_PACKAGE = Path(__file__).resolve().parent


@cache
def find_resource_folder(name: str) -> Path:
    """Return the folder `schema`, `migrations` or `sample_repo` that belongs to this installation."""
    checkout = _PACKAGE.parent
    # The project file proves the checkout: PyPI's `schema` package puts a folder of that name beside ours.
    if (checkout / "pyproject.toml").is_file():
        return checkout / name
    return _PACKAGE / "_data" / name
