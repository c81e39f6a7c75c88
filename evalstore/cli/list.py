"""`evalstore list`: what the store holds."""

from __future__ import annotations

import click

from evalstore.cli.context import Settings, examples, options


@click.command(epilog=examples("evalstore list", "evalstore list --format json", "evalstore -C store.git list"))
@options()
def command(settings: Settings) -> None:
    """List the artifacts: newest release, number of releases, the file's version, and whether the file has changed."""
    from evalstore.store.listing import list_artifacts

    with settings.store() as store:
        listing = list_artifacts(store)
    for name, reason in listing.ignored:
        settings.say(f"ignored tag {name}: {reason}")
    settings.emit(listing)
