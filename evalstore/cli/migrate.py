"""`evalstore migrate`: migrates legacy grader files into the store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evalstore.api import list_formats
from evalstore.cli.context import (
    PLAIN_FORMATS,
    CommandSettings,
    add_output_options,
    format_examples,
)
from evalstore.cli.option_sections import SectionedCommand
from evalstore.cli.param_types import FormatChoice
from evalstore.cli.progress import make_watch
from evalstore.errors import ExitCode, RefusedError, UsageError
from evalstore.files import refuse_links_below

if TYPE_CHECKING:
    from evalstore.api import LegacyFile, LossKind, MigrationReport

_REPORTS = {".md": "markdown", ".txt": "everything"}  # by file extension; anything else is JSON


@click.command(
    cls=SectionedCommand,
    first=(
        "--into --from --dry-run --merge --keep --force --judges-from --strict --report --verbose"
    ),
    epilog=format_examples(
        "evalstore migrate legacy/drupal-forms/evals.json",
        "evalstore migrate ../ai_best_practices/evals --dry-run",
        "evalstore migrate legacy --into evals --strict --report migration.json",
        "evalstore migrate legacy --strict --allow another-prompt",
        "evalstore migrate rows.jsonl --judges-from ../EU-Legal-Benchmark",
        "evalstore migrate suites --from agentevals --dialect D3 --report migration.md",
    ),
)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=click.Path())
@click.option(
    "--into",
    metavar="STORE",
    type=click.Path(),
    help="The store to write to; by default that of -C.",
)
@click.option(
    "--from",
    "source_format",
    type=FormatChoice(list_formats()),
    metavar="FORMAT",
    help=f"The format, instead of detecting it: {', '.join(list_formats())}.",
)
@click.option(
    "--dialect",
    metavar="NAME",
    help="The dialect, for formats that have several, instead of detecting it.",
)
@click.option(
    "--explode",
    "dialect",
    flag_value="exploded",
    help="OpenRubricRL: one check per criterion.",
)
@click.option(
    "--judges-from",
    metavar="DIR",
    type=click.Path(),
    help="Folder of the legacy program, to take its judges' prompts from. Nothing there is run.",
)
@click.option(
    "--force",
    is_flag=True,
    help=(
        "In a conflict, take the source's side, and restore what was removed; no version is "
        "lowered."
    ),
)
@click.option(
    "--keep",
    is_flag=True,
    help="In a conflict, keep the store's side, and note that the source's was seen.",
)
@click.option(
    "--merge",
    is_flag=True,
    help="In a conflict, take both sides where they touch different places.",
)
@click.option(
    "--share",
    type=click.Choice(("suite", "all", "cases")),
    help="Who shares a rubric: the cases of a suite whose checks differ only in values, which "
    "go to the questions; those of all suites; or only cases with equal checks. A suite "
    "that is in the store already keeps its rubrics as they are shared, unless you give this.",
)
@click.option(
    "--dry-run",
    is_flag=True,
    help="Write nothing; show the plan, with --verbose all of it as a diff.",
)
@click.option(
    "--strict",
    is_flag=True,
    help="Exit 1 unless every entry is migrated, and there is at least one.",
)
@click.option(
    "--allow",
    metavar="LOSSES",
    help=(
        "Outcomes that --strict accepts, as in another-prompt,unmapped: another-prompt, lossy, "
        "unmapped, refused."
    ),
)
@click.option(
    "--report",
    metavar="FILE",
    type=click.Path(),
    help="Also write the report to FILE: JSON, or by its ending .md or .txt.",
)
@add_output_options((*PLAIN_FORMATS, "markdown"))
def command(  # noqa: PLR0913  # one parameter for each option that is not of the migration
    settings: CommandSettings,
    paths: tuple[str, ...],
    *,
    into: str | None,
    judges_from: str | None,
    strict: bool,
    allow: str | None,
    report: str | None,
    **options: Any,
) -> ExitCode:
    """Turn legacy grader files into rubrics and datasets, losing nothing.

    PATH is a file, or a folder to search for such files; their format is detected by their content.
    Every entry is reported as migrated, lossy (the check differs from what the legacy grader did),
    unmapped (kept as data) or refused; --verbose has a line for each. A refused entry does not stop
    the others. The files appear in the store all together or not at all.

    Migrating again is a merge. A change at the source is taken over, and the file keeps its
    version: `diff` and `bump` judge the change. A change in the store is kept, and so is a removal.
    A change on both sides is a conflict: the file is left alone, both sides are shown, and the exit
    code is 1. Renamed suites and cases are recognised. What no source needs any longer is listed,
    never deleted.
    """
    from evalstore.api import MigrationOptions, MigrationOutcome, migrate_paths

    files: list[LegacyFile] = []

    def watch(sources: Sequence[LegacyFile]) -> Iterable[LegacyFile]:
        files.extend(sources)
        return make_watch("planning", quiet=settings.quiet)(sources)

    migrating = MigrationOptions(
        judges_from=None if judges_from is None else settings.path / judges_from,
        watch=watch,
        watch_survey=make_watch("reading", quiet=settings.quiet),
        **options,
    )
    if migrating.force + migrating.keep + migrating.merge > 1:
        raise UsageError(
            "--force, --keep and --merge exclude each other", hint="use only one of them"
        )
    if allow is not None and not strict:
        raise UsageError(
            "--allow has an effect only with --strict", hint="add --strict, or leave --allow out"
        )
    allowed = _read_losses(allow or "")
    if "" in paths:
        raise UsageError("a PATH is empty", hint="name the folder itself: . is the one you are in")
    store = settings.path / into if into else _find_store(settings.path)
    for root in (settings.path, store) if report else ():
        refuse_links_below(root, settings.path / str(report))
    result = migrate_paths([settings.path / path for path in paths], store, migrating)
    if settings.verbose and settings.format == "text" and not settings.quiet:
        settings.format = "everything"
    settings.print_result(result, at=store)
    if report:
        _write_report(settings.path / report, result, _list_used_files(result, files, store))
    none_migrated = result.count(MigrationOutcome.REFUSED) and not (
        result.count(MigrationOutcome.MIGRATED) or result.count(MigrationOutcome.LOSSY)
    )
    is_short = strict and not result.is_complete_but_for(allowed)
    return ExitCode.NO if none_migrated or result.conflicts or is_short else ExitCode.DONE


def _read_losses(text: str) -> list[LossKind]:
    from evalstore.api import LossKind
    from evalstore.text import find_nearest

    kinds = {str(kind): kind for kind in LossKind}
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in kinds:
            guess = find_nearest(name, kinds)
            hint = f"did you mean {guess}?" if guess else f"they are {', '.join(kinds)}"
            raise UsageError(f"there is no loss {name!r}", hint=hint)
    return [kinds[name] for name in names]


def _find_store(start: Path) -> Path:
    """Return the folder that evalstore.yaml or git marks as a store, else `start`.

    Files need no git.
    """
    from evalstore.store.locate import find_enclosing_store

    return find_enclosing_store(start.resolve()) or start


def _list_used_files(
    report: MigrationReport, files: Iterable[LegacyFile], store: Path
) -> list[Path]:
    """Return the files that the migration reads and writes.

    A report must not overwrite any of them.
    """
    sources = {source.file for source in report.sources}
    return [legacy.path for legacy in files if legacy.name in sources] + [
        store / file.path for file in report.files
    ]


def _write_report(path: Path, report: MigrationReport, files: Iterable[Path]) -> None:
    from evalstore.report import render

    try:
        if path.exists() and any(other.exists() and path.samefile(other) for other in files):
            raise RefusedError(
                f"the report would overwrite {path}, which is not a report",
                hint="name another file",
            )
        path.write_text(
            render(report, _REPORTS.get(path.suffix.lower(), "json")) + "\n", encoding="utf-8"
        )
    except OSError as error:
        raise RefusedError(f"the report {path} cannot be written: {error.strerror}") from None
