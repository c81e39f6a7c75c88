"""What becomes of each source: which format it has, what its reader takes, and which file comes with another."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from evalstore.documents import Document
from evalstore.errors import LoadError
from evalstore.migration.detect import SURE, Match, detect
from evalstore.migration.gathered import gathered
from evalstore.migration.opened import names_key, opened
from evalstore.migration.outcome import Entry, Outcome, Source
from evalstore.migration.plan import Plan, entry, plan_source
from evalstore.migration.readers import gathers
from evalstore.migration.readers import read as take
from evalstore.migration.shelving import Names
from evalstore.migration.sources import Found
from evalstore.migration.table import Table
from evalstore.migration.taken import Legacy
from evalstore.migration.texts import There

_NOTHING = Plan({}, ())


@dataclass(frozen=True, slots=True)
class Terms:
    """What every source is read with: the tables, the ids that are given, the store's texts, and what was asked for."""

    tables: Sequence[Table]
    names: Names
    there: There
    forced: bool
    dialect: str | None


@dataclass(frozen=True, slots=True)
class Read:
    """One source and what it becomes; `skipped` when it is none of ours and only its folder was named.

    `gathered` are files whose cases came with it. A file that may be one of those `waits` for all others.
    """

    source: Source
    plan: Plan
    skipped: bool = False
    gathered: tuple[str, ...] = ()
    waits: bool = False


def read_all(sources: Iterable[Found], terms: Terms) -> Iterator[Read]:
    """Yield what the sources become; a file whose cases came with another source is not taken again."""
    late: list[tuple[Found, Source]] = []
    suites: dict[str, Source] = {}
    for found in sources:
        one = _read(found, terms)
        if one.waits:
            late.append((found, one.source))
            continue
        suites = dict.fromkeys(one.gathered, one.source) | suites
        yield one
    for found, source in late:
        suite = suites.get(found.name)
        yield Read(_with_suite(source, suite), _NOTHING) if suite else _read(found, terms, may_wait=False)


def _with_suite(source: Source, suite: Source) -> Source:
    reason = f"its cases come with {suite.file}"
    return replace(source, format=suite.format, dialect=suite.dialect, target=suite.target, reason=reason)


def _read(found: Found, terms: Terms, *, may_wait: bool = True) -> Read:
    if found.aside:
        source = Source(found.name, "", None, None, 1.0, found.aside)
        return Read(source, _NOTHING, skipped=True)
    try:
        data = found.read()
    except LoadError as error:
        if not found.walked:
            raise
        return _broken(found, "", error)
    sha256 = hashlib.sha256(data).hexdigest()
    try:
        document, broken = opened(data, found.name)
    except LoadError as error:
        # A broken file that never names what a format has at its root is no file that somebody would miss.
        ours = any(names_key(data, found.name, key) for table in terms.tables for key in table.root_keys)
        return _broken(found, sha256, error, skipped=found.walked and not ours)
    match = detect(document.value, terms.tables)
    source = Source(found.name, sha256, None, None, match.confidence, match.reason, also=match.also)
    if match.table is None or (match.confidence < SURE and not terms.forced):
        return _set_aside(source, document, match, walked=found.walked)
    if may_wait and gathers(match.table) and isinstance(document.value, list):
        return Read(source, _NOTHING, waits=True)
    seen: dict[str, Document] = {}
    own = terms.dialect if terms.dialect in match.table.dialects else None
    legacy = Legacy(document, found.name, sha256, partial(_beside, found, seen), own, broken)
    return _taken(replace(source, format=match.table.format), legacy, match.table, seen, terms)


def _taken(source: Source, legacy: Legacy, table: Table, seen: Mapping[str, Document], terms: Terms) -> Read:
    taken = take(legacy, table)
    plan = plan_source(taken, legacy, table, terms.names, beside=seen, there=terms.there)
    source = replace(source, dialect=taken.dialect, target=plan.target)
    return Read(source, plan, gathered=tuple(gathered(taken, seen, legacy.file)) if plan.target else ())


def _beside(found: Found, seen: dict[str, Document], path: str) -> Document | None:
    if path not in seen and (document := found.beside(path)):
        seen[path] = document
    return seen.get(path)


def _broken(found: Found, sha256: str, error: LoadError, *, skipped: bool = False) -> Read:
    line = error.place.line if error.place else None
    reason = f"{error.message}; {error.hint}" if error.hint else error.message
    said = Entry(found.name, "", line, Outcome.REFUSED, reasons=(reason,))
    source = Source(found.name, sha256, None, None, 0.0, error.message)
    return Read(source, Plan({}, () if skipped else (said,)), skipped)


def _set_aside(source: Source, document: Document, match: Match, *, walked: bool) -> Read:
    if match.shape:
        return Read(source, Plan({}, (entry(document, (), match.shape.outcome, match.reason),)))
    if match.table:
        name = match.table.format
        reason = f"hardly {name}: {match.reason}; --from {name} takes it all the same"
        return Read(source, Plan({}, (entry(document, (), Outcome.UNMAPPED, reason),)))
    said = entry(document, (), Outcome.REFUSED, match.reason)
    return Read(source, Plan({}, () if walked else (said,)), skipped=walked)
