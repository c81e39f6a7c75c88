"""`evalstore explain`: explains a rule, a kind, a key or a change (by fingerprint).

It also lists rules and schemas.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import click

from evalstore.cli.context import CommandSettings, add_output_options, format_examples
from evalstore.cli.option_sections import SectionedCommand
from evalstore.cli.param_types import TOPIC
from evalstore.errors import UsageError


@click.command(
    cls=SectionedCommand,
    epilog=format_examples(
        "evalstore explain                         # what there is to explain",
        "evalstore explain regex                   # a kind of check: its keys, and an example",
        "evalstore explain scoring.missing         # a key, by its path in the file",
        "evalstore explain contain-phrase-added    # a rule of any finding",
        "evalstore explain 0f3a9c51d2b47e68        # a change, by the fingerprint that diff shows",
        "evalstore explain --rules                 # every rule of changes",
        "evalstore explain --schema rubric > rubric.schema.json",
        "evalstore explain --schema output/diff    # what a command prints as JSON",
    ),
)
@click.argument("name", required=False, type=TOPIC)
@click.option(
    "--rules", "of_rules", is_flag=True, help="List the rules by which changes are judged."
)
@click.option(
    "--schema", "of_schemas", is_flag=True, help="Print the JSON Schema NAME; list all without one."
)
@add_output_options()
def command(
    settings: CommandSettings, name: str | None, *, of_rules: bool, of_schemas: bool
) -> None:
    """Explain NAME: a rule, a kind of file or check, a key, or the fingerprint of a change.

    A rule is named by its id, as findings show it, a key by its name or its path. Kinds and keys
    come with an example to copy. Without NAME: list what can be explained.

    With --rules: list the rules for changes, with the bump that each requires, which way a score
    can go, and the message. The level applies unless it is proved that nothing moves.

    With --schema: NAME is a file, a check or the answer of a command. `evalstore init` writes the
    schemas of files into the store, where editors find them offline.
    """
    if of_rules and (of_schemas or name):
        raise UsageError("--rules lists all of them", hint="evalstore explain RULE explains one")
    settings.print_result(_find_result(settings, name, of_rules=of_rules, of_schemas=of_schemas))


def _find_result(
    settings: CommandSettings, name: str | None, *, of_rules: bool, of_schemas: bool
) -> Any:
    if of_rules:
        from evalstore.catalogue.rule_catalogue import list_rules

        return list_rules()
    if of_schemas:
        from evalstore.catalogue.schemas import list_schemas, load_schema

        return load_schema(name) if name else list_schemas()
    from evalstore.catalogue import FINGERPRINT, explain_change, explain_name, list_topics

    if name is None:
        return list_topics()
    if FINGERPRINT.fullmatch(name):
        with settings.open_store() as store:
            return explain_change(store, name, datetime.now(UTC).date())
    return explain_name(name)
