"""`evalstore list`: lists the artifacts of the store."""

from __future__ import annotations

import click

from evalstore.cli.context import CommandSettings, add_output_options, format_examples
from evalstore.cli.option_sections import SectionedCommand
from evalstore.cli.progress import make_watch


@click.command(
    cls=SectionedCommand,
    epilog=format_examples(
        "evalstore list", "evalstore list --format json", "evalstore -C store.git list"
    ),
)
@add_output_options()
def command(settings: CommandSettings) -> None:
    """List the artifacts: newest release, number of releases, the file's version, and whether the
    file has changed.
    """
    from evalstore.store.listing import list_artifacts
    from evalstore.store.store_detection import find_elsewhere

    with settings.open_store() as store:
        listing = list_artifacts(store, watch=make_watch("listing", quiet=settings.quiet))
        has_files = any(
            artifact.working is not None or artifact.problem for artifact in listing.artifacts
        )
        if not has_files and (elsewhere := find_elsewhere(store)):
            settings.print_message(elsewhere)
    for name, reason in listing.ignored:
        settings.print_message(f"ignored tag {name}: {reason}")
    settings.print_result(listing)
