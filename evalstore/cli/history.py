"""`evalstore history`: grades runs under other versions.

It shows what would flip, when the score moved, and how.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evalstore.cli.context import (
    PLAIN_FORMATS,
    CommandSettings,
    add_output_options,
    format_examples,
)
from evalstore.cli.judging import add_judge_options
from evalstore.cli.option_sections import SectionedCommand
from evalstore.cli.param_types import CONTENT_REF, REF, USER_FILE, check_ref
from evalstore.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from evalstore.api import Judges


@click.command(
    cls=SectionedCommand,
    epilog=format_examples(
        "evalstore history rubric/answer_style --run runs/web_answers-1.0.0-model_a.json",
        "evalstore history 'rubric/answer_style@^1' --run A.json --run B.json",
        "evalstore history rubric/answer_style --run A.json --format html > history.html",
        (
            "evalstore history rubric/answer_style --run RUN.json --bisect   "
            "# every release that moved the score, and who"
        ),
        "evalstore history rubric/answer_style --run RUN.json --bisect --question q17 --commits",
        "evalstore history RUN.json --rubric rubric/answer_style@2.0.0   # which verdicts flip",
        (
            "evalstore history RUN.json --rubric rubric/answer_style@worktree   "
            "# what an edit would do"
        ),
    ),
)
@click.argument("subject", metavar="REF|RUN", shell_complete=REF.shell_complete)
@click.option(
    "--run",
    "runs",
    multiple=True,
    type=click.Path(path_type=Path),
    help="A run whose outputs are graded; repeatable.",
)
@click.option(
    "--bisect",
    is_flag=True,
    help="List every release that changed the run's score, and its author.",
)
@click.option("--question", metavar="ID", help="With --bisect: only the score of this question.")
@click.option("--commits", is_flag=True, help="With --bisect: every commit, released or not.")
@click.option(
    "--rubric",
    type=CONTENT_REF,
    help="Grade RUN under this rubric instead of the version it used.",
)
@add_output_options((*PLAIN_FORMATS, "markdown", "html"))
@add_judge_options
def command(  # noqa: PLR0913  # one parameter for each option
    settings: CommandSettings,
    subject: str,
    runs: tuple[Path, ...],
    *,
    bisect: bool,
    question: str | None,
    commits: bool,
    rubric: str | None,
    judges: Judges,
) -> ExitCode:
    """Grade the outputs of runs under other versions of a rubric, a judge or a dataset.

    REF --run RUN: a column for each release of REF (with a range, those in it), a row for each run.
    A star marks the release that graded the run.

    REF --run RUN --bisect: every release of REF that changed the score of the run, with commit and
    author. No version is skipped, because a score can fall, recover and fall again.

    RUN --rubric REF: which verdicts flip under another rubric, and how far the scores move. Outputs
    that other rubrics graded keep their recorded scores; a rubric that graded none of them grades
    all of them.

    Judges answer from kept replies; missing ones are counted, and asked for only if an endpoint is
    named. The exit code is 1 if nothing could be graded.
    """
    _check_options(settings, runs, rubric, bisect=bisect, of_bisect=bool(question) or commits)
    with settings.open_store() as store:
        if rubric:
            from evalstore.api import replay_run

            flips = replay_run(
                settings.path / USER_FILE.convert(subject, None, None), rubric, store, judges=judges
            )
            settings.print_result(replace(flips, run=subject))
            return ExitCode.NO if flips.missing and not flips.outputs else ExitCode.DONE
        ref, paths = (
            check_ref(subject, settings.path, of_content=False),
            [settings.path / run for run in runs],
        )
        if bisect:
            from evalstore.api import bisect_scores

            found = bisect_scores(
                ref, paths[0], store, question=question, commits=commits, judges=judges
            )
            settings.print_result(replace(found, run=str(runs[0])))
            return ExitCode.DONE
        from evalstore.api import build_history

        history = build_history(ref, paths, store, judges=judges)
    named = tuple(
        replace(scored, run=str(run)) for scored, run in zip(history.runs, runs, strict=True)
    )
    settings.print_result(replace(history, runs=named))
    return ExitCode.DONE


def _check_options(
    settings: CommandSettings,
    runs: tuple[Path, ...],
    rubric: str | None,
    *,
    bisect: bool,
    of_bisect: bool,
) -> None:
    if rubric and (runs or bisect):
        raise UsageError(
            "--rubric needs a run instead of REF", hint="evalstore history RUN --rubric REF"
        )
    if not rubric and not runs:
        raise UsageError(
            "name a run and an artifact",
            hint="evalstore history REF --run RUN, or RUN --rubric REF",
        )
    if of_bisect and not bisect:
        raise UsageError("--question and --commits need --bisect", hint="add --bisect")
    if bisect and len(runs) > 1:
        raise UsageError("--bisect needs a single run", hint="use --run once")
    if settings.format == "html" and (bisect or rubric):
        raise UsageError("only REF --run RUN can be a page", hint="--format markdown, or text")
