"""`evalstore log`: lists the releases of an artifact, and what each changed."""

from __future__ import annotations

import click

from evalstore.cli.context import CommandSettings, add_output_options, format_examples
from evalstore.cli.option_sections import SectionedCommand
from evalstore.cli.param_types import REF
from evalstore.errors import UsageError


@click.command(
    cls=SectionedCommand,
    epilog=format_examples(
        "evalstore log rubric/answer_style",
        "evalstore log 'rubric/answer_style@^1' --all",
        "evalstore log judge/tone --short",
        "evalstore log judge/tone --format json",
    ),
)
@click.argument("ref", type=REF)
@click.option("--short", is_flag=True, help="List the releases without comparing them.")
@click.option("--all", "all_", is_flag=True, help="Compare all releases, not just the newest 30.")
@add_output_options()
def command(settings: CommandSettings, ref: str, *, short: bool, all_: bool) -> None:
    """List the releases of REF, newest first: version, date, bump, author, and what changed, by
    rule.

    With a version or a range, only those releases. Each release is compared with the one before it,
    by the rules alone, ignoring overrides and acceptances. The newest release's scores are
    comparable with those since the last release that could move one. A release that cannot be read
    says why, and does not stop the others.
    """
    from evalstore.api import COMPARED_LIMIT, read_release_log
    from evalstore.model import parse_ref

    if short and all_:
        raise UsageError("--short and --all exclude each other")
    limit = None if all_ else COMPARED_LIMIT
    if short:
        limit = 0
    with settings.open_store() as store:
        settings.print_result(read_release_log(store, parse_ref(ref), limit=limit))
