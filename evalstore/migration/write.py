"""All or nothing: files are staged inside the store, then moved into place; the only writer of this room.

What a killed process left is undone by the next one: a journal in the stage names every file before the first is
moved. What others refer to moves before them, so what a reader sees meanwhile is whole.
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
from evalstore.runs.kept import KEPT

STAGE = ".evalstore-migrating"
_JOURNAL = f"{STAGE}/journal.jsonl"
_NOTES = f"{_JOURNAL}.new"  # the journal to be: it counts once it has its name
_LIMIT = 64 << 20
# The folders of a store in the order in which their files move: each refers to those before it.
_FOLDERS = ("judges", "rubrics", "datasets", "runs")
_FILE = re.compile(rf"(?:judges|rubrics|datasets)/[a-z][a-z0-9_]{{0,63}}\.(?:yaml|jsonl)|{KEPT.pattern}", re.ASCII)
_MADE = re.compile(r"[a-z]+(?:/[A-Za-z0-9%][A-Za-z0-9_.%-]*)*", re.ASCII)


@dataclass(slots=True)
class StagedWrites:
    """The files of one migration, waiting beside their places; `recovered` says that an earlier one was undone."""

    root: Path
    recovered: bool
    paths: list[str] = field(default_factory=list)

    def add(self, path: str, data: bytes) -> None:
        """Keep the bytes that `path` shall have."""
        if not self.paths:
            (self.root / STAGE).mkdir()
        (self.root / _new(len(self.paths))).write_bytes(data)
        _note(self.root, {"file": path, "sha256": hashlib.sha256(data).hexdigest()})
        self.paths.append(path)

    def commit(self) -> None:
        """Move every file into place, or put everything back and raise."""
        if not self.paths:
            return
        folders = {str(folder) for path in self.paths for folder in PurePosixPath(path).parents[:-1]}
        for folder in sorted(name for name in folders if not (self.root / name).exists()):
            _note(self.root, {"made": folder})
        os.sync()
        (self.root / _NOTES).rename(self.root / _JOURNAL)
        try:
            for number in sorted(range(len(self.paths)), key=lambda number: _turn(self.paths[number])):
                _place(self.root, number, self.paths[number])
            os.sync()
        except BaseException:
            _undo(self.root)
            raise
        (self.root / _JOURNAL).unlink()


@contextmanager
def staged(root: Path) -> Iterator[StagedWrites]:
    """Lock the store, undo what a killed migration left, and clear the stage in the end.

    Raises `ConflictError` while another migration writes, `RefusedError` when the store cannot be written.
    """
    made = not root.exists()
    try:
        root.mkdir(parents=True, exist_ok=True)
        with _locked(root):
            recovered = _recover(root)
            try:
                yield StagedWrites(root, recovered)
            finally:
                _clear(root)
    except OSError as error:
        where = Place(str(error.filename or root))
        raise RefusedError(f"cannot be written: {(error.strerror or str(error)).lower()}", place=where) from None
    finally:
        if made:
            with suppress(OSError):
                root.rmdir()


def _recover(root: Path) -> bool:
    """Undo a migration that was killed while it moved files; a stage without a journal is only litter."""
    if not (root / STAGE).is_dir() or (root / STAGE).is_symlink():
        return False
    moved = (root / _JOURNAL).exists()
    if moved:
        _undo(root)
    _clear(root)
    return moved


@contextmanager
def _locked(root: Path) -> Iterator[None]:
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise ConflictError("another migration is writing to this store", place=Place(str(root))) from None
    finally:
        os.close(descriptor)


def _place(root: Path, number: int, path: str) -> None:
    if (root / path).exists():
        move_below(root, path, _old(number))
    move_below(root, _new(number), path)


def _undo(root: Path) -> None:
    files, made = _read_journal(root)
    for number, (path, digest) in enumerate(files):
        placed = not (root / _new(number)).exists()
        if placed and _digest(root, path) == digest:  # else somebody has edited it since: theirs stays
            remove_below(root, path)
        if (root / _old(number)).exists() and not (root / path).exists():
            move_below(root, _old(number), path)
    for name in reversed(made):  # a folder after those in it
        with suppress(OSError):
            remove_folder_below(root, name)
    (root / _JOURNAL).unlink()


def _clear(root: Path) -> None:
    # A journal that is still here means that putting back failed: the next run tries again.
    if (root / STAGE).exists() and not (root / _JOURNAL).exists():
        shutil.rmtree(root / STAGE)


def _note(root: Path, said: Mapping[str, str]) -> None:
    with (root / _NOTES).open("a", encoding="utf-8") as notes:
        notes.write(json.dumps(said) + "\n")


def _read_journal(root: Path) -> tuple[list[tuple[str, str]], list[str]]:
    """Return the files, each with its digest, and the folders that were made for them.

    A journal may come from a stranger's repository, so it names artifacts of this store or nothing.
    """
    try:
        notes = [json.loads(line) for line in read_below(root, _JOURNAL, _LIMIT).splitlines()]
        files = [(note["file"], note["sha256"]) for note in notes if "file" in note]
        made = [note["made"] for note in notes if "file" not in note]
        if all(map(_may_be_made, made)) and all(_FILE.fullmatch(path) for path, _ in files):
            return files, made
    except (ValueError, TypeError, KeyError, LoadError):
        pass
    raise RefusedError(
        "what an interrupted migration left here cannot be undone",
        place=Place(str(root / STAGE)),
        hint=f"look at `git status`, then delete {STAGE}",
    )


def _may_be_made(folder: str) -> bool:
    return _MADE.fullmatch(folder) is not None and folder.partition("/")[0] in _FOLDERS


def _digest(root: Path, path: str) -> str:
    try:
        return hashlib.sha256(read_below(root, path, _LIMIT)).hexdigest()
    except LoadError:
        return ""


def _turn(path: str) -> tuple[int, str]:
    return _FOLDERS.index(path.partition("/")[0]), path


def _new(number: int) -> str:
    return f"{STAGE}/new-{number}"


def _old(number: int) -> str:
    return f"{STAGE}/old-{number}"
