"""Lists the formats of stored outputs: how a file's format is detected, and how its entries are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from evalstore.documents import LINE_LIMIT
from evalstore.errors import LoadError, Place
from evalstore.runs.eee_rows import OUTPUT_SHAPES, read_stored_output
from evalstore.runs.imports import promptfoo, skill_creator
from evalstore.runs.imports.containers import ARCHIVE, EMPTY, OBJECT, detect_container, read_names
from evalstore.runs.imports.entry import MissingOutput, OutputEntry, Series, make_unread_entry
from evalstore.runs.imports.inspect_log import (
    is_json_log,
    is_log_archive,
    read_json_log,
    read_log_archive,
)
from evalstore.runs.imports.source_guess import guess_source
from evalstore.runs.row_formats import is_text_format, read_lines
from evalstore.runs.run_files import parse_json_object, read_embedded_samples
from evalstore.runs.spans import OutputSpan

_OUTPUT_LINES = 'lines {"id", "output", "input"?, "tool_calls"?, "sample"?}'
EVERY_EVAL_EVER = "rows or runs of Every Eval Ever"
INSPECT_LOGS = "logs of Inspect AI (.eval, .json)"
_PROMPTFOO = "results of promptfoo (.json, .jsonl)"
GRADINGS = "gradings of skill-creator (grading.json, benchmark.json)"
# A first line with one of these keys is an incomplete line of the first format; reading it names
# what is missing.
_ALMOST = frozenset({"id", "output", "schema_version"})


class OutputFormat(NamedTuple):
    """A file format of stored outputs: its name, how to recognise it by its keys, and how to read its entries.

    `has_rows`: a file can be cut between its rows, and `read` takes a span of it, too.
    """

    name: str
    kind: str
    fits: Callable[[AbstractSet[str]], bool]
    read: Callable[..., Iterator[OutputEntry]]
    has_rows: bool = False


def _read_json_lines(path: Path, span: OutputSpan | None = None) -> Iterator[OutputEntry]:
    file = str(path)
    # What is null in a table is absent from its rows.
    absent = {} if is_text_format(path) else {"output": None}
    read = _RowReader()
    for line, data in read_lines(path, span):
        if len(data) > LINE_LIMIT:  # its end cannot be told from the next row
            parse_json_object(data, Place(file, line))
        try:
            stored = parse_json_object(data, Place(file, line))
        except LoadError as error:
            yield make_unread_entry(error)
            continue
        yield read.read_entry(absent | stored if "id" in stored else stored, Place(file, line))


def _read_embedded(path: Path) -> Iterator[OutputEntry]:
    read = _RowReader()
    for line, sample in read_embedded_samples(path):
        yield read.read_entry(sample, Place(str(path), line))


def _read_gradings(path: Path) -> Iterator[OutputEntry]:
    for line, row in read_embedded_samples(path):
        yield OutputEntry(
            Series(row["model_id"]), MissingOutput(row["sample_id"], line, skill_creator.NO_OUTPUT)
        )


@dataclass(frozen=True, slots=True)
class _RowReader:
    """Reads rows, each by itself: one that cannot be read does not keep the others from it."""

    _known: dict[str | None, Series] = field(default_factory=dict)

    def read_entry(self, row: Mapping[str, Any], place: Place) -> OutputEntry:
        """Return what one row records."""
        id_ = row.get("sample_id", row.get("id"))
        try:
            found = read_stored_output(row, place)
        except LoadError as error:
            return make_unread_entry(error, id_)
        model = found.model if found else row.get("model_id")
        name = model if isinstance(model, str) else None
        series = self._known.get(name) or self._known.setdefault(name, Series(name))
        return OutputEntry(
            series, found or MissingOutput(str(id_), place.line or 0, "the model gave no output")
        )


_LINES = OutputFormat(
    _OUTPUT_LINES, OBJECT, {"id", "output"}.issubset, _read_json_lines, has_rows=True
)

RUN_FORMAT = OutputFormat(EVERY_EVAL_EVER, OBJECT, {"evaluation_results"}.issubset, _read_embedded)

OUTPUT_FORMATS = (
    _LINES,
    OutputFormat(EVERY_EVAL_EVER, OBJECT, {"sample_id"}.issubset, _read_json_lines, has_rows=True),
    RUN_FORMAT,
    OutputFormat(INSPECT_LOGS, ARCHIVE, is_log_archive, read_log_archive),
    OutputFormat(INSPECT_LOGS, OBJECT, is_json_log, read_json_log),
    OutputFormat(_PROMPTFOO, OBJECT, promptfoo.is_result_file, promptfoo.read_results),
    OutputFormat(_PROMPTFOO, OBJECT, promptfoo.is_result_row, promptfoo.read_result_lines),
    OutputFormat(GRADINGS, OBJECT, skill_creator.is_grading, _read_gradings),
)


def detect_format(path: Path) -> OutputFormat:
    """Return the format of a file by its content; raises `LoadError`, which lists the formats, when none fits."""
    kind, names = detect_container(path), set[str]()
    for name in read_names(path, kind):
        names.add(name)
        for shape in OUTPUT_FORMATS:
            if shape.kind == kind and shape.fits(names):
                return shape
    guess = guess_source(kind, names)
    if kind == EMPTY or (names & _ALMOST and not guess):
        return _LINES
    formats = "; ".join(dict.fromkeys(shape.name for shape in OUTPUT_FORMATS))
    raise LoadError(
        f"holds outputs in no shape that evalstore reads: {formats}",
        place=Place(str(path)),
        hint=f"it looks like {guess}" if guess else OUTPUT_SHAPES,
    )
