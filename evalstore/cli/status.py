"""`evalstore status`: shows what changed since the last releases; reads the clock for the day."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from evalstore.cli.context import (
    PROBLEM_FORMATS,
    CommandSettings,
    add_output_options,
    format_examples,
)
from evalstore.cli.option_sections import SectionedCommand
from evalstore.cli.progress import make_watch
from evalstore.errors import ExitCode


@click.command(
    cls=SectionedCommand,
    epilog=format_examples(
        "evalstore status",
        "evalstore status --check   # in CI: exits 1 when a version is missing or too low",
        (
            "evalstore status --check --base origin/main   "
            "# by the settings and acceptances that were reviewed there"
        ),
        "evalstore status --format json",
    ),
)
@click.option(
    "--check",
    is_flag=True,
    help="Exit 1 if a change needs a higher version, or cannot be judged.",
)
@click.option(
    "--base",
    metavar="REV",
    help="Use the settings and acceptances of this commit, not those of the last releases.",
)
@click.option(
    "--profile",
    type=click.Choice(["score", "headline"]),
    help="What counts as major; default: as evalstore.yaml says.",
)
@add_output_options(PROBLEM_FORMATS)
def command(
    settings: CommandSettings, *, check: bool, base: str | None, profile: str | None
) -> ExitCode:
    """List every artifact that differs from its last release, the bump it needs, and what uses it.

    An unchanged artifact is listed if one of its floating references now means another version.

    The bump is what the changes need after the overrides of evalstore.yaml and the acceptances;
    both are shown, and so are acceptances that expired or are no longer needed.

    No change can bring its own rules: what evalstore.yaml allows now, and did not at the last
    release, is shown and does not count. With --base, the settings and acceptances of that commit
    count, and releases made since then are judged, too, as in a pull request.
    """
    from evalstore.api import Profile, read_status

    with settings.open_judged_store() as store:
        today, chosen = datetime.now(UTC).date(), Profile(profile) if profile else None
        watch = make_watch("comparing", quiet=settings.quiet)
        result = read_status(store, today=today, profile=chosen, base=base, watch=watch)
    settings.print_result(result)
    return ExitCode.NO if check and not result.ok else ExitCode.DONE
