"""Looks through the files of a store in several processes: each has some of them, or some rows of a large one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from evalstore.errors import EvalstoreError, LoadError
from evalstore.files import open_below
from evalstore.references.reading import expect_references
from evalstore.store import ArtifactStore
from evalstore.validation import KnownRules, ValidationSource, validate
from evalstore.validation.context import ValidationContext
from evalstore.validation.notes import get_mapping
from evalstore.validation.questions import LintedRows, lint_row_span, share_ids
from evalstore.validation.row_spans import RowSpan, cut_row_spans
from evalstore.validation.run import FileFindings, find_rows_path, lint_file, lint_files, name_rows_file
from evalstore.validation.sources import FileRole, ReadFile
from evalstore.workers import JobOptions, WorkerLostError

_ROUNDS = 2  # shares a worker: each reads all files, to know what the others are
_YAML_WEIGHT = 16  # a byte of an artifact takes as long as so many of rows


class LintUnit(NamedTuple):
    """A file by its index among those that were read, or a span of its rows; `weight` is about the work."""

    file_index: int
    span: RowSpan | None
    weight: int


@dataclass(frozen=True, slots=True)
class LintShare:
    """Some units of a validation, in words that any process can read; the store is None where there is none."""

    store: Path | None
    has_lock: bool
    sources: Sequence[ValidationSource]
    settings: Any
    today: date
    strict: bool
    known: KnownRules
    units: Sequence[LintUnit] = ()


def lint_in_processes(
    reads: Sequence[ReadFile], context: ValidationContext, *, share: LintShare, jobs: JobOptions
) -> Iterator[FileFindings]:
    """Yield the findings of each file, as `lint_files` does; in other processes where there is much to look through."""
    sizes = [_measure_rows(item) for item in reads]
    # Each process reads all artifacts, so that only rows are worth more of them.
    count = jobs.choose_jobs(sum(sizes))
    if count == 1:
        yield from lint_files(reads, context)
        return
    weights = [size + _weigh_artifact(item) for item, size in zip(reads, sizes, strict=True)]
    shares = list(_cut_shares(reads, weights, share, count))
    done = 0
    try:
        for found in _join_units(reads, context, shares, jobs, count):
            yield found
            done += 1
    except WorkerLostError:
        raise
    except EvalstoreError:  # said by this process, as if there were no other
        yield from lint_files(reads[done:], context)


def lint_share(share: LintShare) -> list[FileFindings | LintedRows]:
    """Look through the units of a share; what a worker runs."""
    found: list[FileFindings | LintedRows] = []

    def lint_units(reads: Sequence[ReadFile], context: ValidationContext) -> Iterator[FileFindings]:
        found.extend(_lint_unit(reads[unit.file_index], unit, context) for unit in share.units)
        return iter(())

    with ArtifactStore.open(share.store) if share.store else nullcontext() as opened:
        store = opened if opened is None or share.has_lock else opened.without_lock()
        judged = {"settings": share.settings, "today": share.today, "strict": share.strict, "known": share.known}
        validate(share.sources, lint=lint_units, **judged, **list_store_options(store))
    return found


def list_store_options(store: ArtifactStore | None) -> dict[str, Any]:
    """Return what `validate` is told of the store around the files (None: there is none)."""
    if store is None:
        return {"load": None}
    return {
        "load": store.load,
        "locked": store.lock.refs,
        "expect": partial(expect_references, store),
        "parse": store.documents.read,
    }


def _lint_unit(item: ReadFile, unit: LintUnit, context: ValidationContext) -> FileFindings | LintedRows:
    path, root = _find_rows(item), item.source.root
    if unit.span is None or path is None or root is None:
        return lint_file(item, context)
    defaults = get_mapping(item.artifact.document.value, "defaults") if item.artifact else None
    file = name_rows_file(item.source, path)
    return lint_row_span(root, path, file, unit.span, defaults=defaults, context=context)


def _join_units(
    reads: Sequence[ReadFile], context: ValidationContext, shares: Sequence[LintShare], jobs: JobOptions, count: int
) -> Iterator[FileFindings]:
    """Yield the findings of each file in order; where rows were dealt out, with what was found in them."""
    results = chain.from_iterable(jobs.map_in_processes(lint_share, shares, count))
    units = [unit for share in shares for unit in share.units]
    rows: list[LintedRows] = []
    for place, (unit, found) in enumerate(zip(units, results, strict=True), start=1):
        if isinstance(found, FileFindings):
            yield found
            continue
        rows.append(found)
        if place == len(units) or units[place].file_index != unit.file_index:
            item = reads[unit.file_index]
            file = name_rows_file(item.source, _find_rows(item) or "")
            # An id in two spans is seen by a process that has both.
            if not share_ids(rows):
                context.linted_rows[file] = rows
            yield lint_file(item, context)
            context.linted_rows.pop(file, None)
            rows = []


def _cut_shares(reads: Sequence[ReadFile], weights: Sequence[int], share: LintShare, jobs: int) -> Iterator[LintShare]:
    size = max(1, -(-sum(weights) // (_ROUNDS * jobs)))
    units, weight = list[LintUnit](), 0
    for unit in (unit for index, item in enumerate(reads) for unit in _cut_file(index, item, weights[index], size)):
        units.append(unit)
        weight += unit.weight
        if weight >= size:
            yield replace(share, units=units)
            units, weight = [], 0
    if units:
        yield replace(share, units=units)


def _cut_file(index: int, item: ReadFile, weight: int, size: int) -> Iterator[LintUnit]:
    path, root = _find_rows(item), item.source.root
    spans = list[RowSpan]()
    if path and root and weight > size:
        with suppress(LoadError):  # a finding
            spans = cut_row_spans(root, path, size)
    if len(spans) > 1:
        yield from (LintUnit(index, span, span.end - span.start) for span in spans)
    else:
        yield LintUnit(index, None, weight)


def _weigh_artifact(item: ReadFile) -> int:
    return len(item.document.text) * _YAML_WEIGHT if item.document else 1


def _measure_rows(item: ReadFile) -> int:
    """Return the bytes of the rows that are looked through with a file."""
    path, root = _find_rows(item), item.source.root
    if path and root:
        with suppress(LoadError), open_below(root, path) as file:  # what cannot be opened is a finding
            return file.seek(0, 2)
    return 0


def _find_rows(item: ReadFile) -> str | None:
    """Return the path of the rows that are looked through with a file; None without any."""
    return item.source.path if item.source.role is FileRole.ROWS else find_rows_path(item)
