"""The outputs of a file, streamed in its order; grades nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from evalstore.errors import LoadError, Place
from evalstore.runs.aggregate import is_aggregate, lies, read_records
from evalstore.runs.read import read_run
from evalstore.runs.recorded import recorded_of
from evalstore.runs.values import Recorded


def read_outputs(path: Path) -> Iterator[Recorded]:
    """Yield the outputs of a JSONL file of `{id, output, tool_calls?}` lines or Every Eval Ever rows, in its order.

    An aggregate of the first versions gives the samples that it holds. A row whose model gave no output is left out; a
    line of another shape is a `LoadError` at file:line.
    """
    for line, row in read_records(path):
        recorded = recorded_of(row, Place(str(path), line))
        if recorded is not None:
            yield recorded


def samples_of(path: Path) -> Path:
    """Return the file with the rows: `path` itself, or what lies beside it when `path` is the aggregate of a run."""
    if not is_aggregate(path):
        return path
    samples = read_run(path).samples
    if not lies(samples):
        raise LoadError(
            "the rows of this run do not lie beside it", place=Place(str(path)), hint=f"put {samples.name} there"
        )
    return samples


def doubts_of(path: Path) -> tuple[str, ...]:
    """Return where the aggregate of somebody else's run contradicts its label; of any other file there is no doubt."""
    run = read_run(path) if is_aggregate(path) else None
    return run.notes if run and run.dataset is None else ()
