"""`evalstore schema`: prints the JSON Schema of what people write, or of what a command answers."""

from __future__ import annotations

import click

from evalstore.cli.context import CommandSettings, add_output_options, format_examples
from evalstore.cli.param_types import SCHEMA_NAME


@click.command(
    epilog=format_examples(
        "evalstore schema",
        "evalstore schema rubric > rubric.schema.json",
        "evalstore schema checks/regex",
        "evalstore schema output/diff",
    )
)
@click.argument("name", required=False, type=SCHEMA_NAME)
@add_output_options()
def command(settings: CommandSettings, name: str | None) -> None:
    """Print the JSON Schema NAME, or list all of them: of files, of checks, and of what commands answer.

    `evalstore init` writes those of files into the store, where editors find them offline.
    """
    from evalstore.catalogue.schema_topics import list_schemas, load_schema

    settings.print_result(load_schema(name) if name else list_schemas())
