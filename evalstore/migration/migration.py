"""`migrate`: surveys the sources, and plans and stages their files.

Then it moves all into place at once.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from os import PathLike
from pathlib import Path
from typing import Any

from evalstore.arguments import list_items, require_arguments, require_choice
from evalstore.errors import (
    ConflictError,
    EvalstoreError,
    GitError,
    RefusedError,
    UsageError,
)
from evalstore.migration.artifact_names import ArtifactNames
from evalstore.migration.dataset_draft import SourceContext
from evalstore.migration.merging.artifact_merge import (
    digest_content,
    digest_parts,
    read_base_parts,
)
from evalstore.migration.merging.part_merge import PartNode
from evalstore.migration.merging.stored_artifacts import (
    StoredArtifact,
    StoredArtifacts,
    locate_rows,
    put_rows,
)
from evalstore.migration.options import MigrationOptions
from evalstore.migration.outcome import FileState, MigrationReport, PlannedFile
from evalstore.migration.plan import SourcePlan, plan_source, survey_source
from evalstore.migration.planned_writes import plan_file, refuse_late_files
from evalstore.migration.prompts.program_prompts import ProgramFolder, find_prompts
from evalstore.migration.shared_rubrics import Share
from evalstore.migration.source_results import ReadingContext, SourceResult, read_sources
from evalstore.migration.sources import LegacyFile, find_gone, find_missing, find_sources
from evalstore.migration.staging import StagedWrites, open_stage
from evalstore.migration.suites.suite_artifacts import StoreTarget
from evalstore.migration.suites.suite_names import SuiteFacts
from evalstore.migration.suites.suite_places import SuiteIdentity, list_rubric_ids, place_suites
from evalstore.migration.table import FormatTable, check_dialect, check_dialect_use, load_tables
from evalstore.model import Kind, PinType, Ref, parse_ref
from evalstore.places import is_git_directory
from evalstore.progress import Watch
from evalstore.store import ArtifactStore
from evalstore.store.file_history import list_file_commits
from evalstore.store.tags import find_last_release

_NO_CASE = "no case of {} needs it any more"
_NO_SUITE = "its source {} is gone"
_REFUSED = "its source {} was refused, so it stays as it was"


def list_orphans(
    stored: StoredArtifacts,
    places: Mapping[str, SuiteIdentity],
    gone: Iterable[StoredArtifact],
    claimed: Container[str],
    results: Iterable[SourceResult],
) -> Iterator[PlannedFile]:
    """Yield the orphans.

    They are parts of a suite that nothing claimed, and all artifacts of a suite that is gone. A
    source that was refused as a whole claims nothing, and has no orphans: it may be mended.
    """
    planned = {
        (result.source.format, result.source.file) for result in results if result.source.target
    }
    for file, place in places.items():
        if place.stored and (place.stored.origin.format, file) in planned:
            for artifact in _list_parts(stored, place.stored):
                if artifact.name not in claimed and not artifact.is_removed:
                    yield PlannedFile(artifact.path, FileState.ORPHAN, _NO_CASE.format(file))
    for suite in gone:
        reason = _NO_SUITE.format(suite.origin.file)
        for artifact in {item.name: item for item in (suite, *_list_parts(stored, suite))}.values():
            if artifact.name not in claimed and not artifact.is_removed:
                yield PlannedFile(artifact.path, FileState.ORPHAN, reason)


def list_stranded(
    stored: StoredArtifacts, claimed: Container[str], results: Iterable[SourceResult]
) -> Iterator[PlannedFile]:
    """Yield what was migrated earlier from files that are now refused as a whole: it stays."""
    refused = {result.source.file for result in results if not result.source.target}
    for suite in stored.suites:
        if suite.origin.file in refused:
            reason = _REFUSED.format(suite.origin.file)
            parts = _list_parts(stored, suite)
            for artifact in {item.name: item for item in (suite, *parts)}.values():
                if artifact.name not in claimed and not artifact.is_removed:
                    yield PlannedFile(artifact.path, FileState.KEPT, reason)


def _list_parts(stored: StoredArtifacts, suite: StoredArtifact) -> Iterator[StoredArtifact]:
    """Yield the parts of a suite.

    A run and its rows are one suite in two files, each with its parts.
    """
    parts = stored.list_parts(suite.origin.format, suite.origin.suite)
    return (artifact for artifact in parts if artifact.origin.run == suite.origin.run)


@dataclass
class ReleaseLookup:
    """The releases of the store in a folder, with or without a repository.

    `stack` closes what is opened.
    """

    root: Path
    stack: ExitStack

    @cached_property
    def _store(self) -> ArtifactStore | None:
        with suppress(GitError):
            return self.stack.enter_context(ArtifactStore.open(self.root))
        return None

    def find(self, artifact: StoredArtifact, digest: str) -> str | None:
        """Return the last version of an artifact whose content has this digest.

        Returns None if there is none.
        """
        store = self._store
        for release in reversed(store.releases(artifact.kind, artifact.id) if store else []):
            ref = Ref(
                artifact.kind, artifact.id, str(release.version), PinType.EXACT, release.version
            )
            # A release that cannot be read cannot be pinned.
            with suppress(EvalstoreError):
                if store and digest_content(store.read_artifact(ref).value) == digest:
                    return str(release.version)
        return None

    def load_last(self, kind: Kind, id_: str) -> dict[str, Any] | None:
        """Return an artifact's value at its last release, a dataset with its rows.

        Returns None without a release.
        """
        store = self._store
        last = find_last_release(store.releases(kind, id_)) if store else None
        if store is None or last is None:
            return None
        return _load_value(store, Ref(kind, id_, str(last.version), PinType.EXACT, last.version))

    def load_base(self, artifact: StoredArtifact, ours: Mapping[str, Any]) -> PartNode | None:
        """Return the digests of the last migrated parts of an artifact.

        Returns None if there is no trace of them. The file, whose value is `ours`, has them after
        an earlier merge; otherwise it is in a commit as it was migrated.
        """
        if noted := read_base_parts(ours):
            return noted
        store, paths = self._store, (artifact.path, locate_rows(artifact.path))
        for oid in list_file_commits(store, paths) if store else ():
            value = _load_value(store, parse_ref(f"{artifact.name}@git:{oid}")) if store else None
            if value and digest_content(value) == artifact.origin.base:
                return digest_parts(value)
        return None


def _load_value(store: ArtifactStore, ref: Ref) -> dict[str, Any] | None:
    """Return the whole value of an artifact, a dataset with its rows.

    Returns None if it cannot be read.
    """
    with suppress(EvalstoreError):  # what cannot be read cannot be merged with
        resolved = store.resolve(ref)
        value = resolved.artifact.value
        return put_rows(value, [*store.rows(resolved)]) if "rows" in value else dict(value)
    return None


def migrate(  # noqa: PLR0913  # the options of the command line
    paths: Path | str | Iterable[Path | str],
    *,
    into: Path | str,
    format: str | None = None,  # noqa: A002  # the word of the command line
    dialect: str | None = None,
    dry_run: bool = False,
    force: bool = False,
    keep: bool = False,
    merge: bool = False,
    share: Share | str | None = None,
    judges_from: Path | str | None = None,
    watch: Watch[LegacyFile] = iter,
    watch_survey: Watch[LegacyFile] = iter,
) -> MigrationReport:
    """Turn legacy files into rubrics and datasets of a store, all or nothing.

    Migrating again is a merge: a change at the source goes in, a change in the store stays, and a
    change on both sides is a conflict. An entry that cannot be migrated is reported, and stops
    nothing.

    Args:
        paths: A file, a folder, or several; formats are detected by content.
        into: The folder of the store, created if missing.
        format: The format, instead of detecting it.
        dialect: The dialect of every file whose format has it, instead of detecting it.
        dry_run: Whether to write nothing.
        force: In a conflict, take the source's side.
        keep: In a conflict, keep the store's side.
        merge: In a conflict, take both sides if they touch different places.
        share: Which cases share a rubric: `suite`, those in a suite whose checks differ only in
            values, which go to the questions; `all`, those in all suites; `cases`, only those with
            equal checks. By default, new suites share one rubric if it is the same for all of them;
            otherwise each suite has its own.
        judges_from: The folder of the legacy program whose prompts the judges take over, or of your
            own judges, each in a file named after the judge that it replaces; nothing in it is run.
        watch: Wraps the iteration over the sources, as a progress bar does.
        watch_survey: Wraps the earlier iteration that finds the names of the suites.

    Returns:
        The outcome of every file and entry.

    Raises:
        LoadError: A path cannot be read.
        RefusedError: The store cannot be written.
        ConflictError: Another process created a file meanwhile.
        UsageError: There is no such format, dialect or way to share, or both `force` and `keep`.

    Examples:
        >>> report = migrate("outputs", into=".", dry_run=True)
        >>> report.written, [skipped.file for skipped in report.skipped]
        ((), ['outputs/model_a.jsonl'])
    """
    paths = list_items(paths)
    require_arguments(migrate, locals())
    if share is not None:
        require_choice("share", share, Share)
    sides = {"force": force, "keep": keep, "merge": merge}
    if len(chosen := [name for name, is_chosen in sides.items() if is_chosen]) > 1:
        raise UsageError(f"migrate: {' and '.join(chosen)} exclude each other", hint="use only one")
    options = MigrationOptions(
        source_format=format,
        dialect=dialect,
        dry_run=dry_run,
        force=force,
        keep=keep,
        merge=merge,
        share=share,
        judges_from=judges_from,
        watch=watch,
        watch_survey=watch_survey,
    )
    # A str is iterable, too: "/" would be the first of its paths.
    all_paths = [paths] if isinstance(paths, PathLike | str) else paths
    return migrate_paths(list(map(Path, all_paths)), Path(into), options)


def migrate_paths(paths: Sequence[Path], root: Path, options: MigrationOptions) -> MigrationReport:
    """Turn the legacy files at `paths` into rubrics and datasets of a store.

    The store is at `root`. All of them are written, or none.
    """
    if is_git_directory(root):
        raise RefusedError(
            f"{root} is a bare repository and has no files", hint="name another folder with --into"
        )
    known_tables = load_tables(options.source_format)
    check_dialect(options.dialect, known_tables)
    sources = find_sources(paths, root)
    open_: AbstractContextManager[StagedWrites | None] = (
        nullcontext() if options.dry_run else open_stage(root)
    )
    with open_ as stage, ExitStack() as stack:
        releases = ReleaseLookup(root, stack)
        stored = StoredArtifacts.read(root, releases.load_last)
        context = _make_context(known_tables, root, stored, options)
        suites = _survey_suites(options.watch_survey(sources), context)
        places, gone = place_suites(
            suites, stored, find_gone(paths, root), find_missing(paths, root)
        )
        names, ids = ArtifactNames(), list_rubric_ids(suites, places, stored)
        target = StoreTarget(
            stored,
            names,
            options.side,
            releases.find,
            releases.load_base,
            share=None if options.share is None else Share(options.share),
            new_share=_choose_new_share(suites, places),
            rubric_ids=ids,
        )
        plan = partial(_plan_suite, places=places, target=target)
        results, files, claimed = _plan_files(
            read_sources(options.watch(sources), replace(context, plan=plan)), root, stage
        )
        files += list_orphans(stored, places, gone, claimed, results)
        files += list_stranded(stored, claimed, results)
        results.sort(key=lambda result: result.source.file)
        check_dialect_use(
            options.dialect, {result.source.format for result in results} - {None}, known_tables
        )
        if stage:
            refuse_late_files(files, root)
            stage.commit()
    recovered = bool(stage and stage.recovered)
    return _make_report(results, files, dry_run=options.dry_run, recovered=recovered)


def _make_context(
    tables: Sequence[FormatTable], root: Path, stored: StoredArtifacts, options: MigrationOptions
) -> ReadingContext:
    origins = [suite.origin for suite in stored.suites]
    program = None if options.judges_from is None else ProgramFolder.open(Path(options.judges_from))
    return ReadingContext(
        tables,
        is_forced=options.source_format is not None,
        dialect=options.dialect,
        prompts={table.format: find_prompts(program, root, table) for table in tables},
        last_dialects={(one.format, one.file): one.dialect for one in origins if one.dialect},
    )


def _plan_files(
    found: Iterable[SourceResult], root: Path, stage: StagedWrites | None
) -> tuple[list[SourceResult], list[PlannedFile], set[str]]:
    """Plan the files of all sources one by one, and stage what to write.

    Without a stage it is a dry run. Returns the results, the files, and the artifacts that they
    claim.
    """
    results, files, claimed = list[SourceResult](), list[PlannedFile](), set[str]()
    for result in found:
        for path, text in result.plan.files.items():
            file = plan_file(root, path, text, is_dry=stage is None)
            if stage and file.is_written:
                stage.add(path, text.new.encode())
            files.append(file)
        claimed |= result.plan.claimed
        source = replace(result.source, entries=len(result.plan.entries))
        # The texts are on disk by now: a plan without them keeps memory flat.
        results.append(
            replace(result, source=source, plan=replace(result.plan, files={}, claimed=frozenset()))
        )
    return results, files, claimed


def _skip_results(result: SourceResult) -> SourceResult:
    """Return what a suite's run wrote as a file that is no suite."""
    return replace(result, plan=replace(result.plan, entries=()), skipped=True)


def _make_report(
    results: Sequence[SourceResult], files: Iterable[PlannedFile], *, dry_run: bool, recovered: bool
) -> MigrationReport:
    if any(result.source.format and not result.skipped for result in results):
        results = [_skip_results(result) if result.is_beside else result for result in results]
    return MigrationReport(
        sources=tuple(result.source for result in results if not result.skipped),
        entries=tuple(item for result in results for item in result.plan.entries),
        skipped=tuple(result.source for result in results if result.skipped),
        files=tuple(sorted(files, key=lambda file: file.path)),
        dry_run=dry_run,
        recovered=recovered,
        behind=tuple(pin for result in results for pin in result.plan.behind),
    )


def _survey_suites(sources: Iterable[LegacyFile], context: ReadingContext) -> list[SuiteFacts]:
    """Read all sources once for the names of their suites.

    So no id depends on a source that is found later. They are read again to be planned, because
    keeping them would take memory that grows with their number.
    """
    facts: list[SuiteFacts] = []

    def survey(source: SourceContext) -> SourcePlan:
        suite = survey_source(source)
        facts.extend([suite] if suite else [])
        # A target states that the files which the suite includes belong to it.
        return SourcePlan({}, (), suite.file if suite else None)

    for _ in read_sources(sources, replace(context, plan=survey)):
        pass
    return facts


def _choose_new_share(suites: Sequence[SuiteFacts], places: Mapping[str, SuiteIdentity]) -> Share:
    """Return who shares the rubrics of new suites: all suites, if all have the same one rubric.

    A suite in the store with its own rubric does not lend it.
    """
    datasets = [suite for suite in suites if suite.kind is Kind.DATASET]
    stored = [place.stored for suite in datasets if (place := places[suite.file]).stored]
    is_one = len(datasets) > 1 and len({suite.shape for suite in datasets}) == 1
    is_shared = all(one.origin.share == Share.ALL for one in stored)
    return Share.ALL if is_one and datasets[0].shape and is_shared else Share.SUITE


def _plan_suite(
    context: SourceContext, places: Mapping[str, SuiteIdentity], target: StoreTarget
) -> SourcePlan:
    suite = survey_source(context)
    if suite and suite.file not in places:
        raise ConflictError(
            f"{suite.file} was changed while the sources were read", hint="try again"
        )
    return plan_source(context, places[suite.file] if suite else SuiteIdentity("", ""), target)
