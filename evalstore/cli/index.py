"""`evalstore index`: writes what many stores hold as one table."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click

from evalstore.cli.context import CommandSettings, add_output_options, format_examples
from evalstore.cli.progress import make_watch
from evalstore.errors import ExitCode


@click.command(
    epilog=format_examples(
        "evalstore index ../team-a ../team-b",
        "evalstore index ~/stores --out stores.jsonl",
        "evalstore index ~/stores && duckdb -c \"SELECT * FROM 'index.parquet' WHERE record = 'problem'\"",
    )
)
@click.argument("folders", metavar="DIR...", nargs=-1, required=True, type=click.Path())
@click.option(
    "--out", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False), default=Path("index.parquet"),
    show_default=True, help="The file to write: .parquet or .jsonl. An index that is there is replaced.",
)  # fmt: skip
@click.option(
    "--runs", metavar="DIR", type=click.Path(path_type=Path), default=Path("runs"), show_default=True,
    help="The folder in each store below which stored runs are.",
)  # fmt: skip
@add_output_options()
def command(settings: CommandSettings, folders: tuple[str, ...], *, out: Path, runs: Path) -> ExitCode:
    """Write the artifacts, releases, pins, findings and runs of many stores into one table, for SQL or pandas.

    DIR is a store, or a folder that has some below it, in one repository or in many, bare ones too. The column `record`
    says what a row is about. What cannot be read is a row, too (`problem`), and the exit code is then 1.
    """
    from evalstore.api import find_store_folders, write_index

    written = write_index(
        find_store_folders(settings.path, folders),
        settings.path / out,
        runs=runs,
        today=datetime.now(UTC).date(),
        watch=make_watch("indexing", quiet=settings.quiet, fewest=2),
    )
    settings.print_result(written)
    return ExitCode.DONE if written.is_whole else ExitCode.NO
