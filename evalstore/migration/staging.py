"""Writes a migration's files, all or nothing: stages them in the git directory, then moves them.

It is the only writer in this package. A stage is never something committed to a repository: a clone
would follow the journal of a stranger. Without a repository, the stage is in the store. A journal
in the stage names every file before the first one is moved, so the next migration undoes what a
killed process left. Referenced artifacts move before those that refer to them, so concurrent
readers never see a dangling reference.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from evalstore.errors import ConflictError, LoadError, Place, RefusedError
from evalstore.files import (
    LARGE_FILE,
    make_write_error,
    move_below,
    remove_below,
    remove_folder_below,
    sweep_below,
)
from evalstore.migration.merging.stored_artifacts import hash_file
from evalstore.model import Kind
from evalstore.own_files import create_own, has_own, read_own, write_own
from evalstore.runs.run_names import STORED_PATH
from evalstore.store.locate import find_repository, find_top

STAGE = ".evalstore-migrating"
_STATE_FOLDER = "evalstore"  # of a git directory
_STAGE_NAME = "migrating-"
# The folders of a store in the order in which their files move: artifacts refer to earlier folders.
_FOLDERS = (Kind.JUDGE.folder, Kind.RUBRIC.folder, Kind.DATASET.folder, "runs")
_FILE = re.compile(
    rf"(?:judges|rubrics|datasets)/[a-z][a-z0-9_]{{0,63}}\.(?:yaml|jsonl)|{STORED_PATH.pattern}",
    re.ASCII,
)
_MADE = re.compile(rf"(?:{'|'.join(_FOLDERS)})(?:/[A-Za-z0-9%][A-Za-z0-9_.%-]*)*", re.ASCII)


@dataclass(frozen=True, slots=True)
class StageFolder:
    """Where the files of the store at `root` are staged: the folder `base/name`, not a link."""

    root: Path
    base: Path
    name: str

    @property
    def path(self) -> Path:
        """The folder."""
        return self.base / self.name

    @property
    def journal(self) -> str:
        """The file, relative to `base`, that names every other one before the first is moved."""
        return f"{self.name}/journal.jsonl"


@dataclass(slots=True)
class StagedWrites:
    """The staged files of one migration; `recovered`: an interrupted earlier one was undone."""

    stage: StageFolder
    recovered: bool
    paths: list[str] = field(default_factory=list)
    notes: list[Mapping[str, str]] = field(default_factory=list)

    def add(self, path: str, data: bytes) -> None:
        """Stage the bytes of the file at `path`."""
        create_own(self.stage.base, f"{self.stage.name}/new-{len(self.paths)}", data)
        self.notes.append({"file": path, "sha256": hashlib.sha256(data).hexdigest()})
        self.paths.append(path)

    def commit(self) -> None:
        """Move every file into place, or put everything back and raise."""
        if not self.paths:
            return
        # Folders are noted before they exist, so that undoing removes them again.
        folders = {
            str(folder) for path in self.paths for folder in PurePosixPath(path).parents[:-1]
        }
        for folder in sorted(name for name in folders if not (self.stage.root / name).exists()):
            self.notes.append({"made": folder})
        os.sync()
        write_own(
            self.stage.base,
            self.stage.journal,
            "".join(f"{json.dumps(note)}\n" for note in self.notes).encode(),
        )
        try:
            order = {path: (_FOLDERS.index(path.partition("/")[0]), path) for path in self.paths}
            for number, path in sorted(enumerate(self.paths), key=lambda item: order[item[1]]):
                self._move_into_place(number, path)
            os.sync()
        except BaseException:
            _undo_moves(self.stage)
            raise
        remove_below(self.stage.base, self.stage.journal)

    def _move_into_place(self, number: int, path: str) -> None:
        stage = self.stage
        try:
            if (stage.root / path).exists():
                move_below(stage.root, path, stage.base, f"{stage.name}/old-{number}")
            move_below(stage.base, f"{stage.name}/new-{number}", stage.root, path)
        except OSError as error:
            raise make_write_error(error, path) from None


@contextmanager
def open_stage(root: Path) -> Iterator[StagedWrites]:
    """Lock the store, undo an interrupted migration, yield an empty stage, and clear it at the end.

    Raises `ConflictError` while another migration writes, and `RefusedError` if the store cannot be
    written.
    """
    is_new = not root.exists()
    try:
        root.mkdir(parents=True, exist_ok=True)
        stage = _find_stage(root)
        with _lock_store(root):
            # A migration was killed while it moved files; a stage without a journal is simply
            # deleted.
            if recovered := has_own(stage.base, stage.journal):
                _undo_moves(stage)
            _clear_stage(stage)
            try:
                yield StagedWrites(stage, recovered)
            finally:
                _clear_stage(stage)
    except OSError as error:
        # What evalstore keeps there for itself has no name that a user knows.
        name = str(error.filename or root)
        label = str(root) if name.startswith((_STATE_FOLDER, _STAGE_NAME, STAGE)) else name
        raise make_write_error(error, label) from None
    finally:
        if is_new:
            with suppress(OSError):
                root.rmdir()


def _find_stage(root: Path) -> StageFolder:
    """Return a store's stage.

    It is in the git directory of its working tree, where no clone brings anything.
    """
    folder = root.resolve()
    top = find_top(folder)
    if top is None:
        return StageFolder(root, root, STAGE)
    directory = find_repository(top).git.directory
    # Several stores in one repository have separate stages.
    mark = hashlib.sha256(os.fsencode(folder.relative_to(top))).hexdigest()[:12]
    return StageFolder(root, directory, f"{_STATE_FOLDER}/{_STAGE_NAME}{mark}")


@contextmanager
def _lock_store(root: Path) -> Iterator[None]:
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        # The lock is on the store's folder itself: no lock file is left behind, and a killed
        # process releases it.
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise ConflictError(
            "another migration is writing to this store", place=Place(str(root))
        ) from None
    finally:
        os.close(descriptor)


def _undo_moves(stage: StageFolder) -> None:
    files, folders = _read_journal(stage)
    sweep_below(stage.root, *(path for path, _ in files))
    for number, (path, digest) in enumerate(files):
        old = stage.path / f"old-{number}"
        # The staged content is in its place, unless somebody has edited it since: then it stays.
        if hash_file(stage.root, path) == digest:
            remove_below(stage.root, path)
        if old.exists() and not (stage.root / path).exists():
            move_below(stage.base, f"{stage.name}/{old.name}", stage.root, path)
    for name in reversed(folders):  # a folder after what is in it
        with suppress(OSError):
            remove_folder_below(stage.root, name)
    remove_below(stage.base, stage.journal)


def _clear_stage(stage: StageFolder) -> None:
    # A journal that still exists means that undoing failed: the next migration tries again.
    if stage.path.exists() and not has_own(stage.base, stage.journal):
        shutil.rmtree(stage.path)


def _read_journal(stage: StageFolder) -> tuple[list[tuple[str, str]], list[str]]:
    """Return the files, each with its digest, and the folders that were created for them.

    A journal may come with an untrusted folder, so every path must be that of an artifact or run of
    this store.
    """
    try:
        data = read_own(stage.base, stage.journal, LARGE_FILE)
        notes = [json.loads(line) for line in data.splitlines()]
        files = [(note["file"], note["sha256"]) for note in notes if "file" in note]
        folders = [note["made"] for note in notes if "file" not in note]
        if all(map(_MADE.fullmatch, folders)) and all(_FILE.fullmatch(path) for path, _ in files):
            return files, folders
    except (ValueError, TypeError, KeyError, LoadError):
        pass
    raise RefusedError(
        "what an interrupted migration left here cannot be undone",
        place=Place(str(stage.path)),
        hint="look at `git status`, then delete that folder",
    )
