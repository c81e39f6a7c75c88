"""`evalstore migrate`: legacy grader files into the store."""

from __future__ import annotations

from pathlib import Path

import click

from evalstore.cli.context import Settings, examples, options
from evalstore.errors import ExitCode, RefusedError
from evalstore.migration.table import formats


@click.command(
    epilog=examples(
        "evalstore migrate legacy/drupal-forms/evals.json",
        "evalstore migrate ../ai_best_practices/evals --dry-run",
        "evalstore migrate legacy --into rulers --strict --report migration.json",
    )
)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=click.Path())
@click.option("--into", metavar="STORE", type=click.Path(), help="The store to write to; by default that of -C.")
@click.option("--from", "format_", type=click.Choice(formats()), help="The format, instead of finding it out.")
@click.option("--force", is_flag=True, help="Overwrite files of the store that differ.")
@click.option("--dry-run", is_flag=True, help="Write nothing; show what would be written as a diff.")
@click.option("--strict", is_flag=True, help="Exit 1 unless every entry is migrated.")
@click.option("--report", metavar="FILE", type=click.Path(), help="Also write the JSON document to FILE.")
@options()
def command(  # noqa: PLR0913, PLR0917  # click's options
    settings: Settings,
    paths: tuple[str, ...],
    into: str | None,
    format_: str | None,
    force: bool,  # noqa: FBT001  # click's flags
    dry_run: bool,  # noqa: FBT001
    strict: bool,  # noqa: FBT001
    report: str | None,
) -> ExitCode:
    """Turn legacy grader files into rubrics and datasets, losing nothing.

    PATH is a file, or a folder that is searched for such files; their format is found by their content. Every entry is
    reported: migrated, lossy (a check, but the legacy grader did not do what the file seems to ask), unmapped (set
    aside) or refused. Entries that are refused stop nothing. Files appear in the store all together or not at all, and
    one that differs is never overwritten without --force.
    """
    from evalstore.migration import Outcome, migrate

    done = migrate(
        [settings.path / path for path in paths],
        into=settings.path / into if into else _store_of(settings.path),
        format=format_,
        dry_run=dry_run,
        force=force,
    )
    settings.emit(done)
    if report:
        _write(settings.path / report, done)
    nothing = done.count(Outcome.REFUSED) and not (done.count(Outcome.MIGRATED) or done.count(Outcome.LOSSY))
    return ExitCode.NO if nothing or (strict and not done.complete) else ExitCode.DONE


def _store_of(start: Path) -> Path:
    """Return the folder that evalstore.yaml or a repository marks as a store, else `start`: files need no git."""
    from evalstore.store.locate import find_root, find_top

    here = start.resolve()
    top = find_top(here)
    return find_root(here, top)[0] if top else start


def _write(path: Path, done: object) -> None:
    from evalstore.report import render

    try:
        path.write_text(render(done, "json") + "\n", encoding="utf-8")
    except OSError as error:
        raise RefusedError(f"the report {path} cannot be written: {error.strerror}") from None
