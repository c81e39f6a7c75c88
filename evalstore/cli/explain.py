"""`evalstore explain`: explains a rule, a kind, a key, or a change by its fingerprint."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from evalstore.cli.context import CommandSettings, add_output_options, format_examples
from evalstore.cli.param_types import TOPIC


@click.command(
    epilog=format_examples(
        "evalstore explain regex                   # a kind of check: its keys, and an example",
        "evalstore explain scoring.missing         # a key, by its path in the file",
        "evalstore explain rubric",
        "evalstore explain contain-phrase-added    # a rule of any finding",
        "evalstore explain 0f3a9c51d2b47e68        # a change, by the fingerprint that diff shows",
    )
)
@click.argument("name", type=TOPIC)
@add_output_options()
def command(settings: CommandSettings, name: str) -> None:
    """Say what NAME means: a rule, a kind of file or check, a key, or the fingerprint of a change.

    A rule is the id of any finding, of diff, validate, verify or status. A key goes by its name or its path. Kinds and
    keys come with an example to copy, from the schemas that editors read, too.
    """
    from evalstore.catalogue.explanation import FINGERPRINT, explain_change, explain_name

    if FINGERPRINT.fullmatch(name):
        with settings.open_store() as store:
            settings.print_result(explain_change(store, name, datetime.now(UTC).date()))
    else:
        settings.print_result(explain_name(name))
