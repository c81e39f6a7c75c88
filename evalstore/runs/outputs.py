"""The outputs of a file, streamed in its order; grades nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from evalstore.documents import LINE_LIMIT
from evalstore.errors import Place
from evalstore.files import open_named
from evalstore.runs.lines import read_objects
from evalstore.runs.read import read_run
from evalstore.runs.recorded import recorded_of
from evalstore.runs.values import Recorded


def read_outputs(path: Path) -> Iterator[Recorded]:
    """Yield the outputs of a JSONL file of `{id, output, tool_calls?}` lines or Every Eval Ever rows, in its order.

    A row whose model gave no output is left out; a line of another shape is a `LoadError` at file:line.
    """
    for line, row in read_objects(path):
        recorded = recorded_of(row, Place(str(path), line))
        if recorded is not None:
            yield recorded


def samples_of(path: Path) -> Path:
    """Return the JSONL to read: `path` itself, or the rows beside it when `path` is the aggregate JSON of a run."""
    with open_named(path) as file:
        head = file.readline(LINE_LIMIT)
    # An aggregate is indented, or one object that names its results; inside a text the quotes would be escaped.
    return read_run(path).samples if head.strip() == b"{" or b'"evaluation_results"' in head else path
