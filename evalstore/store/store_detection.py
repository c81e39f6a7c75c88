"""Finds out whether a folder is a store, and where else in its repository there is one."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from pathlib import Path

from evalstore.errors import GitError, RefusedError
from evalstore.model import Kind
from evalstore.places import has_store_mark, is_git_directory
from evalstore.store.contents import StoreReader

_DEPTH = 5  # folders below the top of a repository that are searched for stores
_SKIPPED = frozenset({"node_modules", "vendor"})


def require_artifacts(store: StoreReader) -> None:
    """Raise if there is nothing to judge.

    Raises `GitError` without a store, and `RefusedError` without artifacts. The error names the
    stores elsewhere in the repository. A bare repository has its tags instead of files.
    """
    if store.root is None:
        if not store.tags.list_releases():
            raise GitError(
                "this bare repository has no releases, and a bare repository has no working files",
                hint="git fetch --tags into it",
            )
        return
    if store.has_working_file():
        return
    hint = find_elsewhere(store)
    released = len(store.tags.list_releases())
    if released:
        what = "1 release is tagged" if released == 1 else f"{released:,} releases are tagged"
        raise RefusedError(
            f"{what}, but {store.root} has no artifacts",
            hint=hint or "check what is checked out: git status; git sparse-checkout list",
        )
    if has_store_mark(store.root):
        raise RefusedError(
            f"the store in {store.root} has no artifacts",
            hint=hint
            or (
                "create one with evalstore new rubric ID, or migrate legacy files: evalstore "
                "migrate"
            ),
        )
    raise GitError(f"there is no store in {store.root}", hint=hint or "create one: evalstore init")


def find_elsewhere(store: StoreReader) -> str:
    """Return in words where else in the repository there is a store; empty if there is none."""
    if store.root is None:
        return ""
    top = store.repository.top or store.root
    folders = [folder for folder in find_stores(top) if folder != store.root]
    others = {folder.relative_to(top).as_posix(): folder for folder in folders}
    marked = [name for name, folder in others.items() if has_store_mark(folder)]
    if marked:
        also = (
            f"; there are {len(marked):,} stores: {', '.join(marked[:5])}"
            if len(marked) > 1
            else ""
        )
        return (
            f"this repository has its store elsewhere: evalstore -C {shlex.quote(marked[0])} "
            f"status{also}"
        )
    if others:
        first = next(iter(others))
        return (
            f"{first}/ has artifacts but no evalstore.yaml; make it a store: evalstore init "
            f"{shlex.quote(first)}"
        )
    return ""


def find_stores(top: Path) -> list[Path]:
    """Return the folders below `top` that are stores, by mark or by artifacts, in order."""
    return [
        folder for folder in _walk_folders(top) if has_store_mark(folder) or _has_artifacts(folder)
    ]


def _walk_folders(top: Path) -> Iterator[Path]:
    for base, folders, _ in os.walk(top):
        folder = Path(base)
        yield folder
        deep = len(folder.relative_to(top).parts) >= _DEPTH or is_git_directory(folder)
        folders[:] = (
            []
            if deep
            else sorted(name for name in folders if name[0] != "." and name not in _SKIPPED)
        )


def _has_artifacts(folder: Path) -> bool:
    return any(next((folder / kind.folder).glob("[a-z]*.yaml"), None) is not None for kind in Kind)
