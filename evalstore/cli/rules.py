"""`evalstore rules`: lists every rule by which changes are judged."""

from __future__ import annotations

import click

from evalstore.cli.context import CommandSettings, add_output_options, format_examples


@click.command(
    epilog=format_examples("evalstore rules", "evalstore rules --format json", "evalstore explain check-added")
)
@add_output_options()
def command(settings: CommandSettings) -> None:
    """List every rule of changes: the bump it asks for, where a score can go, and what it says.

    A level holds unless a decider proves that nothing moves; the rules that take each other back are mirrors.
    """
    from evalstore.catalogue import list_rules

    settings.print_result(list_rules())
