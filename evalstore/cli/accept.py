"""`evalstore accept`: accepts one change at a lower level.

It reads the clock and git's author variables.
"""

from __future__ import annotations

import os
from datetime import UTC, date, datetime

import click

from evalstore.cli.context import CommandSettings, add_output_options, format_examples
from evalstore.cli.option_sections import SectionedCommand
from evalstore.cli.param_types import CHANGE, PROSE


def _parse_day(_: click.Context, __: click.Parameter, value: str | None) -> date | None:
    try:
        return date.fromisoformat(value) if value else None
    except ValueError:
        raise click.BadParameter("write a day as 2026-12-31") from None


@click.command(
    cls=SectionedCommand,
    epilog=format_examples(
        (
            "evalstore accept 0f3a9c51d2b47e68 "
            '--reason "a typing error in the prompt; 200 replies are the same"'
        ),
        (
            'evalstore accept 0f3a9c51d2b47e68 --reason "nobody pins it yet" --level patch '
            "--until 2026-12-31"
        ),
    ),
)
@click.argument("fingerprint", type=CHANGE)
@click.option(
    "--reason",
    required=True,
    metavar="TEXT",
    type=PROSE,
    help="Why a lower level is enough.",
)
@click.option(
    "--level",
    type=click.Choice(["minor", "patch"]),
    help="The lower level; default: one below the change's own.",
)
@click.option(
    "--until",
    metavar="DATE",
    callback=_parse_day,
    help="Last day it is valid; default: until the next release.",
)
@add_output_options()
def command(
    settings: CommandSettings,
    fingerprint: str,
    *,
    reason: str,
    level: str | None,
    until: date | None,
) -> None:
    """Accept one change of the working tree since a last release, by the FINGERPRINT that
    `evalstore diff` shows.

    The entry is written to .evalstore/accepted.yaml, with your name and the day, to be reviewed and
    committed like code. It covers this change of this artifact since this release: any other edit
    has another fingerprint. The change stays in every report, with the reason; status and bump
    count it at the accepted level.
    """
    from evalstore.api import VARIABLES, AcceptOptions, accept
    from evalstore.versions import Bump

    acceptance = AcceptOptions(reason, Bump(level) if level else None, until)
    signature = {name: os.environ[name] for name in VARIABLES if name in os.environ}
    with settings.open_store() as store:
        result = accept(
            store, fingerprint, acceptance, today=datetime.now(UTC).date(), signature=signature
        )
    settings.print_result(result)
