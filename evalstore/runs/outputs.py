"""Reads stored outputs of any known format as a stream, in file order; grades nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from evalstore.errors import LoadError, Place
from evalstore.runs.eee_rows import OUTPUT_SHAPES, read_stored_output
from evalstore.runs.imports import promptfoo
from evalstore.runs.imports.detect import ARCHIVE, EMPTY, OBJECT, detect_container, guess_source, read_names
from evalstore.runs.imports.entry import MissingOutput, OutputEntry, Series
from evalstore.runs.imports.inspect_log import is_json_log, is_log_archive, read_json_log, read_log_archive
from evalstore.runs.read import read_run
from evalstore.runs.row_formats import cut_rows
from evalstore.runs.run_files import is_existing_file, read_embedded_samples, read_json_objects
from evalstore.runs.series_filter import SeriesFilter, SeriesNames, filter_entries
from evalstore.runs.spans import CutFile, OutputSpan, keep_whole
from evalstore.runs.values import StoredOutput

SpanReader = Callable[[Path, OutputSpan], Iterator[OutputEntry]]


class OutputFormat(NamedTuple):
    """A file format of stored outputs: its name, how to recognise it by its keys, and how to read its entries.

    `cut` takes the file and the wanted size of a span in bytes; `read_span` reads one span (None: there is only one).
    """

    name: str
    kind: str
    fits: Callable[[AbstractSet[str]], bool]
    read: Callable[[Path], Iterator[OutputEntry]]
    cut: Callable[[Path, int], CutFile] = keep_whole
    read_span: SpanReader | None = None


def _read_json_lines(path: Path, span: OutputSpan | None = None) -> Iterator[OutputEntry]:
    return _row_entries(read_json_objects(path, span), path)


def _read_embedded(path: Path) -> Iterator[OutputEntry]:
    return _row_entries(read_embedded_samples(path), path)


def _row_entries(rows: Iterable[tuple[int, Mapping[str, Any]]], path: Path) -> Iterator[OutputEntry]:
    file, known = str(path), dict[str | None, Series]()
    for line, row in rows:
        found = read_stored_output(row, Place(file, line))
        model = found.model if found else row.get("model_id")
        name = model if isinstance(model, str) else None
        series = known.get(name) or known.setdefault(name, Series(name))
        yield OutputEntry(series, found or MissingOutput(str(row["sample_id"]), line, "the model gave no output"))


_EEE = "rows or runs of Every Eval Ever"
_INSPECT = "logs of Inspect AI (.eval, .json)"
_PROMPTFOO = "results of promptfoo (.json, .jsonl)"

_LINES = OutputFormat(
    'lines {"id", "output", "tool_calls"?, "sample"?}',
    OBJECT,
    {"id", "output"}.issubset,
    _read_json_lines,
    cut_rows,
    _read_json_lines,
)
_RUN = OutputFormat(_EEE, OBJECT, {"evaluation_results"}.issubset, _read_embedded)
OUTPUT_FORMATS = (
    _LINES,
    OutputFormat(_EEE, OBJECT, {"sample_id"}.issubset, _read_json_lines, cut_rows, _read_json_lines),
    _RUN,
    OutputFormat(_INSPECT, ARCHIVE, is_log_archive, read_log_archive),
    OutputFormat(_INSPECT, OBJECT, is_json_log, read_json_log),
    OutputFormat(_PROMPTFOO, OBJECT, promptfoo.is_result_file, promptfoo.read_results),
    OutputFormat(_PROMPTFOO, OBJECT, promptfoo.is_result_row, promptfoo.read_result_lines),
)
# A first line with one of these keys is an incomplete line of the first format; reading it names what is missing.
_ALMOST = frozenset({"id", "output", "schema_version"})


def read_outputs(path: Path, choice: SeriesFilter | None = None) -> Iterator[StoredOutput | MissingOutput]:
    """Yield the outputs of a file in any of `OUTPUT_FORMATS`, in file order; a missing output stands in its place.

    Raises `RefusedError` for a file of several models, prompts or epochs of which `choice` does not leave one, and
    `LoadError` at the line (or archive member) that cannot be read.
    """
    shape = detect_format(path)
    for entry in filter_entries(partial(shape.read, path), choice or SeriesFilter(), str(path)):
        yield entry.output


def read_output_span(
    path: Path, span: OutputSpan, choice: SeriesFilter, names: SeriesNames
) -> Iterator[StoredOutput | MissingOutput]:
    """Yield the outputs of one span of a file, as `read_outputs` does of the whole; `names` collects their series.

    Whether all spans together hold one series, `names` says when they are joined.
    """
    shape = detect_format(path)
    read = partial(shape.read_span, path, span) if shape.read_span else partial(shape.read, path)
    for entry in filter_entries(read, choice, str(path), names):
        yield entry.output


def cut_outputs(path: Path, size: int) -> CutFile:
    """Cut a file of outputs into spans of about `size` bytes, or of one where its format cannot be cut."""
    return detect_format(path).cut(path, size)


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


def find_samples(path: Path) -> Path:
    """Return the file that holds the outputs: `path`, or the rows beside it when `path` is the aggregate of a run."""
    if detect_format(path) is not _RUN:
        return path
    samples = read_run(path).samples
    if not is_existing_file(samples):
        raise LoadError(
            "the rows of this run do not lie beside it", place=Place(str(path)), hint=f"put {samples.name} there"
        )
    return samples


def find_label_doubts(path: Path) -> tuple[str, ...]:
    """Return where a foreign run's aggregate contradicts its version label; empty for every other file."""
    run = read_run(path) if detect_format(path) is _RUN else None
    return run.notes if run and run.dataset is None else ()
