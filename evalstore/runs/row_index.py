"""Finds the rows of a run by question: only their places in the file are held, so that a run of any size fits."""

from __future__ import annotations

import json
import sys
import weakref
from array import array
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from evalstore.documents import LINE_LIMIT, read_row
from evalstore.errors import LoadError, Place, RefusedError
from evalstore.files import open_user_file
from evalstore.runs.eee_rows import find_output_key
from evalstore.runs.read import read_run_row
from evalstore.runs.record_fields import explain_shape_errors, get_mapping
from evalstore.runs.samples import merge_samples
from evalstore.runs.values import GradedRow, Run


class RowIndex(Mapping[str, GradedRow]):
    """The graded rows of a run by question, in file order; one is read when it is asked for, its samples as one.

    Held are a question's id and some 32 bytes a row. Raises `LoadError` at file:line for a line that is no row, and
    `RefusedError` where a sample of a question stands twice.
    """

    def __init__(self, run: Run) -> None:
        self._path = str(run.samples)
        self._file = open_user_file(run.samples)
        weakref.finalize(self, self._file.close)
        # By row of the file: its offset, its line, the number of its sample, and its rubric, of which there are few.
        self._offsets, self._lines, self._samples = array("Q"), array("Q"), array("L")
        self._rubrics: list[str] = []
        # By question its first row, and those of its further samples.
        self._first: dict[str, int] = {}
        self._further: dict[str, list[int]] = {}
        self._last: tuple[str, GradedRow] | None = None
        self._add_all()

    def __getitem__(self, id_: str) -> GradedRow:
        if self._last is None or self._last[0] != id_:
            numbers = [self._first[id_], *self._further.get(id_, ())]
            self._last = id_, merge_samples([self._read(number, id_) for number in numbers])
        return self._last[1]

    def __contains__(self, id_: object) -> bool:
        return id_ in self._first

    def __iter__(self) -> Iterator[str]:
        return iter(self._first)

    def __len__(self) -> int:
        return len(self._first)

    def find_rubric(self, id_: str) -> str:
        """Return the reference of the rubric that graded a question, without reading its row; empty where none is."""
        return self._rubrics[self._first[id_]]

    def _add_all(self) -> None:
        offset = line = 0
        # A limit, because the whole of a file without line breaks would be one line.
        while data := self._file.readline(LINE_LIMIT + 2):
            line += 1
            if not data.isspace():
                self._add(data, offset, line)
            offset += len(data)

    def _add(self, data: bytes, offset: int, line: int) -> None:
        place = Place(self._path, line)
        value = _decode_line(data, place)
        with explain_shape_errors(place, "this line is no row of a run"):
            key = find_output_key(value, place)
        if key is None:
            return
        # Both runs of an audit name the same questions.
        id_, number = sys.intern(key[0]), len(self._offsets)
        rubric = get_mapping(value, "metadata").get("evalstore_rubric")
        self._offsets.append(offset)
        self._lines.append(line)
        self._samples.append(key[1])
        self._rubrics.append(sys.intern(str(rubric or "")))
        if self._first.setdefault(id_, number) != number:
            self._add_sample(id_, number)

    def _add_sample(self, id_: str, number: int) -> None:
        others = self._further.setdefault(id_, [])
        if any(self._samples[other] == self._samples[number] for other in (self._first[id_], *others)):
            raise make_doubled_error(self._path, id_)
        others.append(number)

    def _read(self, number: int, id_: str) -> GradedRow:
        place = Place(self._path, self._lines[number])
        self._file.seek(self._offsets[number])
        value = read_row(self._file.readline(LINE_LIMIT + 2).removesuffix(b"\n"), self._path, self._lines[number])
        row = read_run_row(value, place)
        if row is None or row.id != id_:
            raise LoadError("this line changed while it was read", place=place)
        return row


def make_doubled_error(path: Path | str, id_: str) -> RefusedError:
    """Return the error for one sample of a question that stands twice in a file."""
    return RefusedError(
        f"{path} holds the question {id_} twice",
        hint="several answers to one question are numbered: score them as samples",
    )


def _decode_line(data: bytes, place: Place) -> Mapping[str, Any]:
    """Decode a line at full speed: its row is read strictly when it is asked for."""
    try:
        value = json.loads(data.decode()) if len(data) <= LINE_LIMIT else None
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        value = read_row(data.removesuffix(b"\n"), place.file, place.line or 0)
    if not isinstance(value, dict):
        raise LoadError("a line is one JSON object", place=place)
    return value
