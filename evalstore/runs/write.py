"""Writes a run: rows as they come, the aggregate last, under new names; nothing is ever overwritten."""

from __future__ import annotations

import errno
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import BinaryIO

from evalstore.errors import ConflictError, Place
from evalstore.runs.eee_format import format_aggregate
from evalstore.runs.eee_lines import write_row_line
from evalstore.runs.row_formats import RowFormat, find_row_format
from evalstore.runs.temporary_files import (
    discard_temporary,
    finish_on_disk,
    make_disk_error,
    open_temporary,
    refuse_disk_errors,
    remove_abandoned,
)
from evalstore.runs.values import GradedRow, Run

_NAME_LIMIT = 160
_NO_LINKS = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS})


def make_run_name(*parts: str) -> str:
    """Return a file name made of `parts`, safe on every system."""
    plain = (re.sub(r"[^0-9A-Za-z._]+", "-", part).strip("-.") for part in parts)
    return "-".join(part for part in plain if part)[:_NAME_LIMIT].rstrip("-.")


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
            raise ConflictError("something else wrote this just now", place=Place(str(run.path)), hint="score again")


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
