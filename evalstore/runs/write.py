"""Writes a run: rows as they come, the aggregate last, under names of their own; nothing is ever overwritten."""

from __future__ import annotations

import errno
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO

from evalstore.errors import ConflictError, Place, RefusedError
from evalstore.runs.eee_format import format_aggregate, format_row
from evalstore.runs.temporary import discard_temporary, open_temporary, remove_abandoned
from evalstore.runs.values import GradedRow, Run

_NAME_LIMIT = 160
_NO_LINKS = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS})
# Legal in JSON, but readers that split lines as `str.splitlines` does would cut a row there.
_BREAKS = {"\x85": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029"}

_encode = json.JSONEncoder(ensure_ascii=False).encode


def run_name(*parts: str) -> str:
    """Return a file name made of `parts`, safe on every system."""
    plain = (re.sub(r"[^0-9A-Za-z._]+", "-", part).strip("-.") for part in parts)
    return "-".join(part for part in plain if part)[:_NAME_LIMIT].rstrip("-.")


@dataclass(frozen=True, slots=True)
class RunWriter:
    """A run on its way: its rows so far are in a temporary file that no reader takes for a run."""

    folder: Path
    name: str
    rows: BinaryIO

    def write_row(self, row: GradedRow, run: Run) -> None:
        """Write one row of `run`."""
        line = _encode_row(format_row(row, run))
        try:
            self.rows.write(line)
        except OSError as error:
            raise _disk_error(self.folder, error) from None

    def publish(self, run: Run) -> Run:
        """Publish the rows, then the aggregate, under the first name that is free; return `run` with its paths."""
        with _refuse_disk_errors(self.folder):
            _flush_to_disk(self.rows)
            for number in count(1):
                stem = self.name if number == 1 else f"{self.name}-{number}"
                placed = replace(run, path=self.folder / f"{stem}.json", samples=self.folder / f"{stem}_samples.jsonl")
                if not os.path.lexists(placed.path) and _give_name(Path(self.rows.name), placed.samples):
                    break
            self._publish_aggregate(placed)
        return placed

    def _publish_aggregate(self, run: Run) -> None:
        file = open_temporary(self.folder, self.name)
        published = False
        try:
            file.write((json.dumps(format_aggregate(run), ensure_ascii=False, indent=2) + "\n").encode())
            _flush_to_disk(file)
            published = _give_name(Path(file.name), run.path)
        finally:
            discard_temporary(file)
            if not published:
                run.samples.unlink()
        if not published:
            raise ConflictError("something else wrote this just now", place=Place(str(run.path)), hint="score again")


@contextmanager
def write_run(folder: Path, name: str) -> Iterator[RunWriter]:
    """Begin a run in `folder`, which is made if need be; what is not finished, now or by a kill before, is removed."""
    with _refuse_disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        remove_abandoned(folder)
        rows = open_temporary(folder, name)
    try:
        yield RunWriter(folder, name, rows)
    finally:
        discard_temporary(rows)


def _encode_row(value: Mapping[str, Any]) -> bytes:
    text = _encode(value)
    if not text.isascii():
        for char, escape in _BREAKS.items():
            text = text.replace(char, escape)
    return text.encode() + b"\n"


def _flush_to_disk(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _give_name(temporary: Path, final: Path) -> bool:
    """Give a finished file its name; False when the name is taken."""
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


@contextmanager
def _refuse_disk_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _disk_error(folder, error) from None


def _disk_error(folder: Path, error: OSError) -> RefusedError:
    reason = (error.strerror or str(error)).lower()
    return RefusedError(f"a run cannot be written here: {reason}", place=Place(str(folder)))
