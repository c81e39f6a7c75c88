"""`evalstore status`: what changed since the last releases, and the gate for CI."""

from __future__ import annotations

import click

from evalstore.cli.context import Settings, examples, options
from evalstore.errors import ExitCode


@click.command(
    epilog=examples(
        "evalstore status",
        "evalstore status --check   # in CI: exits 1 when a version is missing or says too little",
        "evalstore status --format json",
    )
)
@click.option("--check", is_flag=True, help="Exit 1 when a change has no version that says enough.")
@options()
def command(settings: Settings, *, check: bool) -> ExitCode:
    """List every artifact that differs from its last release: the bump it needs, and what refers to it."""
    from evalstore.release import status

    with settings.store() as store:
        result = status(store)
    settings.emit(result)
    return ExitCode.NO if check and not result.ok else ExitCode.DONE
