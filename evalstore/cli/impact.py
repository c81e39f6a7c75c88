"""`evalstore impact`: shows what depends on an artifact."""

from __future__ import annotations

import click

from evalstore.cli.context import CommandSettings, add_output_options, format_examples
from evalstore.cli.option_sections import SectionedCommand
from evalstore.cli.param_types import REF


@click.command(
    cls=SectionedCommand,
    epilog=format_examples(
        "evalstore impact judge/accuracy",
        (
            "evalstore impact rubric/answer_style@1.0.0        "
            "# what holds this release, releases included"
        ),
        "evalstore impact judge/accuracy --format mermaid  # a graph to paste into a pull request",
        "evalstore impact judge/accuracy --format dot | dot -Tsvg > impact.svg",
    ),
)
@click.argument("ref", type=REF)
@add_output_options(("text", "json", "dot", "mermaid"))
def command(settings: CommandSettings, ref: str) -> None:
    """Show what depends on REF, directly and through others: rubrics, composites, questions.

    Without a pin: the working files that refer to it. With one: the working files and releases that
    mean exactly that version. For each reference it shows the place, and whether a new release
    would move it.
    """
    from evalstore.api import find_impact

    with settings.open_store() as store:
        settings.print_result(find_impact(store, ref))
