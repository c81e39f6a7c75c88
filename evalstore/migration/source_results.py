"""Turns each source into a result: detects the format, runs the reader, plans the files, pairs companions."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import PurePosixPath

from evalstore.documents import Document
from evalstore.errors import LoadError
from evalstore.migration.detect import SURE, FormatMatch, detect_format
from evalstore.migration.extraction import (
    NO_PROMPTS,
    JudgePrompts,
    LegacySource,
    find_companion_files,
    has_key_mention,
    parse_legacy,
)
from evalstore.migration.outcome import MigrationEntry, MigrationOutcome, MigrationSource
from evalstore.migration.plan import SourceContext, SourcePlan, make_entry
from evalstore.migration.readers import may_have_companions, run_reader
from evalstore.migration.sources import LegacyFile
from evalstore.migration.table import FormatTable

_NO_PLAN = SourcePlan({}, ())


@dataclass(frozen=True, slots=True)
class MigrationOptions:
    """What reading any source needs: the tables, the user's options, and what plans a source that was read."""

    tables: Sequence[FormatTable]
    is_forced: bool
    dialect: str | None
    find_prompts: Callable[[FormatTable], JudgePrompts] = lambda _: NO_PROMPTS
    plan: Callable[[SourceContext], SourcePlan] = lambda _: _NO_PLAN


@dataclass(frozen=True, slots=True)
class SourceResult:
    """One source and its plan; `skipped` if it has no known format and only its folder was named.

    `companions` are files whose cases came with this source. A file that may be such a companion `waits` until all
    other sources are read.
    """

    source: MigrationSource
    plan: SourcePlan
    skipped: bool = False
    companions: tuple[str, ...] = ()
    waits: bool = False


def read_sources(sources: Iterable[LegacyFile], options: MigrationOptions) -> Iterator[SourceResult]:
    """Yield the results of sources; a companion, whose cases came with a suite, is not migrated again."""
    waiting: list[tuple[LegacyFile, MigrationSource]] = []
    suites: dict[str, MigrationSource] = {}
    for file in sources:
        result = _read_source(file, options)
        if result.waits:
            waiting.append((file, result.source))
            continue
        # The first suite that includes a file owns it.
        suites = dict.fromkeys(result.companions, result.source) | suites
        yield result
    for file, source in waiting:
        suite = suites.get(file.name)
        if suite:
            yield SourceResult(_attribute_to_suite(source, suite), _NO_PLAN)
        else:
            yield _read_source(file, options, may_wait=False)


def _attribute_to_suite(source: MigrationSource, suite: MigrationSource) -> MigrationSource:
    reason = f"its cases come with {suite.file}"
    return replace(source, format=suite.format, dialect=suite.dialect, target=suite.target, reason=reason)


def _read_source(file: LegacyFile, options: MigrationOptions, *, may_wait: bool = True) -> SourceResult:
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
        # An unparsable file that mentions no root key of any format is not worth an entry.
        is_ours = any(has_key_mention(data, file.name, key) for table in options.tables for key in table.root_keys)
        return _refuse_broken(
            file, sha256, error, skipped=file.in_folder and not is_ours and not _has_suite_name(file, options)
        )
    match = detect_format(document.value, options.tables)
    source = MigrationSource(file.name, sha256, None, None, match.confidence, match.reason, also=match.also)
    if match.table is None or (match.confidence < SURE and not options.is_forced):
        return _pass_over(source, document, match, may_skip=file.in_folder and not _has_suite_name(file, options))
    # A list of raw cases may be included by a suite that is read later.
    if may_wait and may_have_companions(match.table) and isinstance(document.value, list):
        return SourceResult(source, _NO_PLAN, waits=True)
    companions: dict[str, Document] = {}
    dialect = options.dialect if options.dialect in match.table.dialects else None
    load = partial(_load_companion, file, companions)
    prompts = options.find_prompts(match.table)
    legacy = LegacySource(document, file.name, sha256, load, dialect, broken, prompts)
    return _extract_source(replace(source, format=match.table.format), legacy, match.table, companions, options)


def _extract_source(
    source: MigrationSource,
    legacy: LegacySource,
    table: FormatTable,
    companions: Mapping[str, Document],
    options: MigrationOptions,
) -> SourceResult:
    extraction = run_reader(legacy, table)
    plan = options.plan(SourceContext(extraction, legacy, table, companions))
    source = replace(source, dialect=extraction.dialect, target=plan.target)
    files = find_companion_files(extraction, companions, legacy.file) if plan.target else ()
    return SourceResult(source, plan, companions=tuple(files))


def _load_companion(file: LegacyFile, companions: dict[str, Document], path: str) -> Document | None:
    if path not in companions and (document := file.read_companion(path)):
        companions[path] = document
    return companions.get(path)


def _refuse_broken(file: LegacyFile, sha256: str, error: LoadError, *, skipped: bool = False) -> SourceResult:
    line = error.place.line if error.place else None
    reason = f"{error.message}; {error.hint}" if error.hint else error.message
    entry = MigrationEntry(file.name, "", line, MigrationOutcome.REFUSED, reasons=(reason,))
    source = MigrationSource(file.name, sha256, None, None, 0.0, error.message)
    return SourceResult(source, SourcePlan({}, () if skipped else (entry,)), skipped)


def _pass_over(source: MigrationSource, document: Document, match: FormatMatch, *, may_skip: bool) -> SourceResult:
    # A known foreign shape is reported even in a folder; an unknown file where it was named, or is called like a suite.
    if match.shape:
        return SourceResult(source, SourcePlan({}, (make_entry(document, (), match.shape.outcome, match.reason),)))
    if match.is_tie:
        return SourceResult(source, SourcePlan({}, (make_entry(document, (), MigrationOutcome.REFUSED, match.reason),)))
    if match.table:
        name = match.table.format
        reason = f"hardly {name}: {match.reason}; --from {name} takes it all the same"
        return SourceResult(source, SourcePlan({}, (make_entry(document, (), MigrationOutcome.UNMAPPED, reason),)))
    entry = make_entry(document, (), MigrationOutcome.REFUSED, match.reason)
    return SourceResult(source, SourcePlan({}, () if may_skip else (entry,)), skipped=may_skip)


def _has_suite_name(file: LegacyFile, options: MigrationOptions) -> bool:
    """Whether a file is called as the suites of a format are: no format takes it, and somebody will miss it."""
    return PurePosixPath(file.name).name in {table.named_by_folder for table in options.tables}
