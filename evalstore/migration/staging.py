"""Writes the files of a migration, all or nothing: stages them inside the store, then moves them into place.

The only writer of this package. A journal in the stage names every file before the first one is moved, so the next
migration undoes what a killed process left. Referenced artifacts move before those that refer to them: concurrent
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
from evalstore.files import move_below, read_below, remove_below, remove_folder_below
from evalstore.model import Kind
from evalstore.runs.stored_names import STORED_PATH

STAGE = ".evalstore-migrating"
_JOURNAL = f"{STAGE}/journal.jsonl"
_NOTES = f"{_JOURNAL}.new"  # becomes the journal by an atomic rename
_LIMIT = 64 << 20
# The folders of a store in the order in which their files move: artifacts refer to folders before their own.
_FOLDERS = (Kind.JUDGE.folder, Kind.RUBRIC.folder, Kind.DATASET.folder, "runs")
_FILE = re.compile(
    rf"(?:judges|rubrics|datasets)/[a-z][a-z0-9_]{{0,63}}\.(?:yaml|jsonl)|{STORED_PATH.pattern}", re.ASCII
)
_MADE = re.compile(r"[a-z]+(?:/[A-Za-z0-9%][A-Za-z0-9_.%-]*)*", re.ASCII)


@dataclass(slots=True)
class StagedWrites:
    """The staged files of one migration; `recovered` says that an interrupted earlier migration was undone."""

    root: Path
    recovered: bool
    paths: list[str] = field(default_factory=list)

    def add(self, path: str, data: bytes) -> None:
        """Stage the bytes of the file at `path`."""
        if not self.paths:
            (self.root / STAGE).mkdir()
        # A file is staged before its note: the journal never names a missing file.
        (self.root / _new_path(len(self.paths))).write_bytes(data)
        _append_note(self.root, {"file": path, "sha256": hashlib.sha256(data).hexdigest()})
        self.paths.append(path)

    def commit(self) -> None:
        """Move every file into place, or put everything back and raise."""
        if not self.paths:
            return
        # Folders are noted before they exist, so that undoing removes them again.
        folders = {str(folder) for path in self.paths for folder in PurePosixPath(path).parents[:-1]}
        for folder in sorted(name for name in folders if not (self.root / name).exists()):
            _append_note(self.root, {"made": folder})
        os.sync()
        (self.root / _NOTES).rename(self.root / _JOURNAL)
        try:
            for number in sorted(range(len(self.paths)), key=lambda number: _move_order(self.paths[number])):
                _move_into_place(self.root, number, self.paths[number])
            os.sync()
        except BaseException:
            _undo_moves(self.root)
            raise
        (self.root / _JOURNAL).unlink()


@contextmanager
def open_stage(root: Path) -> Iterator[StagedWrites]:
    """Lock the store, undo an interrupted migration, yield an empty stage, and clear it at the end.

    Raises `ConflictError` while another migration writes, `RefusedError` when the store cannot be written.
    """
    is_new = not root.exists()
    try:
        root.mkdir(parents=True, exist_ok=True)
        with _lock_store(root):
            recovered = _recover_store(root)
            try:
                yield StagedWrites(root, recovered)
            finally:
                _clear_stage(root)
    except OSError as error:
        where = Place(str(error.filename or root))
        raise RefusedError(f"cannot be written: {(error.strerror or str(error)).lower()}", place=where) from None
    finally:
        if is_new:
            with suppress(OSError):
                root.rmdir()


def _recover_store(root: Path) -> bool:
    """Undo a migration that was killed while it moved files; a stage without a journal is only deleted."""
    if not (root / STAGE).is_dir() or (root / STAGE).is_symlink():
        return False
    has_journal = (root / _JOURNAL).exists()
    if has_journal:
        _undo_moves(root)
    _clear_stage(root)
    return has_journal


@contextmanager
def _lock_store(root: Path) -> Iterator[None]:
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        # The lock is on the store's folder itself: no lock file is left behind, and a killed process releases it.
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise ConflictError("another migration is writing to this store", place=Place(str(root))) from None
    finally:
        os.close(descriptor)


def _move_into_place(root: Path, number: int, path: str) -> None:
    if (root / path).exists():
        move_below(root, path, _old_path(number))
    move_below(root, _new_path(number), path)


def _undo_moves(root: Path) -> None:
    files, folders = _read_journal(root)
    for number, (path, digest) in enumerate(files):
        # A staged file that is gone has reached its place.
        was_placed = not (root / _new_path(number)).exists()
        if was_placed and _digest_file(root, path) == digest:  # else it was edited since, and stays
            remove_below(root, path)
        if (root / _old_path(number)).exists() and not (root / path).exists():
            move_below(root, _old_path(number), path)
    for name in reversed(folders):  # a folder after those in it
        with suppress(OSError):
            remove_folder_below(root, name)
    (root / _JOURNAL).unlink()


def _clear_stage(root: Path) -> None:
    # A journal that still exists means that undoing failed: the next migration tries again.
    if (root / STAGE).exists() and not (root / _JOURNAL).exists():
        shutil.rmtree(root / STAGE)


def _append_note(root: Path, note: Mapping[str, str]) -> None:
    with (root / _NOTES).open("a", encoding="utf-8") as notes:
        notes.write(json.dumps(note) + "\n")


def _read_journal(root: Path) -> tuple[list[tuple[str, str]], list[str]]:
    """Return the files, each with its digest, and the folders that were created for them.

    A journal may come with an untrusted repository, so every path must be that of an artifact or run of this store.
    """
    try:
        notes = [json.loads(line) for line in read_below(root, _JOURNAL, _LIMIT).splitlines()]
        files = [(note["file"], note["sha256"]) for note in notes if "file" in note]
        folders = [note["made"] for note in notes if "file" not in note]
        if all(map(_is_store_folder, folders)) and all(_FILE.fullmatch(path) for path, _ in files):
            return files, folders
    except (ValueError, TypeError, KeyError, LoadError):
        pass
    raise RefusedError(
        "what an interrupted migration left here cannot be undone",
        place=Place(str(root / STAGE)),
        hint=f"look at `git status`, then delete {STAGE}",
    )


def _is_store_folder(folder: str) -> bool:
    return _MADE.fullmatch(folder) is not None and folder.partition("/")[0] in _FOLDERS


def _digest_file(root: Path, path: str) -> str:
    try:
        return hashlib.sha256(read_below(root, path, _LIMIT)).hexdigest()
    except LoadError:
        return ""


def _move_order(path: str) -> tuple[int, str]:
    return _FOLDERS.index(path.partition("/")[0]), path


def _new_path(number: int) -> str:
    return f"{STAGE}/new-{number}"


def _old_path(number: int) -> str:
    return f"{STAGE}/old-{number}"
