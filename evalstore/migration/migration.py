"""`migrate`: surveys the sources, plans and stages their files one by one, then moves all into place together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from evalstore.errors import ConflictError, RefusedError
from evalstore.migration.artifact_merge import ConflictSide
from evalstore.migration.artifact_names import ArtifactNames
from evalstore.migration.orphans import list_orphans
from evalstore.migration.outcome import FileState, MigrationReport, PlannedFile
from evalstore.migration.own_tables import load_own_tables
from evalstore.migration.plan import SourceContext, SourcePlan, plan_source, survey_source
from evalstore.migration.planned_writes import TextSpool, plan_file, refuse_late_files
from evalstore.migration.prompt_files import ProgramFolder, find_prompts
from evalstore.migration.release_lookup import ReleaseLookup
from evalstore.migration.source_results import MigrationOptions, SourceResult, read_sources
from evalstore.migration.sources import LegacyFile, find_gone, find_missing, find_sources
from evalstore.migration.staging import StagedWrites, open_stage
from evalstore.migration.stored_artifacts import StoredArtifact, StoredArtifacts
from evalstore.migration.suite_artifacts import StoreTarget
from evalstore.migration.suite_identity import SuitePlace, list_rubric_ids, place_suites
from evalstore.migration.suite_names import SuiteFacts
from evalstore.migration.table import check_dialect, check_dialect_use, load_tables
from evalstore.places import is_git_directory


@dataclass(frozen=True, slots=True)
class _SuiteSurvey:
    """The places of all suites by file, the stored suites that are gone, what the store has, and ids of rubrics."""

    places: Mapping[str, SuitePlace]
    gone: Sequence[StoredArtifact]
    stored: StoredArtifacts
    rubric_ids: Mapping[tuple[str, str], Mapping[str, str]]


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
    share_all: bool = False,
    judges_from: Path | str | None = None,
    tables: Iterable[Path | str] = (),
    watch: Callable[[Sequence[LegacyFile]], Iterable[LegacyFile]] = iter,
    watch_survey: Callable[[Sequence[LegacyFile]], Iterable[LegacyFile]] = iter,
) -> MigrationReport:
    """Turn legacy files, or folders of them, into rubrics and datasets of the store at `into`, all or nothing.

    What was migrated before is merged: a change at the source goes in, a change in the store stays, and an artifact
    with both is a conflict, in which `force` takes the source's side, `keep` the store's, and `merge` both where they
    touch different places. `share_all` lets suites share rubrics. `tables` are paths of tables of one's own, for
    further formats. `dialect` overrides the detected dialect of every file whose format has it. `judges_from` is the
    folder of the legacy program, by whose prompts judges then ask; nothing in it is run. An entry that cannot be
    migrated is reported and stops nothing. `watch` wraps the iteration over the sources (a progress bar),
    `watch_survey` the one before it, which finds what the suites are called.
    Raises `LoadError` for a named path or a table that cannot be read, `RefusedError` when the store cannot be
    written, `ConflictError` when another process made a file meanwhile.
    """
    root, known_tables = _open_root(into), load_tables(format, load_own_tables(map(Path, tables)))
    check_dialect(dialect, known_tables)
    # A str is iterable too: "/" would be the first of its paths.
    all_paths = list(map(Path, [paths] if isinstance(paths, Path | str) else paths))
    sources = find_sources(all_paths, root)
    results: list[SourceResult] = []
    files: list[PlannedFile] = []
    asked = {ConflictSide.SOURCE: force, ConflictSide.STORE: keep, ConflictSide.BOTH: merge}
    side = next((side for side, is_asked in asked.items() if is_asked), ConflictSide.NONE)
    open_: AbstractContextManager[StagedWrites | None] = nullcontext() if dry_run else open_stage(root)
    with open_ as stage, ReleaseLookup(root) as releases:
        program = None if judges_from is None else ProgramFolder.open(Path(judges_from))
        prompts = {table.format: find_prompts(program, root, table) for table in known_tables}
        options = MigrationOptions(
            known_tables,
            is_forced=format is not None,
            dialect=dialect,
            find_prompts=lambda table: prompts[table.format],
        )
        survey = _survey_suites(sources, all_paths, releases, options, watch_survey)
        names, ids = ArtifactNames(), survey.rubric_ids
        target = StoreTarget(survey.stored, names, side, releases.find, releases.load_base, share_all, ids)
        texts = _FilePlanner(root, stage, TextSpool())
        claimed: set[str] = set()
        for result in read_sources(watch(sources), replace(options, plan=_make_planner(survey, target))):
            files += texts.plan(result.plan)
            claimed |= result.plan.claimed
            source = replace(result.source, entries=len(result.plan.entries))
            # The texts are on disk by now: a plan without them keeps memory flat.
            results.append(replace(result, source=source, plan=SourcePlan({}, result.plan.entries)))
        files += list_orphans(survey.stored, survey.places, survey.gone, claimed, results)
        results.sort(key=lambda result: result.source.file)
        check_dialect_use(dialect, {result.source.format for result in results} - {None}, known_tables)
        if stage:
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


def _survey_suites(
    sources: Sequence[LegacyFile],
    paths: Sequence[Path],
    releases: ReleaseLookup,
    options: MigrationOptions,
    watch: Callable[[Sequence[LegacyFile]], Iterable[LegacyFile]],
) -> _SuiteSurvey:
    """Read all sources once for what their suites are called: an id depends on none that is found later.

    They are read again to be planned: what was kept of them would grow with their number.
    """
    facts: list[SuiteFacts] = []

    def survey(context: SourceContext) -> SourcePlan:
        suite = survey_source(context)
        facts.extend([suite] if suite else [])
        # A target says that the files which the suite includes are its own.
        return SourcePlan({}, (), suite.file if suite else None)

    for _ in read_sources(watch(sources), replace(options, plan=survey)):
        pass
    stored = StoredArtifacts.read(releases.root, releases.load_last)
    places, gone = place_suites(facts, stored, find_gone(paths, releases.root), find_missing(paths, releases.root))
    return _SuiteSurvey(places, gone, stored, list_rubric_ids(facts, places, stored))


def _make_planner(survey: _SuiteSurvey, target: StoreTarget) -> Callable[[SourceContext], SourcePlan]:
    def plan(context: SourceContext) -> SourcePlan:
        suite = survey_source(context)
        if suite and suite.file not in survey.places:
            raise ConflictError(f"{suite.file} was changed while the sources were read", hint="try again")
        place = survey.places[suite.file] if suite else SuitePlace("", "")
        return plan_source(context, place, target)

    return plan


@dataclass(frozen=True, slots=True)
class _FilePlanner:
    """Plans the files of one source after the other; without a stage it is a dry run, whose diffs are kept."""

    root: Path
    stage: StagedWrites | None
    diffs: TextSpool

    def plan(self, plan: SourcePlan) -> Iterator[PlannedFile]:
        """Yield the files of a plan, and stage those that are to be written."""
        for path, text in plan.files.items():
            # Both sides of a conflict are always shown; what is written can be seen in the store.
            is_shown = self.stage is None or text.state is FileState.CONFLICT
            file = plan_file(self.root, path, text, self.diffs if is_shown else None)
            if self.stage and file.is_written:
                self.stage.add(path, text.new.encode())
            yield file
