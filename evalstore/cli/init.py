"""`evalstore init`: makes a store."""

from __future__ import annotations

import click

from evalstore.cli.context import CommandSettings, add_output_options, format_examples


@click.command(epilog=format_examples("evalstore init", "evalstore init rulers", "evalstore -C ~/project init evals"))
@click.argument("directory", default=".", metavar="[DIR]", type=click.Path())
@add_output_options()
def command(settings: CommandSettings, directory: str) -> None:
    """Make a store in DIR, or add evalstore to the repository around it.

    Makes the git repository if there is none, the folders, evalstore.yaml, and the schemas with a mapping for VS Code
    and JetBrains. A file that is there already is never overwritten.
    """
    from evalstore.store.init import create_store

    result = create_store(settings.path / directory)
    for name in result.kept:
        settings.print_message(
            f"kept {name}: it differs from what init writes; delete it and run init again to get the new one"
        )
    settings.print_result(result)
