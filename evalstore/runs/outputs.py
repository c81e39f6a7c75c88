"""The outputs of a file, streamed in its order, whatever shape they have; grades nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from evalstore.errors import LoadError, Place
from evalstore.runs.choice import SeriesFilter, filter_entries
from evalstore.runs.eee_rows import read_stored_output
from evalstore.runs.imports import inspect_archive, inspect_json, promptfoo
from evalstore.runs.imports.entry import MissingOutput, OutputEntry, Series
from evalstore.runs.imports.guess import guess_source
from evalstore.runs.imports.head import ARCHIVE, EMPTY, OBJECT, detect_container, read_names
from evalstore.runs.read import read_run
from evalstore.runs.run_files import file_exists, read_embedded_samples, read_json_objects
from evalstore.runs.values import StoredOutput


class OutputFormat(NamedTuple):
    """One shape of outputs: what it is called, what tells a file of it, and how its entries are read."""

    name: str
    kind: str
    fits: Callable[[AbstractSet[str]], bool]
    read: Callable[[Path], Iterator[OutputEntry]]


def _read_json_lines(path: Path) -> Iterator[OutputEntry]:
    return _row_entries(read_json_objects(path), path)


def _read_embedded(path: Path) -> Iterator[OutputEntry]:
    return _row_entries(read_embedded_samples(path), path)


def _row_entries(rows: Iterable[tuple[int, Mapping[str, Any]]], path: Path) -> Iterator[OutputEntry]:
    for line, row in rows:
        found = read_stored_output(row, Place(str(path), line))
        model = found.model if found else row.get("model_id")
        series = Series(model if isinstance(model, str) else None)
        yield OutputEntry(series, found or MissingOutput(str(row["sample_id"]), line, "the model gave no output"))


_EEE = "rows or runs of Every Eval Ever"
_INSPECT = "logs of Inspect AI (.eval, .json)"
_PROMPTFOO = "results of promptfoo (.json, .jsonl)"

_LINES = OutputFormat('lines {"id", "output", "tool_calls"?}', OBJECT, {"id", "output"}.issubset, _read_json_lines)
_RUN = OutputFormat(_EEE, OBJECT, {"evaluation_results"}.issubset, _read_embedded)
OUTPUT_FORMATS = (
    _LINES,
    OutputFormat(_EEE, OBJECT, {"sample_id"}.issubset, _read_json_lines),
    _RUN,
    OutputFormat(_INSPECT, ARCHIVE, inspect_archive.is_log_archive, inspect_archive.read_log_archive),
    OutputFormat(_INSPECT, OBJECT, inspect_json.is_json_log, inspect_json.read_json_log),
    OutputFormat(_PROMPTFOO, OBJECT, promptfoo.is_result_file, promptfoo.read_results),
    OutputFormat(_PROMPTFOO, OBJECT, promptfoo.is_result_row, promptfoo.read_result_lines),
)
# A first line with one of these is a line that lacks something; reading it says what.
_ALMOST = frozenset({"id", "output", "schema_version"})


def read_outputs(path: Path, choice: SeriesFilter | None = None) -> Iterator[StoredOutput | MissingOutput]:
    """Yield the outputs of a file of any of the `SHAPES`, in its order, and in their places those that are missing.

    A file of several models, prompts or epochs is refused unless `choice` leaves one. A part that cannot be read is a
    `LoadError` at its line, or at its place in an archive.
    """
    shape = detect_format(path)
    for entry in filter_entries(partial(shape.read, path), choice or SeriesFilter(), str(path)):
        yield entry.output


def detect_format(path: Path) -> OutputFormat:
    """Return the shape of a file, told by its content; `LoadError` naming the shapes there are when it has none."""
    kind, names = detect_container(path), set[str]()
    for name in read_names(path, kind):
        names.add(name)
        for shape in OUTPUT_FORMATS:
            if shape.kind == kind and shape.fits(names):
                return shape
    guess = guess_source(kind, names)
    if kind == EMPTY or (names & _ALMOST and not guess):
        return _LINES
    raise LoadError(
        f"holds outputs in no shape that evalstore reads: {'; '.join(dict.fromkeys(shape.name for shape in OUTPUT_FORMATS))}",
        place=Place(str(path)),
        hint=f"it looks like {guess}" if guess else None,
    )


def find_samples(path: Path) -> Path:
    """Return the file with the outputs: `path` itself, or the rows beside it when `path` is the aggregate of a run."""
    if detect_format(path) is not _RUN:
        return path
    samples = read_run(path).samples
    if not file_exists(samples):
        raise LoadError(
            "the rows of this run do not lie beside it", place=Place(str(path)), hint=f"put {samples.name} there"
        )
    return samples


def find_label_doubts(path: Path) -> tuple[str, ...]:
    """Return where the aggregate of somebody else's run contradicts its label; of any other file there is no doubt."""
    run = read_run(path) if detect_format(path) is _RUN else None
    return run.notes if run and run.dataset is None else ()
