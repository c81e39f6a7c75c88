"""What becomes of each source: which format it has, what its reader takes, and which file comes with another."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from evalstore.documents import Document
from evalstore.errors import LoadError
from evalstore.migration.detect import SURE, FormatMatch, detect_format
from evalstore.migration.gathered import find_companion_files
from evalstore.migration.opened import mentions_key, parse_legacy
from evalstore.migration.outcome import MigrationEntry, MigrationOutcome, MigrationSource
from evalstore.migration.plan import SourcePlan, make_entry, plan_source
from evalstore.migration.readers import gathers
from evalstore.migration.readers import read as take
from evalstore.migration.shelving import ArtifactNames
from evalstore.migration.sources import LegacyFile
from evalstore.migration.table import FormatTable
from evalstore.migration.taken import LegacySource
from evalstore.migration.texts import ReadCurrent

_NOTHING = SourcePlan({}, ())


@dataclass(frozen=True, slots=True)
class MigrationOptions:
    """What every source is read with: the tables, the ids that are given, the store's texts, and what was asked for."""

    tables: Sequence[FormatTable]
    names: ArtifactNames
    there: ReadCurrent
    forced: bool
    dialect: str | None


@dataclass(frozen=True, slots=True)
class SourceResult:
    """One source and what it becomes; `skipped` when it is none of ours and only its folder was named.

    `gathered` are files whose cases came with it. A file that may be one of those `waits` for all others.
    """

    source: MigrationSource
    plan: SourcePlan
    skipped: bool = False
    gathered: tuple[str, ...] = ()
    waits: bool = False


def read_sources(sources: Iterable[LegacyFile], terms: MigrationOptions) -> Iterator[SourceResult]:
    """Yield what the sources become; a file whose cases came with another source is not taken again."""
    late: list[tuple[LegacyFile, MigrationSource]] = []
    suites: dict[str, MigrationSource] = {}
    for found in sources:
        one = _read(found, terms)
        if one.waits:
            late.append((found, one.source))
            continue
        suites = dict.fromkeys(one.gathered, one.source) | suites
        yield one
    for found, source in late:
        suite = suites.get(found.name)
        yield SourceResult(_with_suite(source, suite), _NOTHING) if suite else _read(found, terms, may_wait=False)


def _with_suite(source: MigrationSource, suite: MigrationSource) -> MigrationSource:
    reason = f"its cases come with {suite.file}"
    return replace(source, format=suite.format, dialect=suite.dialect, target=suite.target, reason=reason)


def _read(found: LegacyFile, terms: MigrationOptions, *, may_wait: bool = True) -> SourceResult:
    if found.aside:
        source = MigrationSource(found.name, "", None, None, 1.0, found.aside)
        return SourceResult(source, _NOTHING, skipped=True)
    try:
        data = found.read()
    except LoadError as error:
        if not found.walked:
            raise
        return _broken(found, "", error)
    sha256 = hashlib.sha256(data).hexdigest()
    try:
        document, broken = parse_legacy(data, found.name)
    except LoadError as error:
        # A broken file that never names what a format has at its root is no file that somebody would miss.
        ours = any(mentions_key(data, found.name, key) for table in terms.tables for key in table.root_keys)
        return _broken(found, sha256, error, skipped=found.walked and not ours)
    match = detect_format(document.value, terms.tables)
    source = MigrationSource(found.name, sha256, None, None, match.confidence, match.reason, also=match.also)
    if match.table is None or (match.confidence < SURE and not terms.forced):
        return _set_aside(source, document, match, walked=found.walked)
    if may_wait and gathers(match.table) and isinstance(document.value, list):
        return SourceResult(source, _NOTHING, waits=True)
    seen: dict[str, Document] = {}
    own = terms.dialect if terms.dialect in match.table.dialects else None
    legacy = LegacySource(document, found.name, sha256, partial(_beside, found, seen), own, broken)
    return _taken(replace(source, format=match.table.format), legacy, match.table, seen, terms)


def _taken(source: MigrationSource, legacy: LegacySource, table: FormatTable, seen: Mapping[str, Document], terms: MigrationOptions) -> SourceResult:
    taken = take(legacy, table)
    plan = plan_source(taken, legacy, table, terms.names, beside=seen, there=terms.there)
    source = replace(source, dialect=taken.dialect, target=plan.target)
    return SourceResult(source, plan, gathered=tuple(find_companion_files(taken, seen, legacy.file)) if plan.target else ())


def _beside(found: LegacyFile, seen: dict[str, Document], path: str) -> Document | None:
    if path not in seen and (document := found.beside(path)):
        seen[path] = document
    return seen.get(path)


def _broken(found: LegacyFile, sha256: str, error: LoadError, *, skipped: bool = False) -> SourceResult:
    line = error.place.line if error.place else None
    reason = f"{error.message}; {error.hint}" if error.hint else error.message
    said = MigrationEntry(found.name, "", line, MigrationOutcome.REFUSED, reasons=(reason,))
    source = MigrationSource(found.name, sha256, None, None, 0.0, error.message)
    return SourceResult(source, SourcePlan({}, () if skipped else (said,)), skipped)


def _set_aside(source: MigrationSource, document: Document, match: FormatMatch, *, walked: bool) -> SourceResult:
    if match.shape:
        return SourceResult(source, SourcePlan({}, (make_entry(document, (), match.shape.outcome, match.reason),)))
    if match.table:
        name = match.table.format
        reason = f"hardly {name}: {match.reason}; --from {name} takes it all the same"
        return SourceResult(source, SourcePlan({}, (make_entry(document, (), MigrationOutcome.UNMAPPED, reason),)))
    said = make_entry(document, (), MigrationOutcome.REFUSED, match.reason)
    return SourceResult(source, SourcePlan({}, () if walked else (said,)), skipped=walked)
