"""`evalstore show`: prints an artifact's file as it was at a version."""

from __future__ import annotations

import sys

import click

from evalstore.cli.context import CommandSettings, add_output_options, format_examples
from evalstore.cli.param_types import REF
from evalstore.errors import UsageError


@click.command(
    epilog=format_examples(
        "evalstore show rubric/answer_style@1.0.0",
        "evalstore show judge/accuracy",
        "evalstore show rubric/answer_style@1.0.0 --raw > old.yaml",
    )
)
@click.argument("ref", type=REF)
@click.option("--raw", is_flag=True, help="Write the file's bytes, with nothing escaped for the terminal.")
@add_output_options()
def command(settings: CommandSettings, ref: str, raw: bool) -> None:  # noqa: FBT001  # click's flag
    """Print the file of REF as it was at that version."""
    from evalstore.store.listing import read_artifact_file

    if raw and settings.format == "json":
        raise UsageError("--raw and --format json contradict each other", hint="the document holds the text, too")
    with settings.open_store() as store:
        file = read_artifact_file(store, ref)
    if file.resolved.floating:
        settings.print_message(f"{file.resolved.ref} is {file.resolved.name}@{file.resolved.version}")
    if raw:
        sys.stdout.buffer.write(file.data)
    else:
        settings.print_result(file)
