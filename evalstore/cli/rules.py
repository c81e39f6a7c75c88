"""`evalstore rules`: every rule by which changes are judged."""

from __future__ import annotations

import click

from evalstore.cli.context import Settings, examples, options


@click.command(epilog=examples("evalstore rules", "evalstore rules --format json", "evalstore explain check-added"))
@options()
def command(settings: Settings) -> None:
    """List every rule of changes: its number, the bump it asks for, where a score can go, and what it says.

    A level holds unless a decider proves that nothing moves; the rules that take each other back are mirrors.
    """
    from evalstore.catalogue import list_rules

    settings.emit(list_rules())
