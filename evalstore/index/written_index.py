"""Writes the rows of many stores into one file, atomically; a file that is no index is left alone."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from evalstore.documents import read_row
from evalstore.errors import EvalstoreError, LoadError, Place, RefusedError, UsageError
from evalstore.index.columns import COLUMNS, IndexRow, RecordType
from evalstore.index.store_rows import iterate_store_rows, make_problem
from evalstore.model import Severity
from evalstore.runs.row_formats import JSON_LINES, PARQUET, find_row_format, read_lines
from evalstore.runs.row_tables import write_json_rows, write_parquet_rows
from evalstore.runs.temporary_files import replace_file
from evalstore.store.presence import walk_stores

_FORMATS = {JSON_LINES.suffix: write_json_rows, PARQUET.suffix: write_parquet_rows}
_KEYS = frozenset({"record", "store"})


@dataclass(frozen=True, slots=True)
class StoreFolder:
    """A store by the name that it has in the index; with `error` none was found there."""

    name: str
    path: Path
    error: EvalstoreError | None = None


@dataclass(frozen=True, slots=True)
class IndexProblem:
    """What could not be read of a store; `severity` is a warning where nothing is missing in the index for it."""

    store: str
    severity: Severity
    message: str
    file: str | None = None
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class WrittenIndex:
    """The file that was written, how many rows it has of each record, and what could not be read."""

    out: Path
    rows: Mapping[str, int]
    problems: tuple[IndexProblem, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether everything could be read that the index should have."""
        return all(problem.severity is not Severity.ERROR for problem in self.problems)


def find_store_folders(directory: Path, names: Iterable[str]) -> list[StoreFolder]:
    """Return the stores in and below the folders of these names, each once, in order; a name relative to `directory`.

    A folder without a store, and one that cannot be listed, is one with an error.
    """
    found: dict[Path, StoreFolder] = {}
    for name in names:
        errors: list[OSError] = []
        top = directory / name
        if not top.is_dir():
            found[top] = StoreFolder(name, top, LoadError("there is no such folder"))
            continue
        stores = list(walk_stores(top, errors.append))
        for path in stores:
            shown = os.path.normpath(Path(name) / path.relative_to(top))
            found.setdefault(path.resolve(), StoreFolder(shown, path))
        for error in errors:
            path = Path(os.fsdecode(error.filename or top))
            reason = LoadError(f"cannot be listed: {(error.strerror or str(error)).lower()}")
            found[path] = StoreFolder(os.path.normpath(Path(name) / path.relative_to(top)), path, reason)
        if not stores and not errors:
            hint = "a store has evalstore.yaml, or is a repository with artifacts; five folders deep are searched"
            found[top] = StoreFolder(os.path.normpath(name), top, LoadError("no store is here", hint=hint))
    return list(found.values())


def write_index(
    folders: Sequence[StoreFolder],
    out: Path,
    *,
    runs: Path,
    today: date,
    watch: Callable[[Sequence[Any]], Iterable[Any]] = iter,
) -> WrittenIndex:
    """Write the rows of stores into `out`, in place of an index that is there; the suffix says in which format.

    `runs` is the folder of runs in each store; `watch` wraps the iteration over the stores (a progress bar). Raises
    `RefusedError` for a file that is no index, and where no store can be read at all.
    """
    if out.suffix not in _FORMATS:
        raise UsageError("an index is written as .parquet or .jsonl", hint="name the file so: --out index.parquet")
    if runs.is_absolute() or ".." in runs.parts:
        raise UsageError(f"--runs names a folder in each store, and {runs} leads out of it")
    find_row_format(out).require()
    _require_own_file(out)
    counts, problems = Counter[str](), list[IndexProblem]()

    def iterate_counted() -> Iterator[IndexRow]:
        for folder in watch(folders):
            for row in _iterate_rows(folder, runs, today):
                counts[row["record"]] += 1
                if row["record"] == RecordType.PROBLEM:
                    facts = (row.get(name) for name in ("severity", "message", "file", "hint"))
                    problems.append(IndexProblem(folder.name, *facts))  # type: ignore[arg-type]  # as make_problem has them
                yield {**row, "store": folder.name}
        if not counts[RecordType.STORE]:
            first = problems[0]
            raise RefusedError(
                f"no store can be read: {first.message}", place=Place(first.store), hint=first.hint or ""
            )

    with replace_file(out) as file:
        _FORMATS[out.suffix](iterate_counted(), {name: column.type for name, column in COLUMNS.items()}, file)
    return WrittenIndex(out, {record: counts[record] for record in RecordType}, tuple(problems))


def _iterate_rows(folder: StoreFolder, runs: Path, today: date) -> Iterator[IndexRow]:
    if folder.error:
        yield make_problem(folder.error)
        return
    try:
        yield from iterate_store_rows(folder.path, runs, today)
    except EvalstoreError as error:
        yield make_problem(error)


def _require_own_file(out: Path) -> None:
    """Raise `RefusedError` for a file that nobody takes for an index: it would be lost."""
    if not os.path.lexists(out):
        return
    try:
        first = None if out.is_symlink() else next(read_lines(out), (1, b'{"record": "", "store": ""}'))
        row = read_row(first[1], str(out), 1) if first else None
    except LoadError:
        row = None
    if not (isinstance(row, dict) and row.keys() >= _KEYS):
        raise RefusedError(
            "is no index, and nothing else is overwritten", place=Place(str(out)), hint="name another file"
        )
