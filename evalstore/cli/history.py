"""`evalstore history`: grades runs under every release of an artifact."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evalstore.cli.context import PLAIN_FORMATS, CommandSettings, add_output_options, format_examples
from evalstore.cli.judging import JudgedCommand, add_judge_options
from evalstore.cli.param_types import REF

if TYPE_CHECKING:
    from evalstore.api import Judges


@click.command(
    cls=JudgedCommand,
    epilog=format_examples(
        "evalstore history rubric/answer_style --run runs/web_answers-1.0.0-model_a.json",
        "evalstore history 'rubric/answer_style@^1' --run A.json --run B.json",
        "evalstore history rubric/answer_style --run A.json --format json",
        "evalstore history rubric/answer_style --run A.json --format html > history.html",
    ),
)
@click.argument("ref", type=REF)
@click.option(
    "--run",
    "runs",
    required=True,
    multiple=True,
    type=click.Path(path_type=Path),
    help="A run whose outputs are graded; repeatable.",
)
@add_output_options((*PLAIN_FORMATS, "markdown", "html"))
@add_judge_options
def command(settings: CommandSettings, ref: str, runs: tuple[Path, ...], *, judges: Judges) -> None:
    """Grade the outputs of runs under every release of REF: a row is one run, a column one release.

    REF is a rubric, a judge or a dataset; with a range, only the releases in it. A star marks the release that a run
    was graded with. Judges answer from kept replies; a cell that lacks some is empty, with the number of calls that
    would fill it, and they are made only where an endpoint is named.
    """
    from evalstore.api import build_history

    with settings.open_store() as store:
        found = build_history(ref, [settings.path / run for run in runs], store, judges=judges)
    named = tuple(replace(scored, run=str(run)) for scored, run in zip(found.runs, runs, strict=True))
    settings.print_result(replace(found, runs=named))
