"""`evalstore explain`: explains one rule, and what to do about its findings."""

from __future__ import annotations

import click

from evalstore.cli.context import CommandSettings, add_output_options, format_examples


@click.command(
    epilog=format_examples(
        "evalstore explain contain-phrase-added",
        "evalstore explain judge-unvalidated",
        "evalstore explain version-bump-too-small --format json",
    )
)
@click.argument("rule")
@add_output_options()
def command(settings: CommandSettings, rule: str) -> None:
    """Say what RULE means, why that matters, an edit that it finds, what needs less, and how to accept or override it.

    RULE is the id of any finding: of diff, validate, verify or status.
    """
    from evalstore.catalogue import explain_rule

    settings.print_result(explain_rule(rule))
