"""Reads stored outputs of any known format as a stream, in file order; grades nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

from evalstore.documents import find_plain_id
from evalstore.errors import LoadError
from evalstore.runs.formats import (
    EVERY_EVAL_EVER,
    PLAIN_LINES,
    RUN_FORMAT,
    FileFormat,
    detect_format,
)
from evalstore.runs.imports.entry import MissingOutput, OutputEntry
from evalstore.runs.imports.series_filter import SeriesFilter, SeriesNames, filter_entries
from evalstore.runs.packed import is_packed
from evalstore.runs.read import read_run
from evalstore.runs.row_formats import cut_rows, read_lines
from evalstore.runs.run_files import find_aggregate, is_existing_file, require_rows_file
from evalstore.runs.spans import CutFile, OutputSpan, keep_whole
from evalstore.runs.values import StoredOutput


def read_outputs(
    path: Path, choice: SeriesFilter | None = None
) -> Iterator[StoredOutput | MissingOutput]:
    """Yield the outputs of a file in any of `FORMATS`, in file order.

    A missing output keeps its place. Raises `RefusedError` for a file of several series of which
    `choice` does not leave exactly one, and `LoadError` at the line (or archive member) that cannot
    be read.
    """
    shape = detect_format(path)
    read = partial(_read_entries, shape, path)
    # Without outputs there is no series to choose: each row says itself that it has no output.
    chosen = (
        filter_entries(read, choice or SeriesFilter(), str(path)) if shape.has_outputs else read()
    )
    for entry in chosen:
        yield entry.output


def read_output_ids(path: Path, choice: SeriesFilter) -> Iterator[str]:
    """Yield the id of every output that `read_outputs` yields, in any order, and perhaps more.

    For speed, lines that begin with their id are not parsed.
    """
    if detect_format(path) is PLAIN_LINES and choice == SeriesFilter(any_model=choice.any_model):
        for _, line in read_lines(path):
            if (id_ := find_plain_id(line)) is None:
                break
            yield id_
        else:
            return
    for found in read_outputs(path, choice):
        if isinstance(found, StoredOutput):
            yield found.id


def _read_entries(
    shape: FileFormat, path: Path, span: OutputSpan | None = None
) -> Iterator[OutputEntry]:
    """Yield the entries of a file, or of a span of it if its format can be cut."""
    spans = [span] if span and _can_be_cut(shape, path) else []
    return shape.require_reader()(path, *spans)


def _can_be_cut(shape: FileFormat, path: Path) -> bool:
    return shape.has_rows and not is_packed(path)


def read_output_span(
    path: Path, span: OutputSpan, choice: SeriesFilter, names: SeriesNames
) -> Iterator[StoredOutput | MissingOutput]:
    """Yield the outputs of a span of a file, like `read_outputs`; adds their series to `names`.

    Joining the `names` of all spans shows whether together they have one series.
    """
    shape = detect_format(path)
    read = partial(_read_entries, shape, path, span)
    for entry in filter_entries(read, choice, str(path), names):
        yield entry.output


def cut_outputs(path: Path, size: int) -> CutFile:
    """Cut a file of outputs into spans of about `size` bytes, or one if it cannot be cut."""
    return cut_rows(path, size) if _can_be_cut(detect_format(path), path) else keep_whole(path)


def find_samples(path: Path) -> Path:
    """Return the file with the outputs: `path`, or the rows if it names a run."""
    path = _open_folder(path)
    if detect_format(path) is not RUN_FORMAT:
        return path
    return require_rows_file(path, read_run(path).samples)


def _open_folder(path: Path) -> Path:
    return find_aggregate(path) if path.is_dir() else path


def is_bare_outputs(path: Path) -> bool:
    """Whether a file of outputs belongs to no run: it is not an aggregate, and none names it."""
    if not is_existing_file(path):
        return False
    try:
        shape = detect_format(path)
    except LoadError:
        return False  # reading it as a run will say what is wrong
    if shape is RUN_FORMAT or not shape.has_outputs:
        return False
    with suppress(LoadError):
        return find_aggregate(path) == path
    return True


def find_log_status(path: Path) -> str:
    """Return what ended the log of these outputs early; empty for a complete one."""
    path = _open_folder(path)
    shape = detect_format(path)
    if shape.tool != EVERY_EVAL_EVER:
        return shape.read_facts(path).status
    with suppress(LoadError):  # rows without an aggregate are bare outputs
        aggregate = find_aggregate(path)
        return read_run(aggregate).log_status if aggregate != path or shape is RUN_FORMAT else ""
    return ""


def find_label_doubts(path: Path) -> tuple[str, ...]:
    """Return where another tool's aggregate contradicts its version label; else empty."""
    run = read_run(path) if detect_format(_open_folder(path)) is RUN_FORMAT else None
    return run.notes if run and run.dataset is None else ()
