"""`evalstore replay`: grades the outputs of one run under another rubric."""

from __future__ import annotations

from dataclasses import replace as replace_fields
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evalstore.cli.context import PLAIN_FORMATS, CommandSettings, add_output_options, format_examples
from evalstore.cli.judging import JudgedCommand, add_judge_options
from evalstore.cli.param_types import CONTENT_REF, USER_FILE
from evalstore.errors import ExitCode

if TYPE_CHECKING:
    from evalstore.api import Judges


@click.command(
    cls=JudgedCommand,
    epilog=format_examples(
        "evalstore replay runs/web_answers-1.0.0-model_a.json --rubric rubric/answer_style@2.0.0",
        "evalstore replay RUN.json --rubric rubric/answer_style@worktree   # what an edit would do",
        "evalstore replay RUN.json --rubric rubric/answer_style@2.0.0 --format markdown",
    ),
)
@click.argument("run", type=USER_FILE)
@click.option("--rubric", required=True, type=CONTENT_REF, help="The other rubric, in place of the one of its name.")
@add_output_options((*PLAIN_FORMATS, "markdown"))
@add_judge_options
def command(settings: CommandSettings, run: Path, rubric: str, *, judges: Judges) -> ExitCode:
    """Grade the outputs of RUN under another rubric: which verdicts flip, and how far the scores move.

    RUN is the aggregate JSON of a run, or its samples. Outputs that other rubrics graded keep what was recorded; a
    rubric that graded none of them grades them all. Judges answer from kept replies; what is missing is counted, and
    asked for only where an endpoint is named. The exit code is 1 where nothing could be graded.
    """
    from evalstore.api import replay_run

    with settings.open_store() as store:
        found = replay_run(settings.path / run, rubric, store, judges=judges)
    settings.print_result(replace_fields(found, run=str(run)))
    return ExitCode.NO if found.missing and not found.outputs else ExitCode.DONE
