"""`migrate`: read the sources one by one, plan each, stage its files, and move them into place together."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path

from evalstore.errors import ConflictError, RefusedError
from evalstore.migration.against import plan_file, read_current
from evalstore.migration.outcome import FileState, MigrationReport, PlannedFile
from evalstore.migration.plan import SourcePlan
from evalstore.migration.reading import MigrationOptions, SourceResult, read_sources
from evalstore.migration.shelving import ArtifactNames
from evalstore.migration.sources import LegacyFile, find_sources
from evalstore.migration.spool import TextSpool
from evalstore.migration.table import check_dialect, check_taken, load_tables
from evalstore.migration.write import StagedWrites, staged
from evalstore.store.locate import looks_bare


def migrate(  # noqa: PLR0913  # the options of the command line
    paths: Path | str | Iterable[Path | str],
    *,
    into: Path | str,
    format: str | None = None,  # noqa: A002  # the word of the command line
    dialect: str | None = None,
    dry_run: bool = False,
    force: bool = False,
    watch: Callable[[Sequence[LegacyFile]], Iterable[LegacyFile]] = iter,
) -> MigrationReport:
    """Turn legacy files, or folders of them, into rubrics and datasets of the store at `into`, all or nothing.

    `dialect` is that of every file of a format that has it, instead of finding it out. An entry that cannot be migrated
    is in the report and stops nothing. `watch` passes on the sources as they are read: a progress bar. Raises
    `LoadError` for a named path that cannot be read, `RefusedError` when a file of the store differs and `force` is not
    given, or cannot be written, `ConflictError` when somebody else wrote one meanwhile.
    """
    root, tables = _store(into), load_tables(format)
    check_dialect(dialect, tables)
    named = [paths] if isinstance(paths, Path | str) else paths  # a text is iterable too: "/" would be its first path
    sources = find_sources(map(Path, named), root)
    reads: list[SourceResult] = []
    files: list[PlannedFile] = []
    waiting: AbstractContextManager[StagedWrites | None] = nullcontext() if dry_run else staged(root)
    with waiting as stage:
        diffs = None if stage else TextSpool()
        terms = MigrationOptions(tables, ArtifactNames(), partial(read_current, root), forced=format is not None, dialect=dialect)
        for read in read_sources(watch(sources), terms):
            files += _files(read.plan, root, stage=stage, diffs=diffs)
            source = replace(read.source, entries=len(read.plan.entries))
            reads.append(replace(read, source=source, plan=SourcePlan({}, read.plan.entries)))  # the texts wait on the disk
        reads.sort(key=lambda read: read.source.file)
        check_taken(dialect, {read.source.format for read in reads} - {None}, tables)
        if stage:
            _refuse_changes(files, force=force)
            _refuse_late(files, root)
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


def _files(plan: SourcePlan, root: Path, *, stage: StagedWrites | None, diffs: TextSpool | None) -> Iterator[PlannedFile]:
    for path, text in plan.files.items():
        file = plan_file(root, path, text, diffs)
        if stage and file.state is not FileState.UNCHANGED:
            stage.add(path, text.new.encode())
        yield file


def _refuse_changes(files: Iterable[PlannedFile], *, force: bool) -> None:
    changed = sorted(file.path for file in files if file.state is FileState.CHANGED)
    if changed and not force:
        what = "1 file differs" if len(changed) == 1 else f"{len(changed)} files differ"
        raise RefusedError(
            f"{what} from what would be written, so nothing is: {', '.join(changed)}",
            hint="--dry-run shows the differences, --force overwrites",
        )


def _refuse_late(files: Iterable[PlannedFile], root: Path) -> None:
    """Refuse to take the place of a file that somebody made since the plan looked there."""
    late = next((file.path for file in files if file.state is FileState.NEW and os.path.lexists(root / file.path)), None)
    if late:
        raise ConflictError(f"{late} was made while the sources were read, so nothing is written", hint="try again")
