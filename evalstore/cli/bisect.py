"""`evalstore bisect`: finds every version at which the score of a run changed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evalstore.cli.context import PLAIN_FORMATS, CommandSettings, add_output_options, format_examples
from evalstore.cli.judging import JudgedCommand, add_judge_options
from evalstore.cli.param_types import REF, USER_FILE

if TYPE_CHECKING:
    from evalstore.api import Judges


@click.command(
    cls=JudgedCommand,
    epilog=format_examples(
        "evalstore bisect rubric/answer_style --run runs/web_answers-1.0.0-model_a.json",
        "evalstore bisect rubric/answer_style --run RUN.json --question q17",
        "evalstore bisect rubric/answer_style --run RUN.json --commits   # what is not released, too",
    ),
)
@click.argument("ref", type=REF)
@click.option("--run", required=True, type=USER_FILE, help="The run whose outputs are graded.")
@click.option("--question", metavar="ID", help="Only the score of this question.")
@click.option("--commits", is_flag=True, help="Look at every commit, released or not, instead of every release.")
@add_output_options((*PLAIN_FORMATS, "markdown"))
@add_judge_options
def command(  # noqa: PLR0913  # the options of the command line
    settings: CommandSettings, ref: str, run: Path, *, question: str | None, commits: bool, judges: Judges
) -> None:
    """Find every release of REF at which the score of a run changed, with the commit and the author of each change.

    The same outputs are graded under each release on the way to REF: a score can fall, recover and fall again, so no
    version is skipped. Then comes the first bad one since the last good one. Releases on other branches do not count.
    """
    from evalstore.api import bisect_scores

    with settings.open_store() as store:
        found = bisect_scores(ref, settings.path / run, store, question=question, commits=commits, judges=judges)
    settings.print_result(replace(found, run=str(run)))
