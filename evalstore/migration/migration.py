"""`migrate`: reads the sources one by one, plans and stages their files, then moves all into place together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path

from evalstore.errors import RefusedError
from evalstore.migration.artifact_names import ArtifactNames
from evalstore.migration.outcome import FileState, MigrationReport, PlannedFile
from evalstore.migration.plan import SourcePlan
from evalstore.migration.planned_writes import TextSpool, plan_file, read_current, refuse_changes, refuse_late_files
from evalstore.migration.prompt_files import ProgramFolder, find_prompts
from evalstore.migration.source_results import MigrationOptions, SourceResult, read_sources
from evalstore.migration.sources import LegacyFile, find_sources
from evalstore.migration.staging import StagedWrites, open_stage
from evalstore.migration.table import check_dialect, check_dialect_use, load_tables
from evalstore.store.locate import is_git_directory


def migrate(  # noqa: PLR0913  # the options of the command line
    paths: Path | str | Iterable[Path | str],
    *,
    into: Path | str,
    format: str | None = None,  # noqa: A002  # the word of the command line
    dialect: str | None = None,
    dry_run: bool = False,
    force: bool = False,
    judges_from: Path | str | None = None,
    watch: Callable[[Sequence[LegacyFile]], Iterable[LegacyFile]] = iter,
) -> MigrationReport:
    """Turn legacy files, or folders of them, into rubrics and datasets of the store at `into`, all or nothing.

    `dialect` overrides the detected dialect of every file whose format has it. `judges_from` is the folder of the
    legacy program, by whose prompts judges then ask; nothing in it is run. An entry that cannot be migrated is
    reported and stops nothing. `watch` wraps the iteration over the sources (a progress bar). Raises `LoadError` for a
    named path that cannot be read, `RefusedError` when a file of the store differs without `force` or cannot be
    written, `ConflictError` when another process created one meanwhile.
    """
    root, tables = _open_root(into), load_tables(format)
    check_dialect(dialect, tables)
    # A str is iterable too: "/" would be the first of its paths.
    all_paths = [paths] if isinstance(paths, Path | str) else paths
    sources = find_sources(map(Path, all_paths), root)
    results: list[SourceResult] = []
    files: list[PlannedFile] = []
    open_: AbstractContextManager[StagedWrites | None] = nullcontext() if dry_run else open_stage(root)
    with open_ as stage:
        diffs = None if stage else TextSpool()
        read = partial(read_current, root)
        program = None if judges_from is None else ProgramFolder.open(Path(judges_from))
        prompts = {table.format: find_prompts(program, root, table) for table in tables}
        options = MigrationOptions(
            tables,
            ArtifactNames(),
            read,
            is_forced=format is not None,
            dialect=dialect,
            find_prompts=lambda table: prompts[table.format],
        )
        for result in read_sources(watch(sources), options):
            files += _plan_files(result.plan, root, stage=stage, diffs=diffs)
            source = replace(result.source, entries=len(result.plan.entries))
            # The texts are on disk by now: a plan without them keeps memory flat.
            results.append(replace(result, source=source, plan=SourcePlan({}, result.plan.entries)))
        results.sort(key=lambda result: result.source.file)
        check_dialect_use(dialect, {result.source.format for result in results} - {None}, tables)
        if stage:
            refuse_changes(files, force=force)
            refuse_late_files(files, root)
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
