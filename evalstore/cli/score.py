"""`evalstore score`: grade stored outputs under the rubrics of a dataset."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import click

from evalstore.cli.context import Settings, examples, options
from evalstore.errors import ExitCode


@click.command(
    epilog=examples(
        "evalstore score dataset/web_answers@1.0.0 outputs/model_a.jsonl",
        "evalstore score dataset/web_answers@1.0.0 outputs/model_a.jsonl --out runs/model_a --format json",
        "evalstore score dataset/web_answers@2.0.0 runs/web_answers-1.0.0-model_a.json   # the same outputs again",
        "evalstore score dataset/web_answers@1.0.0 answers.jsonl --rubric rubric/answer_style@2.0.0",
    )
)
@click.argument("dataset")
@click.argument("outputs", type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("runs"),
    show_default=True,
    help="Folder of the run. Nothing in it is ever overwritten.",
)
@click.option("--model", metavar="NAME", help="Name of the model; else the outputs' own, else the file's name.")
@click.option("--rubric", metavar="REF", help="Grade every question with this rubric instead of its own.")
@options()
def command(  # noqa: PLR0913, PLR0917  # one parameter for each option
    settings: Settings, dataset: str, outputs: Path, out: Path, model: str | None, rubric: str | None
) -> ExitCode:
    """Grade the stored OUTPUTS under the rubrics of DATASET, and keep the result as a run.

    OUTPUTS is JSONL, a line {"id", "output", "tool_calls"?} or a row of Every Eval Ever each, or the JSON of a stored
    run. The run is two files in the form of Every Eval Ever 0.3.0; the path of the first names it.
    """
    from evalstore.scoring import score

    with settings.store() as store:
        run = score(
            dataset,
            settings.path / outputs,
            store=store,
            out=settings.path / out,
            at=datetime.now(UTC),
            model=model,
            rubric=rubric,
        )
    for note in run.notes:
        settings.say(f"warning: {note}")
    shown = settings.path / out != out and run.path.is_relative_to(settings.path)
    settings.emit(replace(run, path=run.path.relative_to(settings.path)) if shown else run)
    return ExitCode.DONE
