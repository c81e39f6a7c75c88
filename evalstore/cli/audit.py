"""`evalstore audit`: explains why the scores of two runs differ."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evalstore.cli.context import CommandSettings, add_output_options, format_examples
from evalstore.cli.judging import JudgedCommand, add_judge_options
from evalstore.errors import ExitCode

if TYPE_CHECKING:
    from evalstore.judging import Judges


@click.command(
    cls=JudgedCommand,
    epilog=format_examples(
        "evalstore audit runs/web_answers-1.0.0-model_a.json runs/web_answers-2.0.0-model_b.json",
        "evalstore audit OLD.json NEW.json --format json",
        "evalstore audit OLD.json NEW.json --allow-drift   # an engine is another version now",
        "evalstore audit OLD.json NEW.json --ask --judge-url http://127.0.0.1:8000/v1",
    ),
)
@click.argument("run_a", type=click.Path(path_type=Path))
@click.argument("run_b", type=click.Path(path_type=Path))
@click.option("--allow-drift", is_flag=True, help="Count what grading again does not reproduce, instead of refusing.")
@click.option(
    "--ask", is_flag=True, help="Ask the judges of today about A's outputs where another model answered in B."
)
@add_output_options()
@add_judge_options
def command(  # noqa: PLR0913  # the command line
    settings: CommandSettings, run_a: Path, run_b: Path, *, allow_drift: bool, ask: bool, judges: Judges
) -> ExitCode:
    """Explain why RUN_B scores otherwise than RUN_A, in points that add up.

    A run is named by the path of its aggregate JSON. Both are graded again from their stored outputs, under every mix
    of the two. Rubric, judge, what answered as the judge, references, questions and outputs each get their share of the
    score and of the pass rate, every edit with its version, commit, author and date. Other questions, missing answers
    and failed checks are lines of their own. What no mix can tell apart moves together. Judges answer from kept
    replies, else as the runs recorded it; what is missing of a released judge is asked of an endpoint.
    """
    from evalstore.audits import audit

    with settings.open_store() as store:
        result = audit(
            settings.path / run_a, settings.path / run_b, store, allow_drift=allow_drift, judges=judges, ask=ask
        )
    # The report names each run as the user did, not by its path below -C.
    settings.print_result(replace(result, a=replace(result.a, run=str(run_a)), b=replace(result.b, run=str(run_b))))
    return ExitCode.DONE
