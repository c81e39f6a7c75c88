"""`evalstore infer`: finds the released rulers that reproduce the record of a run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evalstore.cli.context import PLAIN_FORMATS, CommandSettings, add_output_options, format_examples
from evalstore.cli.judging import add_judge_options
from evalstore.cli.option_sections import SectionedCommand
from evalstore.cli.param_types import REF, USER_FILE
from evalstore.errors import ExitCode

if TYPE_CHECKING:
    from evalstore.api import Judges


@click.command(
    cls=SectionedCommand,
    epilog=format_examples(
        "evalstore infer foreign/run.json",
        "evalstore infer foreign/run.json --rubric rubric/answer_style",
        "evalstore infer foreign/run.json --dataset 'dataset/web_answers@^1' --format json",
    ),
)
@click.argument("run", type=USER_FILE)
@click.option("--rubric", type=REF, help="Only releases of this rubric; a range limits them.")
@click.option("--dataset", type=REF, help="Only releases of this dataset; else all that have the run's questions.")
@add_output_options((*PLAIN_FORMATS, "markdown"))
@add_judge_options
def command(
    settings: CommandSettings, run: Path, *, rubric: str | None, dataset: str | None, judges: Judges
) -> ExitCode:
    """Find the released rulers that reproduce the scores of RUN: all of them, or k of n.

    The outputs are graded under every release of the rubrics that may have graded them. Where several reproduce the
    record, a question or an output that would tell them apart is named. Exits 1 when none reproduces all of it.
    """
    from evalstore.api import infer_rulers

    with settings.open_store() as store:
        found = infer_rulers(settings.path / run, store, rubric=rubric, dataset=dataset, judges=judges)
    settings.print_result(replace(found, run=str(run)))
    exact = any(one.is_exact for one in (*found.rubrics, *found.datasets))
    return ExitCode.DONE if exact else ExitCode.NO
