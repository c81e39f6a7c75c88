"""The outputs of a file, streamed in its order, whatever shape they have; grades nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from evalstore.errors import LoadError, Place
from evalstore.runs.aggregate import file_exists, read_embedded_samples
from evalstore.runs.choice import SeriesFilter, filter_entries
from evalstore.runs.imports import inspect_archive, inspect_json, promptfoo
from evalstore.runs.imports.entry import Entry, LeftOut, Series
from evalstore.runs.imports.guess import guess_of
from evalstore.runs.imports.head import ARCHIVE, EMPTY, OBJECT, kind_of, names_in
from evalstore.runs.lines import read_objects
from evalstore.runs.read import read_run
from evalstore.runs.recorded import read_stored_output
from evalstore.runs.values import StoredOutput


class Shape(NamedTuple):
    """One shape of outputs: what it is called, what tells a file of it, and how its entries are read."""

    name: str
    kind: str
    fits: Callable[[AbstractSet[str]], bool]
    read: Callable[[Path], Iterator[Entry]]


def _lines(path: Path) -> Iterator[Entry]:
    return _recorded(read_objects(path), path)


def _held(path: Path) -> Iterator[Entry]:
    return _recorded(read_embedded_samples(path), path)


def _recorded(rows: Iterable[tuple[int, Mapping[str, Any]]], path: Path) -> Iterator[Entry]:
    for line, row in rows:
        found = read_stored_output(row, Place(str(path), line))
        model = found.model if found else row.get("model_id")
        series = Series(model if isinstance(model, str) else None)
        yield Entry(series, found or LeftOut(str(row["sample_id"]), line, "the model gave no output"))


_EEE = "rows or runs of Every Eval Ever"
_INSPECT = "logs of Inspect AI (.eval, .json)"
_PROMPTFOO = "results of promptfoo (.json, .jsonl)"

_LINES = Shape('lines {"id", "output", "tool_calls"?}', OBJECT, {"id", "output"}.issubset, _lines)
_RUN = Shape(_EEE, OBJECT, {"evaluation_results"}.issubset, _held)
SHAPES = (
    _LINES,
    Shape(_EEE, OBJECT, {"sample_id"}.issubset, _lines),
    _RUN,
    Shape(_INSPECT, ARCHIVE, inspect_archive.fits, inspect_archive.read),
    Shape(_INSPECT, OBJECT, inspect_json.fits, inspect_json.read),
    Shape(_PROMPTFOO, OBJECT, promptfoo.fits, promptfoo.read),
    Shape(_PROMPTFOO, OBJECT, promptfoo.fits_row, promptfoo.read_lines),
)
# A first line with one of these is a line that lacks something; reading it says what.
_ALMOST = frozenset({"id", "output", "schema_version"})


def read_outputs(path: Path, choice: SeriesFilter | None = None) -> Iterator[StoredOutput | LeftOut]:
    """Yield the outputs of a file of any of the `SHAPES`, in its order, and in their places those that are missing.

    A file of several models, prompts or epochs is refused unless `choice` leaves one. A part that cannot be read is a
    `LoadError` at its line, or at its place in an archive.
    """
    shape = shape_of(path)
    for entry in filter_entries(partial(shape.read, path), choice or SeriesFilter(), str(path)):
        yield entry.found


def shape_of(path: Path) -> Shape:
    """Return the shape of a file, told by its content; `LoadError` naming the shapes there are when it has none."""
    kind, names = kind_of(path), set[str]()
    for name in names_in(path, kind):
        names.add(name)
        for shape in SHAPES:
            if shape.kind == kind and shape.fits(names):
                return shape
    guess = guess_of(kind, names)
    if kind == EMPTY or (names & _ALMOST and not guess):
        return _LINES
    raise LoadError(
        f"holds outputs in no shape that evalstore reads: {'; '.join(dict.fromkeys(shape.name for shape in SHAPES))}",
        place=Place(str(path)),
        hint=f"it looks like {guess}" if guess else None,
    )


def samples_of(path: Path) -> Path:
    """Return the file with the outputs: `path` itself, or the rows beside it when `path` is the aggregate of a run."""
    if shape_of(path) is not _RUN:
        return path
    samples = read_run(path).samples
    if not file_exists(samples):
        raise LoadError(
            "the rows of this run do not lie beside it", place=Place(str(path)), hint=f"put {samples.name} there"
        )
    return samples


def doubts_of(path: Path) -> tuple[str, ...]:
    """Return where the aggregate of somebody else's run contradicts its label; of any other file there is no doubt."""
    run = read_run(path) if shape_of(path) is _RUN else None
    return run.notes if run and run.dataset is None else ()
