"""Finds the repository of a folder, and the root of the store within it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from evalstore.errors import GitError
from evalstore.places import has_store_mark, is_git_directory, is_working_tree
from evalstore.store.repository.git import USER_CONFIG, CommandError, Git, run_git

_REV_PARSE_FLAGS = (
    *("--is-shallow-repository", "--show-object-format"),
    *("--path-format=absolute", "--git-dir", "--git-common-dir"),
)
_ANSWERS = 4  # lines, of paths without line breaks


class Repository(NamedTuple):
    """One repository: git for it, its working tree (None if bare), and the digits of its ids."""

    git: Git
    top: Path | None
    shallow: bool
    hex_digits: int


def find_repository(start: Path) -> Repository:
    """Find the repository of an existing folder: the one around it, or a bare one itself."""
    if is_git_directory(start):
        return _query_repository(start, None)
    if top := find_top(start):
        return _query_repository(top, top)
    raise GitError(f"{start} is not in a git repository", hint=f"evalstore init {start}")


def is_in_repository(start: Path) -> bool:
    """Whether there is a repository at or around a folder, even one that git refuses to read."""
    return is_git_directory(start) or find_top(start) is not None


def find_top(start: Path) -> Path | None:
    """Return the nearest folder, from the real path `start` upwards, that has a `.git`."""
    return next(filter(is_working_tree, (start, *start.parents)), None)


def find_root(start: Path, top: Path) -> tuple[Path, str]:
    """Return the root of the store and its path in `top`.

    It is the nearest marked folder up to `top`, else `top`.
    """
    inside = [folder for folder in (start, *start.parents) if folder.is_relative_to(top)]
    root = next(filter(has_store_mark, inside), top)
    prefix = "" if root == top else f"{root.relative_to(top)}/"
    # git reads and prints paths by lines.
    if "\n" in prefix:
        raise GitError("the path of the store contains a line break", hint="rename the folder")
    return root, prefix


def find_enclosing_store(folder: Path) -> Path | None:
    """Return the root of the store around a folder; None outside a working tree."""
    top = find_top(folder)
    return find_root(folder, top)[0] if top else None


def resolve_folder(path: Path | str) -> Path:
    """Return the real path of a folder; raises `GitError` if it does not exist."""
    try:
        folder = Path(path).resolve(strict=True)
    except (OSError, RuntimeError, ValueError):
        raise GitError(
            f"there is no folder {path}", hint="name an existing folder with -C"
        ) from None
    if not folder.is_dir():
        raise GitError(f"{path} is not a folder", hint="name the folder of the store with -C")
    return folder


def _query_repository(folder: Path, top: Path | None) -> Repository:
    # git looks in this folder only: an embedded repository or a parent's is never found by
    # accident, and git itself refuses another user's repository. The user's exceptions
    # (safe.directory) are in the config that is sealed off.
    argv = ("-C", str(folder), "-c", "safe.bareRepository=all", "rev-parse", *_REV_PARSE_FLAGS)
    env = {"GIT_CEILING_DIRECTORIES": str(folder.parent)}
    try:
        answers = run_git(argv, env=env)
    except CommandError as error:
        if "not a git repository" in error.stderr:  # although it looks like one
            hint = "check its permissions; to look for damage: git fsck"
            raise GitError(f"git cannot read the repository in {folder}", hint=hint) from None
        if "dubious ownership" not in error.stderr:
            raise
        answers = run_git(argv, env={**env, **USER_CONFIG})
    if answers.count(b"\n") < _ANSWERS:  # git exits normally if its output cannot be written
        raise GitError(
            f"git gives no answer about the repository in {folder}",
            hint="is the disk full? try it again",
        )
    shallow, format_, *paths = os.fsdecode(answers).removesuffix("\n").split("\n")
    # Two paths of as many lines each: the second equals the first, or is above it.
    half = len(paths) // 2
    directory, common = Path("\n".join(paths[:half])), Path("\n".join(paths[half:]))
    return Repository(
        Git(directory, common), top, shallow == "true", 64 if format_ == "sha256" else 40
    )
