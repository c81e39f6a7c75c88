"""`evalstore new`: begins the file of a rubric, a judge or a dataset."""

from __future__ import annotations

import click

from evalstore.cli.context import CommandSettings, add_output_options, format_examples
from evalstore.cli.option_sections import SectionedCommand
from evalstore.cli.param_types import CHECK_KIND


@click.command(
    cls=SectionedCommand,
    epilog=format_examples(
        "evalstore new rubric answer_style --kind must_not_contain --kind markdown_structure",
        "evalstore new judge accuracy",
        "evalstore new judge tone --kind levels",
        "evalstore new dataset web_answers",
    ),
)
@click.argument("kind", type=click.Choice(["rubric", "judge", "dataset"]))
@click.argument("id_", metavar="ID")
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    type=CHECK_KIND,
    help=(
        "Kind of check to start a rubric with, repeatable; for a judge: continuous, binary or "
        "levels."
    ),
)
@add_output_options()
def command(settings: CommandSettings, kind: str, id_: str, kinds: tuple[str, ...]) -> None:
    """Write a small, valid, commented file for a new rubric, judge or dataset.

    Where the new file has to name a judge or a rubric, it names one of the store's. No existing
    file is overwritten.
    """
    from evalstore.catalogue.starters import start_file
    from evalstore.model import Kind

    with settings.open_store() as store:
        result = start_file(store, Kind(kind), id_, kinds)
    settings.print_result(result)
