"""Writes a run: rows as they come, the aggregate last, under new names; nothing is ever overwritten."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import BinaryIO

from evalstore.errors import ConflictError, Place, RefusedError
from evalstore.files import WRITE_HINTS
from evalstore.runs.eee_write import format_aggregate, write_row_line
from evalstore.runs.row_formats import RowFormat, find_row_format
from evalstore.runs.values import GradedRow, Run

# A suffix that only evalstore uses, because other programs do not lock their temporary files.
_SUFFIX = ".evalstore.tmp"
_OURS = re.compile(r"\..+\.[0-9a-f]{8}" + re.escape(_SUFFIX), re.DOTALL)
_OPEN = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@contextmanager
def replace_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file that gets its name at the end, atomically and in place of another; after an error there is none."""
    with refuse_disk_errors(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        remove_abandoned(path.parent)
        file = open_temporary(path.parent, path.stem)
        try:
            yield file
            finish_on_disk(file)
            Path(file.name).replace(path)
        finally:
            discard_temporary(file)


def open_temporary(folder: Path, name: str) -> BinaryIO:
    """Open a new hidden file in `folder`; its lock keeps `remove_abandoned` away until it is closed."""
    while True:
        file = (folder / f".{name}.{secrets.token_hex(4)}{_SUFFIX}").open("xb", buffering=1 << 18)
        with suppress(OSError):  # a file system without locks: nobody can lock it to sweep it either
            fcntl.flock(file, fcntl.LOCK_EX)
        # Another process may have removed it between the two calls above; from here on it cannot.
        if os.path.lexists(file.name):
            return file
        file.close()


def discard_temporary(file: BinaryIO) -> None:
    """Close and remove a file of `open_temporary`."""
    with suppress(OSError):  # what did not fit on the disk is thrown away with the rest
        file.close()
    Path(file.name).unlink(missing_ok=True)


def remove_abandoned(folder: Path) -> None:
    """Remove the unlocked files of `open_temporary`: the process that wrote them was killed."""
    for name in filter(_OURS.fullmatch, os.listdir(folder)):  # noqa: PTH208  # names are all that is wanted
        with suppress(OSError):  # locked, gone by now, or another user's: not ours to remove
            _remove_if_unlocked(folder / name)


def _remove_if_unlocked(path: Path) -> None:
    descriptor = os.open(path, _OPEN)
    try:
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()
    finally:
        os.close(descriptor)


def finish_on_disk(file: BinaryIO) -> None:
    """Write what is in the buffer, and wait until the disk has it."""
    file.flush()
    os.fsync(file.fileno())


@contextmanager
def refuse_disk_errors(folder: Path) -> Iterator[None]:
    """Turn an error of the disk into a `RefusedError` that names the folder."""
    try:
        yield
    except OSError as error:
        raise make_disk_error(folder, error) from None


def make_disk_error(folder: Path, error: OSError) -> RefusedError:
    """Return the `RefusedError` for an error of the disk, which names the folder."""
    reason = (error.strerror or str(error)).lower()
    return RefusedError(
        f"this run cannot be written here: {reason}", place=Place(str(folder)), hint=WRITE_HINTS.get(error.errno or 0)
    )


_NO_LINKS = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS})


def make_run_name(*parts: str) -> str:
    """Return a file name made of `parts`, safe on every system."""
    plain = (re.sub(r"[^0-9A-Za-z._]+", "-", part).strip("-.") for part in parts)
    return "-".join(part for part in plain if part)[:160].rstrip("-.")


@dataclass(frozen=True, slots=True)
class RunWriter:
    """Writes a run: rows go to a temporary file that no reader takes for a run, until `publish`."""

    folder: Path
    name: str
    rows: BinaryIO

    def write_row(self, row: GradedRow, run: Run) -> None:
        """Write one row of `run`."""
        self.write_line(write_row_line(row, run))

    def write_line(self, line: bytes) -> None:
        """Write one row as `write_row_line` makes it."""
        try:
            self.rows.write(line)
        except OSError as error:
            raise make_disk_error(self.folder, error) from None

    def publish(self, run: Run) -> Run:
        """Publish the rows, then the aggregate, under the first name that is free; return `run` with its paths.

        The suffix of `run.samples` says in which format rows are written.
        """
        with refuse_disk_errors(self.folder), self._finish_rows(find_row_format(run.samples)) as rows:
            for number in count(1):
                stem = self.name if number == 1 else f"{self.name}-{number}"
                samples = self.folder / f"{stem}_samples{find_row_format(run.samples).suffix}"
                placed = replace(run, path=self.folder / f"{stem}.json", samples=samples)
                if not os.path.lexists(placed.path) and _give_name(Path(rows.name), placed.samples):
                    break
            self._publish_aggregate(placed)
        return placed

    @contextmanager
    def _finish_rows(self, format_: RowFormat) -> Iterator[BinaryIO]:
        """Give the rows in their format, on the disk: the lines, or a temporary file that is made of them."""
        if format_.write is None:
            finish_on_disk(self.rows)
            yield self.rows
            return
        self.rows.flush()
        file = open_temporary(self.folder, self.name)
        try:
            with Path(self.rows.name).open("rb") as lines:
                format_.write(lines, file)
            finish_on_disk(file)
            yield file
        finally:
            discard_temporary(file)

    def _publish_aggregate(self, run: Run) -> None:
        file = open_temporary(self.folder, self.name)
        published = False
        try:
            file.write((json.dumps(format_aggregate(run), ensure_ascii=False, indent=2) + "\n").encode())
            finish_on_disk(file)
            published = _give_name(Path(file.name), run.path)
        finally:
            discard_temporary(file)
            if not published:
                run.samples.unlink()
        if not published:
            raise ConflictError(
                "another program wrote this at the same time", place=Place(str(run.path)), hint="score again"
            )


@contextmanager
def write_run(folder: Path, name: str) -> Iterator[RunWriter]:
    """Open a writer in `folder` (created if absent); unpublished rows, also those of killed processes, are removed."""
    with refuse_disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        remove_abandoned(folder)
        rows = open_temporary(folder, name)
    try:
        yield RunWriter(folder, name, rows)
    finally:
        discard_temporary(rows)


def _give_name(temporary: Path, final: Path) -> bool:
    """Give a finished file its final name, atomically; False when the name is taken."""
    try:
        os.link(temporary, final)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        return _give_name_without_links(temporary, final)
    return True


def _give_name_without_links(temporary: Path, final: Path) -> bool:
    try:
        final.open("xb").close()
    except FileExistsError:
        return False
    temporary.replace(final)
    return True
