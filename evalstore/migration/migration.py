"""`migrate`: reads the sources one by one, plans and stages their files, then moves all into place together."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path

from evalstore.errors import ConflictError, RefusedError
from evalstore.migration.artifact_names import ArtifactNames
from evalstore.migration.outcome import FileState, MigrationReport, PlannedFile
from evalstore.migration.plan import SourcePlan
from evalstore.migration.planned_writes import TextSpool, plan_file, read_current
from evalstore.migration.reading import MigrationOptions, SourceResult, read_sources
from evalstore.migration.sources import LegacyFile, find_sources
from evalstore.migration.table import check_dialect, check_dialect_use, load_tables
from evalstore.migration.write import StagedWrites, open_stage
from evalstore.store.locate import is_git_directory


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

    `dialect` overrides the detected dialect of every file whose format has it. An entry that cannot be migrated is
    reported and stops nothing. `watch` wraps the iteration over the sources (a progress bar). Raises `LoadError` for a
    named path that cannot be read, `RefusedError` when a file of the store differs without `force` or cannot be
    written, `ConflictError` when another process created one meanwhile.
    """
    root, tables = _open_root(into), load_tables(format)
    check_dialect(dialect, tables)
    given_paths = (
        [paths] if isinstance(paths, Path | str) else paths
    )  # a text is iterable too: "/" would be its first path
    sources = find_sources(map(Path, given_paths), root)
    results: list[SourceResult] = []
    files: list[PlannedFile] = []
    stage_or_none: AbstractContextManager[StagedWrites | None] = nullcontext() if dry_run else open_stage(root)
    with stage_or_none as stage:
        diffs = None if stage else TextSpool()
        terms = MigrationOptions(
            tables, ArtifactNames(), partial(read_current, root), forced=format is not None, dialect=dialect
        )
        for result in read_sources(watch(sources), terms):
            files += _plan_files(result.plan, root, stage=stage, diffs=diffs)
            source = replace(result.source, entries=len(result.plan.entries))
            results.append(
                replace(result, source=source, plan=SourcePlan({}, result.plan.entries))
            )  # the texts are on disk: free the memory
        results.sort(key=lambda result: result.source.file)
        check_dialect_use(dialect, {result.source.format for result in results} - {None}, tables)
        if stage:
            _refuse_changes(files, force=force)
            _refuse_new_conflicts(files, root)
            stage.commit()
    return MigrationReport(
        sources=tuple(result.source for result in results if not result.skipped),
        entries=tuple(item for result in results for item in result.plan.entries),
        skipped=tuple(result.source for result in results if result.skipped),
        files=tuple(sorted(files, key=lambda file: file.path)),
        dry_run=dry_run,
        recovered=bool(stage and stage.recovered),
    )


def _open_root(into: Path | str) -> Path:
    if is_git_directory(Path(into)):
        raise RefusedError(f"{into} is a bare repository and has no files", hint="name another folder with --into")
    return Path(into)


def _plan_files(
    plan: SourcePlan, root: Path, *, stage: StagedWrites | None, diffs: TextSpool | None
) -> Iterator[PlannedFile]:
    for path, text in plan.files.items():
        file = plan_file(root, path, text, diffs)
        if stage and file.state is not FileState.UNCHANGED:
            stage.add(path, text.new.encode())
        yield file


def _refuse_changes(files: Iterable[PlannedFile], *, force: bool) -> None:
    changed = sorted(file.path for file in files if file.state is FileState.CHANGED)
    if changed and not force:
        sentence = "1 file differs" if len(changed) == 1 else f"{len(changed)} files differ"
        raise RefusedError(
            f"{sentence} from what would be written, so nothing is: {', '.join(changed)}",
            hint="--dry-run shows the differences, --force overwrites",
        )


def _refuse_new_conflicts(files: Iterable[PlannedFile], root: Path) -> None:
    """Raise `ConflictError` for a planned new file that another process created since it was planned."""
    path = next(
        (file.path for file in files if file.state is FileState.NEW and os.path.lexists(root / file.path)), None
    )
    if path:
        raise ConflictError(f"{path} was made while the sources were read, so nothing is written", hint="try again")
