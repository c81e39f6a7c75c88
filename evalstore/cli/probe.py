"""`evalstore probe`: grades what ought to fail under a rubric, and looks for parts that no output needs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from evalstore.cli.context import CommandSettings, add_output_options, format_examples
from evalstore.cli.judging import add_judge_options
from evalstore.cli.option_sections import SectionedCommand
from evalstore.cli.param_types import CONTENT_REF, USER_FILE
from evalstore.cli.saved_examples import WantedExample, add_save_option
from evalstore.errors import ExitCode

if TYPE_CHECKING:
    from evalstore.api import Judges


@click.command(
    cls=SectionedCommand,
    epilog=format_examples(
        "evalstore probe rubric/answer_style                                # the empty text, a refusal, its phrases",
        "evalstore probe rubric/answer_style --dataset dataset/web_answers  # questions and references, too",
        "evalstore probe rubric/answer_style@worktree --dataset dataset/web_answers --outputs outputs/model_a.jsonl",
        "evalstore probe rubrics/answer_style.yaml --exit-code              # as a gate",
        "evalstore probe rubric/answer_style --save-example refusal         # and validate says when it passes",
        "evalstore probe judge/accuracy@worktree --judge-url URL            # its examples",
    ),
)
@click.argument("rubric", type=CONTENT_REF)
@click.option("--dataset", metavar="REF", type=CONTENT_REF, help="Try every question that RUBRIC grades, too.")
@click.option(
    "--outputs",
    metavar="FILE",
    type=USER_FILE,
    help="Stored outputs, or a run: which changes of RUBRIC would none of them show?",
)
@click.option(
    "--exit-code",
    is_flag=True,
    help="Exit 1 when a text passes that says nothing, a reference or an example fails, or what could not be graded "
    "decides.",
)
@add_save_option(
    "TEXT", "Save this text in RUBRIC's file as an example that expects the verdict wanted, or VERDICT; repeatable."
)
@add_output_options()
@add_judge_options
def command(  # noqa: PLR0913  # one parameter for each option
    settings: CommandSettings,
    rubric: str,
    *,
    dataset: str | None,
    outputs: Path | None,
    exit_code: bool,
    saves: tuple[WantedExample, ...],
    judges: Judges,
) -> ExitCode:
    """Try RUBRIC on texts whose verdict is known: what says nothing should fail, and the reference pass.

    Tried are the empty text, a refusal, and all that the checks look for in one line; with --dataset also each question
    repeated, its reference, and the reference denied. With --outputs, RUBRIC is changed one part at a time, as a slip
    of the hand would: a check or a phrase less, a switch turned, a weight doubled, a threshold moved. A change that
    moves no stored output is one that nobody would notice; so these outputs say nothing of that part.

    A text that says nothing may pass where a rubric is only a part of a grade; then look at who reads it.

    The examples in its file are graded, too, and of a judge they alone: replies that are missing are asked for, and
    `validate` finds them from then on. A text that is saved as one is named as the table names it, and answers the
    first question that it is wrong for.
    """
    from evalstore.api import probe
    from evalstore.model import parse_ref

    path = settings.path / outputs if outputs else None
    with settings.open_store() as store:
        found = probe(rubric, store, dataset=dataset, outputs=path, judges=judges)
        texts = [found.find_text(wanted.name) for wanted in saves]
        for wanted, text in zip(saves, texts, strict=True):
            note = f"evalstore probe: {text.name}"
            wanted.save(settings, store, parse_ref(rubric).name, text.sample, text.wanted, note)
    settings.print_result(found)
    return ExitCode.NO if exit_code and not found.sound else ExitCode.DONE
