"""Creates a store: repository, folders, settings, and completion for editors."""

from __future__ import annotations

import fcntl
import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import NamedTuple

from evalstore.errors import GitError, LoadError, RefusedError
from evalstore.files import MIDDLE_FILE, read_below, sweep_below, write_below
from evalstore.model import Kind
from evalstore.own_files import open_lock
from evalstore.places import SETTINGS_FILE, find_resource_folder, is_git_directory
from evalstore.store.editor_settings import (
    JETBRAINS,
    MAPPED,
    SCHEMAS,
    VS_CODE,
    write_jetbrains,
    write_vs_code,
)
from evalstore.store.locate import find_repository, find_top
from evalstore.store.pipeline_files import (
    ATTRIBUTES,
    DIFF_DRIVER,
    GITHUB,
    GITLAB,
    GITLAB_ROOT,
    MERGE_DRIVER,
    PRE_COMMIT,
    read_template,
    write_attributes,
    write_github,
    write_gitlab,
    write_gitlab_root,
    write_pre_commit,
)
from evalstore.store.repository.git import Git, run_git
from evalstore.store.revisions import find_default_branch
from evalstore.store.store_detection import find_stores

_WRITTEN = (*MAPPED, "result")
# In the git directory; it is not empty while git's config is being written.
_CONFIG_NOTE = "evalstore/config"


class Pipeline(StrEnum):
    """A CI system that evalstore writes a pipeline for."""

    GITHUB = "github"
    GITLAB = "gitlab"


@dataclass(frozen=True, slots=True)
class Integrations:
    """What else `init` writes: a pipeline, pre-commit's hook, git's drivers, JetBrains files."""

    pipeline: Pipeline | None = None
    pre_commit: bool = False
    diff_driver: bool = False
    merge_driver: bool = False
    jetbrains: bool = False


class _PlannedFile(NamedTuple):
    """A file below `base`, and its new content, given the present one (None: missing)."""

    base: Path
    path: str
    write: Callable[[bytes | None], bytes]


@dataclass(frozen=True, slots=True)
class ExampleRun:
    """The example's first score: its run's path from the root, its score in [0, 1], its inputs."""

    run: str
    score: Fraction | None
    dataset: str
    outputs: str


@dataclass(frozen=True, slots=True)
class CreatedStore:
    """The result of `init`, files by path from `root`; `merged` ones got what they lacked.

    `kept` were left alone, each with the reason; `next_steps` are commands for people to run.
    `example` is set if one of each artifact was written, too.
    """

    root: Path
    repository: bool
    written: tuple[str, ...]
    merged: tuple[str, ...] = ()
    kept: tuple[tuple[str, str], ...] = ()
    next_steps: tuple[str, ...] = ()
    example: ExampleRun | None = None


def create_store(path: Path, integrations: Integrations = Integrations()) -> CreatedStore:  # frozen
    """Make `path` a store; existing content stays, so a second call changes nothing."""
    root = _make_folder(path)
    fresh = find_top(root) is None
    if is_git_directory(root):
        raise RefusedError(
            f"{path} is a bare repository without a working tree",
            hint="clone it, then run evalstore init in the clone",
        )
    if fresh:
        run_git(("init", "--quiet", "--template=", "--initial-branch=main", "--", str(root)))
    # Refuse a repository that git cannot read, before anything is written into it.
    git = find_repository(root).git
    for kind in Kind:
        _make_folder(root / kind.folder)
    top = find_top(root) or root
    done: dict[str, str] = {}
    kept: list[tuple[str, str]] = []
    for file in _plan_files(root, top, integrations, git):
        name = os.path.relpath(file.base / file.path, root)
        try:
            done[name] = _write_file(file)
        except (LoadError, RefusedError) as error:
            # A link in the path of a new file is not a user's file to keep.
            if not (file.base / file.path).exists():
                raise
            kept.append((name, error.message))
    drivers = (DIFF_DRIVER if integrations.diff_driver else {}) | (
        MERGE_DRIVER if integrations.merge_driver else {}
    )
    _write_config(git, drivers)
    return CreatedStore(
        root,
        fresh,
        tuple(name for name, outcome in done.items() if outcome == "written"),
        tuple(name for name, outcome in done.items() if outcome == "merged"),
        tuple(kept),
        tuple(_list_next_steps(integrations, os.path.relpath(root, top))),
    )


def _list_next_steps(integrations: Integrations, folder: str) -> Iterator[str]:
    """Yield the commands for every clone: git takes no program from a committed file."""
    wanted = {
        "--diff-driver": integrations.diff_driver,
        "--merge-driver": integrations.merge_driver,
    }
    if options := [option for option, is_wanted in wanted.items() if is_wanted]:
        yield shlex.join(["evalstore", "init", *([] if folder == "." else [folder]), *options])


def _make_folder(path: Path) -> Path:
    try:
        path.mkdir(parents=True, exist_ok=True)
        return path.resolve(strict=True)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise GitError(f"the folder {path} cannot be made: {reason.lower()}") from None


def _write_file(file: _PlannedFile) -> str:
    path = file.base / file.path
    old = (
        read_below(file.base, file.path, MIDDLE_FILE)
        if path.is_symlink() or path.exists()
        else None
    )
    new = file.write(old)
    sweep_below(file.base, file.path)
    if new == old:
        return "same"
    write_below(file.base, file.path, new)
    return "written" if old is None else "merged"


def _write_config(git: Git, values: Mapping[str, str]) -> None:
    """Write keys of the repository's config, after removing the lock of a killed `init`."""
    if not values:
        return
    note = git.common / _CONFIG_NOTE
    # Git inherits it, so it is free again once the last process of a killed `init` has ended.
    lock = open_lock(git.common, _CONFIG_NOTE, make=True)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        left = git.common / "config.lock"
        with suppress(FileNotFoundError):
            if note.stat().st_size and left.stat().st_mtime_ns >= note.stat().st_mtime_ns:
                left.unlink()
        os.pwrite(lock, b"writes\n", 0)
        for key, value in values.items():
            git._replace(inherited_fds=(*git.inherited_fds, lock)).run(
                "config", "--local", key, value
            )
        os.ftruncate(lock, 0)
    finally:
        os.close(lock)


def _propose_tag_prefix(root: Path) -> str:
    """Return a prefix for this store's tags if the repository has other tags; else ""."""
    top = find_top(root) or root
    alone = all(folder == root for folder in find_stores(top))
    name = root.name if root == top else root.relative_to(top).as_posix()
    # A character that a tag name cannot contain becomes a dash; the first one is a letter or digit.
    return "" if alone else re.sub(r"[^A-Za-z0-9_/]+", "-", name).strip("-/") + "/"


def _plan_files(
    root: Path, top: Path, integrations: Integrations, git: Git
) -> Iterator[_PlannedFile]:
    # Editors and CI systems look at the root of the repository, wherever in it the store is.
    prefix = "" if root == top else f"{root.relative_to(top).as_posix()}/"
    tag_prefix = _propose_tag_prefix(root)
    settings = read_template("settings.yaml").format(
        schemas=SCHEMAS,
        tag_prefix=f'tag_prefix: "{tag_prefix}"' if tag_prefix else '# tag_prefix: ""',
    )
    # Existing settings are the user's.
    yield _PlannedFile(root, SETTINGS_FILE, lambda old: settings.encode() if old is None else old)
    for name in _WRITTEN:
        data = (find_resource_folder("schema") / f"{name}.schema.json").read_bytes()
        yield _PlannedFile(root, f"{SCHEMAS}/{name}.schema.json", partial(_write_whole, data))
    yield _PlannedFile(top, VS_CODE, partial(write_vs_code, prefix=prefix))
    if integrations.jetbrains:
        yield _PlannedFile(top, JETBRAINS, partial(_write_whole, write_jetbrains(prefix)))
    if integrations.pipeline is Pipeline.GITHUB:
        yield _PlannedFile(
            top, GITHUB, partial(_write_whole, write_github(prefix, find_default_branch(git)))
        )
    if integrations.pipeline is Pipeline.GITLAB:
        yield _PlannedFile(top, GITLAB, partial(_write_whole, write_gitlab(prefix)))
        yield _PlannedFile(top, GITLAB_ROOT, write_gitlab_root)
    if integrations.pre_commit:
        yield _PlannedFile(top, PRE_COMMIT, partial(write_pre_commit, prefix=prefix))
    if integrations.diff_driver or integrations.merge_driver:
        write = partial(
            write_attributes, diff=integrations.diff_driver, merge=integrations.merge_driver
        )
        yield _PlannedFile(top, ATTRIBUTES, partial(write, prefix=prefix))


def _write_whole(data: bytes, old: bytes | None) -> bytes:
    if old not in {None, data}:
        raise RefusedError(
            "it differs from what init writes; to get the new one, delete it and run init again"
        )
    return data
