"""Turns each source into a result: detects the format, reads, plans files, pairs companions."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import PurePosixPath
from typing import Any

from evalstore.documents import Document
from evalstore.errors import EvalstoreError, LoadError
from evalstore.migration.case_reading import refuse_unscored
from evalstore.migration.dataset_draft import SourceContext
from evalstore.migration.detect import SURE, FormatMatch, count_cases, detect_format, take_format
from evalstore.migration.extraction import (
    JudgePrompts,
    LegacySource,
    find_companion_files,
    make_entry,
)
from evalstore.migration.legacy_files import has_key_mention, parse_legacy
from evalstore.migration.outcome import MigrationEntry, MigrationOutcome, MigrationSource
from evalstore.migration.plan import SourcePlan
from evalstore.migration.readers import may_have_companions, run_reader
from evalstore.migration.sources import LegacyFile
from evalstore.migration.table import FormatTable, load_tool_shapes
from evalstore.runs.formats import FileFormat, find_format

_NO_PLAN = SourcePlan({}, ())


@dataclass(frozen=True, slots=True)
class ReadingContext:
    """What reading any source needs: the tables, the options, and what plans a source.

    `last_dialects` are those of earlier migrations, by the format and the name of a file. `matches`
    are the formats found so far, by the name and the hash of a file, because every source is read
    twice.
    """

    tables: Sequence[FormatTable]
    is_forced: bool
    dialect: str | None
    prompts: Mapping[str, JudgePrompts]
    last_dialects: Mapping[tuple[str, str], str] = field(default_factory=dict)
    plan: Callable[[SourceContext], SourcePlan] = lambda _: _NO_PLAN
    matches: dict[tuple[str, str], FormatMatch] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SourceResult:
    """One source and its plan; `skipped` if it has no known format and only its folder was named.

    `companions` are files whose cases came with this source. A file that may be such a companion
    `waits` until all other sources have been read. `is_beside`: a suite's run wrote it and it is in
    a folder, so it is skipped next to a suite.
    """

    source: MigrationSource
    plan: SourcePlan
    skipped: bool = False
    companions: tuple[str, ...] = ()
    waits: bool = False
    is_beside: bool = False


def read_sources(sources: Iterable[LegacyFile], context: ReadingContext) -> Iterator[SourceResult]:
    """Yield the results of sources.

    A companion, whose cases came with a suite, is not migrated again.
    """
    waiting: list[tuple[LegacyFile, MigrationSource]] = []
    suites: dict[str, MigrationSource] = {}
    for file in sources:
        result = _read_source(file, context)
        if result.waits:
            waiting.append((file, result.source))
            continue
        # The first suite that includes a file owns it.
        suites = dict.fromkeys(result.companions, result.source) | suites
        yield result
    for file, source in waiting:
        if suite := suites.get(file.name):
            reason = f"its cases come with {suite.file}"
            taken = replace(
                source,
                format=suite.format,
                dialect=suite.dialect,
                target=suite.target,
                reason=reason,
            )
            yield SourceResult(taken, _NO_PLAN)
        else:
            yield _read_source(file, context, may_wait=False)


def _read_source(
    file: LegacyFile, context: ReadingContext, *, may_wait: bool = True
) -> SourceResult:
    if file.skip_reason:
        source = MigrationSource(file.name, "", None, None, 1.0, file.skip_reason)
        return SourceResult(source, _NO_PLAN, skipped=True)
    try:
        data = file.read()
    except LoadError as error:
        # A file that the user named must be readable; one in a folder becomes an entry.
        if not file.in_folder:
            raise
        return _refuse_broken(file, "", error)
    sha256 = hashlib.sha256(data).hexdigest()
    try:
        document, broken = parse_legacy(data, file.name)
    except LoadError as error:
        if not file.in_folder and (shape := _find_results(file)):
            return _refuse_results(file, sha256, shape)
        # An unparsable file that mentions no root key of any format is not worth an entry.
        keys = chain.from_iterable(table.root_keys for table in context.tables)
        is_ours = any(has_key_mention(data, file.name, key) for key in keys)
        skipped = file.in_folder and not is_ours and not _has_suite_name(file, context)
        return _refuse_broken(file, sha256, error, skipped=skipped)
    loaded: dict[str, Document] = {}
    load_named = partial(_load_companion, file, loaded)
    value, list_files = _follow_lists(document.value, file, context.tables, load_named)
    match = _find_match(value, file, sha256, context)
    source = MigrationSource(
        file.name, sha256, None, None, match.confidence, match.reason, also=match.also
    )
    # A list of raw cases may be included by a suite that is read later.
    is_known = match.shape or (match.table and may_have_companions(match.table))
    if may_wait and is_known and isinstance(document.value, list):
        return SourceResult(source, _NO_PLAN, waits=True)
    if match.table is None or (match.confidence < SURE and not context.is_forced):
        may_skip = file.in_folder and not _has_suite_name(file, context)
        result = _pass_over(
            source, document, match, count_cases(value, match, context.tables), may_skip=may_skip
        )
        if not match.shape:
            return result
        is_beside = file.in_folder and match.shape.holds_results
        return replace(result, companions=list_files, is_beside=is_beside)
    companions: dict[str, Document] = {}
    dialect = context.dialect if context.dialect in match.table.dialects else None
    load = partial(_take_companion, load_named, companions)
    prompts = context.prompts[match.table.format]
    last = context.last_dialects.get((match.table.format, file.name), "")
    legacy = LegacySource(
        document, file.name, sha256, load, dialect, broken, prompts, file.list_companions, last
    )
    return _extract_source(
        replace(source, format=match.table.format), legacy, match.table, companions, context
    )


def _extract_source(
    source: MigrationSource,
    legacy: LegacySource,
    table: FormatTable,
    companions: Mapping[str, Document],
    context: ReadingContext,
) -> SourceResult:
    extraction = refuse_unscored(run_reader(legacy, table))
    plan = context.plan(SourceContext(extraction, legacy, table, companions))
    source = replace(source, dialect=extraction.dialect, target=plan.target)
    files = find_companion_files(extraction, companions, legacy.file) if plan.target else ()
    return SourceResult(source, plan, companions=tuple(files))


def _load_companion(file: LegacyFile, loaded: dict[str, Document], path: str) -> Document | None:
    if path not in loaded and (document := file.read_companion(path)):
        loaded[path] = document
    return loaded.get(path)


def _take_companion(
    load: Callable[[str], Document | None], companions: dict[str, Document], path: str
) -> Document | None:
    """Return a companion file, and note that its source reads it."""
    if document := load(path):
        companions[path] = document
    return document


def _follow_lists(
    value: Any,
    file: LegacyFile,
    tables: Sequence[FormatTable],
    load: Callable[[str], Document | None],
) -> tuple[Any, tuple[str, ...]]:
    """Return a document with the rows of the files that its lists name.

    The names of these files come with it. It is judged in this form, because only those files may
    show what the cases are.
    """
    keys = {key for table in tables if may_have_companions(table) for key in table.lists if key}
    named = (
        {key: item for key, item in value.items() if key in keys} if isinstance(value, dict) else {}
    )
    files: dict[str, None] = {}
    followed: dict[str, list[Any]] = {}
    for key, item in named.items():
        for case in item if isinstance(item, list) else [item]:
            path = case.get("include") if isinstance(case, dict) else case
            paths = file.list_companions(path) if isinstance(path, str) else []
            values = [document.value for one in paths if (document := load(one))]
            rows = followed.setdefault(key, [])
            rows += chain.from_iterable(value for value in values if isinstance(value, list))
            rows += [case] if isinstance(case, dict) else []
            files |= dict.fromkeys(filter(None, map(file.name_companion, paths)))
    has_paths = any(isinstance(item, str | list) for item in named.values())
    return {**value, **followed} if files and has_paths else value, tuple(files)


def _find_match(value: Any, file: LegacyFile, sha256: str, context: ReadingContext) -> FormatMatch:
    if context.is_forced:
        return take_format(value, context.tables[0], is_named=not file.in_folder)
    if (file.name, sha256) not in context.matches:
        match = detect_format(value, context.tables)
        # The weights explain it, and are long.
        context.matches[file.name, sha256] = replace(match, weights=())
    return context.matches[file.name, sha256]


def _refuse_broken(
    file: LegacyFile, sha256: str, error: LoadError, *, skipped: bool = False
) -> SourceResult:
    line = error.place.line if error.place else None
    reason = f"{error.message}; {error.hint}" if error.hint else error.message
    tags = ((shape.tag, shape.reason) for shape in load_tool_shapes() if shape.tag)
    reason = next((why for tag, why in tags if f"the tag {tag} " in error.message), reason)
    entry = MigrationEntry(file.name, "", line, MigrationOutcome.REFUSED, reasons=(reason,))
    source = MigrationSource(file.name, sha256, None, None, 0.0, error.message)
    return SourceResult(source, SourcePlan({}, () if skipped else (entry,)), skipped)


def _find_results(file: LegacyFile) -> FileFormat | None:
    """Return the type of a file that cannot be a suite, such as an archive or a table.

    Returns None for any other file, and for one without a row.
    """
    with suppress(EvalstoreError):
        shape = find_format(file.path).shape
        if shape and shape.read_entries and any(True for _ in shape.read_entries(file.path)):
            return shape
    return None


def _refuse_results(file: LegacyFile, sha256: str, shape: FileFormat) -> SourceResult:
    # Files of the same type are one line of the report.
    use = shape.describe_use(file.name).replace(shlex.quote(file.name), "FILE")
    reason = f"it holds {use}, and no suite"
    entry = MigrationEntry(file.name, "", None, MigrationOutcome.UNMAPPED, reasons=(reason,))
    source = MigrationSource(file.name, sha256, None, None, 1.0, reason)
    return SourceResult(source, SourcePlan({}, (entry,)))


def _pass_over(
    source: MigrationSource,
    document: Document,
    match: FormatMatch,
    cases: int | None,
    *,
    may_skip: bool,
) -> SourceResult:
    # A known foreign shape is reported even in a folder; an unknown file only if it was named, or
    # is called like a suite.
    outcome, reason = MigrationOutcome.REFUSED, match.reason
    if match.shape:
        outcome = match.shape.outcome
    elif match.table:
        name = match.table.format
        outcome, reason = (
            MigrationOutcome.UNMAPPED,
            f"probably not {name}: {reason}; --from {name} reads it anyway",
        )
    may_skip = may_skip and not (match.shape or match.is_tie or match.table)
    entry = make_entry(document, (), outcome, reason, cases=cases)
    return SourceResult(source, SourcePlan({}, () if may_skip else (entry,)), skipped=may_skip)


def _has_suite_name(file: LegacyFile, context: ReadingContext) -> bool:
    """Whether a file is named like a suite: if no format takes it, somebody will miss it."""
    return PurePosixPath(file.name).name in {table.named_by_folder for table in context.tables}
