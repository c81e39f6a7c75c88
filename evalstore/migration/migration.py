"""`migrate`: read the sources one by one, plan each, stage its files, and move them into place together."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from evalstore.documents import Document
from evalstore.errors import LoadError, RefusedError
from evalstore.migration.against import planned, text_there
from evalstore.migration.detect import SURE, Match, detect
from evalstore.migration.gathered import gathered
from evalstore.migration.opened import names_key, opened
from evalstore.migration.outcome import Entry, MigrationReport, Outcome, Planned, Source, State
from evalstore.migration.plan import Plan, entry, plan_source
from evalstore.migration.readers import gathers
from evalstore.migration.readers import read as take
from evalstore.migration.shelving import Names
from evalstore.migration.sources import Found, find_sources
from evalstore.migration.spool import Spool
from evalstore.migration.table import Table, check_dialect, check_taken, load_tables
from evalstore.migration.taken import Legacy
from evalstore.migration.texts import There
from evalstore.migration.write import Stage, staged
from evalstore.store.locate import looks_bare


@dataclass(frozen=True, slots=True)
class _Read:
    """One source and what it becomes; `skipped` when it is none of ours and only its folder was named.

    `gathered` are files whose cases came with it. A file that may be one of those `waits` for all others.
    """

    source: Source
    plan: Plan
    skipped: bool = False
    gathered: tuple[str, ...] = ()
    waits: bool = False


def migrate(  # noqa: PLR0913  # the options of the command line
    paths: Path | str | Iterable[Path | str],
    *,
    into: Path | str,
    format: str | None = None,  # noqa: A002  # the word of the command line
    dialect: str | None = None,
    dry_run: bool = False,
    force: bool = False,
    watch: Callable[[Sequence[Found]], Iterable[Found]] = iter,
) -> MigrationReport:
    """Turn legacy files, or folders of them, into rubrics and datasets of the store at `into`, all or nothing.

    `dialect` is that of every file of a format that has it, instead of finding it out. An entry that cannot be migrated
    is in the report and stops nothing. `watch` passes on the sources as they are read: a progress bar. Raises
    `LoadError` for a named path that cannot be read, `RefusedError` when a file of the store differs and `force` is not
    given, or cannot be written.
    """
    root, tables, names = _store(into), load_tables(format), Names()
    check_dialect(dialect, tables)
    named = [paths] if isinstance(paths, Path | str) else paths  # a text is iterable too: "/" would be its first path
    sources = find_sources(map(Path, named), root)
    reads: list[_Read] = []
    files: list[Planned] = []
    waiting: AbstractContextManager[Stage | None] = nullcontext() if dry_run else staged(root)
    with waiting as stage:
        diffs = None if stage else Spool()
        there = partial(text_there, root)
        one = partial(_read, tables=tables, names=names, there=there, forced=format is not None, dialect=dialect)
        for read in _read_all(watch(sources), one):
            files += _files(read.plan, root, stage=stage, diffs=diffs)
            source = replace(read.source, entries=len(read.plan.entries))
            reads.append(replace(read, source=source, plan=Plan({}, read.plan.entries)))  # the texts wait on the disk
        reads.sort(key=lambda read: read.source.file)
        check_taken(dialect, {read.source.format for read in reads} - {None}, tables)
        if stage:
            _refuse_changes(files, force=force)
            stage.commit()
    return MigrationReport(
        sources=tuple(read.source for read in reads if not read.skipped),
        entries=tuple(item for read in reads for item in read.plan.entries),
        skipped=tuple(read.source for read in reads if read.skipped),
        files=tuple(sorted(files, key=lambda file: file.path)),
        dry_run=dry_run,
        recovered=bool(stage and stage.recovered),
    )


def _store(into: Path | str) -> Path:
    if looks_bare(Path(into)):
        raise RefusedError(f"{into} is a bare repository and has no files", hint="name another folder with --into")
    return Path(into)


def _files(plan: Plan, root: Path, *, stage: Stage | None, diffs: Spool | None) -> Iterator[Planned]:
    for path, text in plan.files.items():
        file = planned(root, path, text, diffs)
        if stage and file.state is not State.UNCHANGED:
            stage.add(path, text.new.encode())
        yield file


def _refuse_changes(files: Iterable[Planned], *, force: bool) -> None:
    changed = sorted(file.path for file in files if file.state is State.CHANGED)
    if changed and not force:
        what = "1 file differs" if len(changed) == 1 else f"{len(changed)} files differ"
        raise RefusedError(
            f"{what} from what would be written, so nothing is: {', '.join(changed)}",
            hint="--dry-run shows the differences, --force overwrites",
        )


def _read_all(sources: Iterable[Found], read: Callable[..., _Read]) -> Iterator[_Read]:
    """Yield what the sources become; a file whose cases came with another source is not taken again."""
    late: list[tuple[Found, Source]] = []
    suites: dict[str, Source] = {}
    for found in sources:
        one = read(found, may_wait=True)
        if one.waits:
            late.append((found, one.source))
            continue
        suites = dict.fromkeys(one.gathered, one.source) | suites
        yield one
    for found, source in late:
        suite = suites.get(found.name)
        yield _Read(_with_suite(source, suite), Plan({}, ())) if suite else read(found, may_wait=False)


def _with_suite(source: Source, suite: Source) -> Source:
    reason = f"its cases come with {suite.file}"
    return replace(source, format=suite.format, dialect=suite.dialect, target=suite.target, reason=reason)


def _read(  # noqa: PLR0913  # all that one source is read with
    found: Found,
    *,
    tables: Sequence[Table],
    names: Names,
    there: There,
    forced: bool,
    dialect: str | None,
    may_wait: bool,
) -> _Read:
    if found.copy:
        source = Source(found.name, "", None, None, 1.0, "this is the run that a migration has made of a source")
        return _Read(source, Plan({}, ()), skipped=True)
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
        ours = any(names_key(data, found.name, key) for table in tables for key in table.root_keys)
        return _broken(found, sha256, error, skipped=found.walked and not ours)
    match = detect(document.value, tables)
    source = Source(found.name, sha256, None, None, match.confidence, match.reason, also=match.also)
    if match.table is None or (match.confidence < SURE and not forced):
        return _set_aside(source, document, match, walked=found.walked)
    if may_wait and gathers(match.table) and isinstance(document.value, list):
        return _Read(source, Plan({}, ()), waits=True)
    seen: dict[str, Document] = {}
    own = dialect if dialect in match.table.dialects else None
    legacy = Legacy(document, found.name, sha256, partial(_beside, found, seen), own, broken)
    taken = take(legacy, match.table)
    plan = plan_source(taken, legacy, match.table, names, beside=seen, there=there)
    source = replace(source, format=match.table.format, dialect=taken.dialect, target=plan.target)
    return _Read(source, plan, gathered=tuple(gathered(taken, seen, found.name)) if plan.target else ())


def _beside(found: Found, seen: dict[str, Document], path: str) -> Document | None:
    if path not in seen and (document := found.beside(path)):
        seen[path] = document
    return seen.get(path)


def _broken(found: Found, sha256: str, error: LoadError, *, skipped: bool = False) -> _Read:
    line = error.place.line if error.place else None
    reason = f"{error.message}; {error.hint}" if error.hint else error.message
    said = Entry(found.name, "", line, Outcome.REFUSED, reasons=(reason,))
    source = Source(found.name, sha256, None, None, 0.0, error.message)
    return _Read(source, Plan({}, () if skipped else (said,)), skipped)


def _set_aside(source: Source, document: Document, match: Match, *, walked: bool) -> _Read:
    if match.shape:
        return _Read(source, Plan({}, (entry(document, (), match.shape.outcome, match.reason),)))
    if match.table:
        name = match.table.format
        reason = f"hardly {name}: {match.reason}; --from {name} takes it all the same"
        return _Read(source, Plan({}, (entry(document, (), Outcome.UNMAPPED, reason),)))
    said = entry(document, (), Outcome.REFUSED, match.reason)
    return _Read(source, Plan({}, () if walked else (said,)), skipped=walked)
