"""`evalstore blame`: says who last changed the meaning of each part of an artifact."""

from __future__ import annotations

import click

from evalstore.cli.context import (
    PLAIN_FORMATS,
    CommandSettings,
    add_output_options,
    format_examples,
)
from evalstore.cli.option_sections import SectionedCommand
from evalstore.cli.param_types import CONTENT_REF


@click.command(
    cls=SectionedCommand,
    epilog=format_examples(
        "evalstore blame rubric/answer_style@2.0.0",
        "evalstore blame rubric/answer_style@worktree    # with what is not committed yet",
        "evalstore blame judge/accuracy --format json",
        "evalstore blame rubric/answer_style --format markdown",
    ),
)
@click.argument("ref", type=CONTENT_REF)
@add_output_options((*PLAIN_FORMATS, "markdown"))
def command(settings: CommandSettings, ref: str) -> None:
    """Show the version, commit and author that last changed the meaning of each part of REF.

    The parts of a rubric are its checks, parameters, phrases, weights, required checks and
    thresholds; those of a judge its keys, and those of a dataset its questions. Comments, layout,
    and the order of keys and phrases have no meaning. A merge counts only if it differs from all of
    its parents. The version is the first release that contains the commit.
    """
    from evalstore.api import blame

    with settings.open_store() as store:
        settings.print_result(blame(store, ref))
