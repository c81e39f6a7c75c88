"""Writes a run to new files: the rows as they come, the aggregate last."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from io import BufferedRandom, FileIO
from itertools import count
from pathlib import Path
from typing import Any

from evalstore.errors import ConflictError, Place, RefusedError
from evalstore.files import OWN_FOLDER, UNSEEN, UNSEEN_DATA, iterate_pieces, make_write_error
from evalstore.runs.eee_aggregate import format_aggregate
from evalstore.runs.eee_write import write_row_line
from evalstore.runs.row_formats import RowFormat, find_row_format
from evalstore.runs.values import GradedRow, Run

# A suffix that only evalstore uses: it removes its unlocked files, and others do not lock theirs.
_SUFFIX = ".evalstore.tmp"
_OURS = re.compile(r"\..+\.[0-9a-f]{8}" + re.escape(_SUFFIX), re.DOTALL)
_OPEN = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NO_LINKS = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS})


class DraftFile(BufferedRandom):
    """A new file in its own hidden folder; it gets its real name after it has been read back.

    `hidden` is its path below the draft folder. The file is identified by its descriptor: in a
    folder that others can write, its hidden name could be given to another file.
    """

    def __init__(self, folder: DraftFolder, hidden: str, descriptor: int) -> None:
        super().__init__(FileIO(descriptor, "r+b"), 1 << 18)
        self.folder, self.hidden = folder, hidden
        self._sum = hashlib.sha256()

    def write(self, data: Any) -> int:
        """Write bytes, and add them to the digest."""
        self._sum.update(data)
        return super().write(data)

    def finish(self) -> None:
        """Wait for the disk and read everything back; raises `RefusedError` if it differs."""
        self.flush()
        os.fsync(self.fileno())
        self.seek(0)
        found = hashlib.sha256()
        for piece in iterate_pieces(self):
            found.update(piece)
        if found.digest() != self._sum.digest():
            raise self.folder.make_intrusion_error(self.hidden)

    def give_name(self, name: str) -> bool:
        """Give it a name, atomically; False if the name is taken."""
        here = self.folder.descriptor
        try:
            os.link(self.hidden, name, src_dir_fd=here, dst_dir_fd=here, follow_symlinks=False)
        except FileExistsError:
            return False
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            try:
                os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, dir_fd=here))
            except FileExistsError:
                return False
            os.rename(self.hidden, name, src_dir_fd=here, dst_dir_fd=here)
        self._check_name(name)
        return True

    def discard(self) -> None:
        """Close it, and remove its hidden name."""
        with suppress(OSError):  # flushing may fail on a full disk: it is discarded anyway
            self.close()
        self.folder.remove_hidden(self.hidden)

    def _check_name(self, name: str) -> None:
        here = self.folder.descriptor
        if not os.path.samestat(
            os.fstat(self.fileno()), os.stat(name, dir_fd=here, follow_symlinks=False)
        ):
            os.unlink(name, dir_fd=here)
            raise self.folder.make_intrusion_error(name)


@dataclass(frozen=True, slots=True)
class DraftFolder:
    """An open folder in which draft files are made."""

    path: Path
    descriptor: int

    @contextmanager
    def open_file(self, stem: str) -> Iterator[DraftFile]:
        """Open a new hidden file, locked so that others do not remove it; it is gone at the end."""
        file = self._make_file(stem)
        try:
            yield file
        finally:
            file.discard()

    def has_name(self, name: str) -> bool:
        """Whether the folder has an entry of this name."""
        try:
            os.stat(name, dir_fd=self.descriptor, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return True

    def remove_abandoned(self) -> None:
        """Remove unlocked files of `open_file`, whose writing process was killed."""
        names = os.listdir(self.descriptor)  # noqa: PTH208  # pathlib has no descriptors
        for name in filter(_OURS.fullmatch, names):
            with suppress(OSError):  # locked, already gone, or another user's
                self._remove_if_unlocked(f"{name}/{UNSEEN_DATA}")

    def remove_hidden(self, path: str) -> None:
        """Remove a hidden file and its folder, as far as they exist."""
        with suppress(FileNotFoundError):
            os.unlink(path, dir_fd=self.descriptor)
        self._remove_folder(path.removesuffix(f"/{UNSEEN_DATA}"))

    def _remove_folder(self, name: str) -> None:
        for folder in (f"{name}/{UNSEEN}", name):
            with suppress(FileNotFoundError):
                os.rmdir(folder, dir_fd=self.descriptor)

    def make_intrusion_error(self, name: str) -> RefusedError:
        """Return the `RefusedError` for a file that another program wrote or replaced."""
        return RefusedError(
            "another program changed this file while it was written",
            place=Place(str(self.path / name)),
            hint="name a folder that only you can write",
        )

    def _make_file(self, stem: str) -> DraftFile:
        while True:
            name = f".{stem}.{secrets.token_hex(4)}{_SUFFIX}"
            hidden = f"{name}/{UNSEEN_DATA}"
            # Until the file is locked, another process may think it is abandoned and remove it.
            try:
                os.mkdir(name, OWN_FOLDER, dir_fd=self.descriptor)
                os.mkdir(f"{name}/{UNSEEN}", OWN_FOLDER, dir_fd=self.descriptor)
                descriptor = os.open(
                    hidden, _OPEN | os.O_CREAT | os.O_EXCL, 0o666, dir_fd=self.descriptor
                )
            except FileNotFoundError:
                continue
            file = DraftFile(self, hidden, descriptor)
            with suppress(
                OSError
            ):  # a file system without locks: no other process can lock and remove it, either
                fcntl.flock(file, fcntl.LOCK_EX)
            if self.has_name(hidden):
                return file
            file.close()

    def _remove_if_unlocked(self, hidden: str) -> None:
        try:
            descriptor = os.open(hidden, _OPEN, dir_fd=self.descriptor)
        except FileNotFoundError:
            # Without its file, the folder is left by a killed process, or its file is about to be
            # made. Then it is not empty any more, or its owner makes it again.
            self._remove_folder(hidden.removesuffix(f"/{UNSEEN_DATA}"))
            return
        try:
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self.remove_hidden(hidden)
        finally:
            os.close(descriptor)


@contextmanager
def open_drafts(path: Path) -> Iterator[DraftFolder]:
    """Open a folder for new files, after removing those of killed processes.

    Missing folders of its path are made, and removed at the end if they are empty.
    """
    made = [folder for folder in (path, *path.parents) if not os.path.lexists(folder)]
    descriptor = _open_shared(path)
    try:
        folder = DraftFolder(path, descriptor)
        folder.remove_abandoned()
        yield folder
    finally:
        with suppress(OSError):  # another process uses it, or it is not empty
            if made:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for empty in made:
                empty.rmdir()
        os.close(descriptor)


def _open_shared(path: Path) -> int:
    """Make a folder and lock it, so that another process that also uses it does not remove it."""
    while True:
        path.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        with suppress(OSError):  # a file system without locks: then no process removes the folder
            fcntl.flock(descriptor, fcntl.LOCK_SH)
        if os.fstat(descriptor).st_nlink:
            return descriptor
        os.close(descriptor)  # it was removed before it was locked


@contextmanager
def refuse_disk_errors(folder: Path) -> Iterator[None]:
    """Turn an error of the disk into a `RefusedError` that names the folder."""
    try:
        yield
    except OSError as error:
        raise make_write_error(error, str(folder)) from None


def make_run_name(*parts: str) -> str:
    """Join `parts` to a file name that is safe on every system."""
    plain = (re.sub(r"[^0-9A-Za-z._]+", "-", part).strip("-.") for part in parts)
    return "-".join(part for part in plain if part)[:160].rstrip("-.")


@dataclass(frozen=True, slots=True)
class RunWriter:
    """Writes a run: until `publish`, rows go to a hidden file that is not mistaken for a run."""

    folder: DraftFolder
    name: str
    rows: DraftFile

    def write_row(self, row: GradedRow, run: Run) -> None:
        """Write one row of `run`."""
        self.write_line(write_row_line(row, run))

    def write_line(self, line: bytes) -> None:
        """Write a line that `write_row_line` returned."""
        try:
            self.rows.write(line)
        except OSError as error:
            raise make_write_error(error, str(self.folder.path)) from None

    def publish(self, run: Run) -> Run:
        """Publish the rows, then the aggregate, under a free name; return `run` with their paths.

        Each file is read back first. The suffix of `run.samples` decides the format of the rows.
        """
        suffix = find_row_format(run.samples).suffix
        with (
            refuse_disk_errors(self.folder.path),
            self._finish_rows(find_row_format(run.samples)) as rows,
        ):
            for number in count(1):
                stem = self.name if number == 1 else f"{self.name}-{number}"
                name, samples = f"{stem}.json", f"{stem}_samples{suffix}"
                if not self.folder.has_name(name) and rows.give_name(samples):
                    break
            placed = replace(run, path=self.folder.path / name, samples=self.folder.path / samples)
            self._publish_aggregate(placed)
        return placed

    @contextmanager
    def _finish_rows(self, format_: RowFormat) -> Iterator[DraftFile]:
        """Yield the finished file of rows in its format: the lines, or a file made from them."""
        self.rows.finish()
        if format_.write is None:
            yield self.rows
            return
        with self.folder.open_file(self.name) as file:
            self.rows.seek(0)
            format_.write(self.rows, file)
            file.finish()
            yield file

    def _publish_aggregate(self, run: Run) -> None:
        published = False
        try:
            with self.folder.open_file(self.name) as file:
                file.write(
                    (
                        json.dumps(format_aggregate(run), ensure_ascii=False, indent=2) + "\n"
                    ).encode()
                )
                file.finish()
                published = file.give_name(run.path.name)
        finally:
            if not published:
                os.unlink(run.samples.name, dir_fd=self.folder.descriptor)
        if not published:
            raise ConflictError(
                "another program wrote this at the same time",
                place=Place(str(run.path)),
                hint="score again",
            )


@contextmanager
def write_run(folder: Path, name: str) -> Iterator[RunWriter]:
    """Open a writer in `folder` (created if absent).

    Unpublished rows are removed, including those of killed processes.
    """
    with ExitStack() as opened:
        with refuse_disk_errors(folder):
            drafts = opened.enter_context(open_drafts(folder))
            rows = opened.enter_context(drafts.open_file(name))
        yield RunWriter(drafts, name, rows)
