"""`evalstore score`: grades stored outputs under the rubrics of a dataset."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from evalstore.cli.context import CommandSettings, add_output_options, format_examples, read_clock
from evalstore.cli.judging import add_judge_options
from evalstore.cli.option_sections import SectionedCommand
from evalstore.cli.param_types import (
    CONTENT_REF,
    MOST_UNGRADED,
    ONLY_HELP,
    SCORE,
    SHARE,
    USER_FILE,
    parse_only,
)
from evalstore.cli.saved_examples import ExampleRequest, add_save_option
from evalstore.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from evalstore.api import ArtifactStore
    from evalstore.model import Question
    from evalstore.runs import Run
    from evalstore.runs.run_view import CheckCorrection


class ScoreCommand(SectionedCommand):
    """The command, whose --worktree takes a value only after `=`.

    The next word is usually DATASET.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Give a bare --worktree its value."""
        end = args.index("--") if "--" in args else len(args)
        bare = [f"{word}=unreleased" if word == "--worktree" else word for word in args[:end]]
        return super().parse_args(ctx, bare + args[end:])


@click.command(
    cls=ScoreCommand,
    first="--out --model --rubric --worktree --fail-under --min-scored --dry-run --format",
    epilog=format_examples(
        "evalstore score dataset/web_answers@1.0.0 outputs/model_a.jsonl",
        (
            "evalstore score dataset/web_answers outputs/model_a.jsonl --worktree   "
            "# before anything is released"
        ),
        (
            "evalstore score dataset/web_answers@1.0.0 outputs/model_a.jsonl --out runs/model_a "
            "--format json"
        ),
        (
            "evalstore score dataset/web_answers@2.0.0 runs/web_answers-1.0.0-model_a.json   "
            "# the same outputs again"
        ),
        "evalstore score dataset/web_answers@1.0.0 answers.parquet   # rows in Parquet, too",
        (
            "evalstore score dataset/web_answers@1.0.0 answers.jsonl "
            "--rubric rubric/answer_style@2.0.0"
        ),
        "evalstore score dataset/web_answers@1.0.0 results.json --only model=openai:gpt-4o",
        (
            "evalstore score dataset/web_answers@1.0.0 shuffled.eval --match input   "
            "# a log without ids"
        ),
        (
            "evalstore score dataset/web_answers@1.0.0 answers.jsonl "
            "--judge-url http://localhost:8000/v1 --dry-run"
        ),
        "evalstore score dataset/web_answers@1.0.0 answers.jsonl --engine dask   # by all cores",
        (
            "evalstore score dataset/web_answers@1.0.0 answers.jsonl --engine dask "
            "--scheduler tcp://HOST:8786"
        ),
    ),
)
@click.argument("dataset", type=CONTENT_REF)
@click.argument("outputs", type=USER_FILE)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("runs"),
    show_default=True,
    help="Folder for the run; nothing in it is overwritten.",
)
@click.option(
    "--model",
    metavar="NAME",
    help="Name of the model; default: from the outputs, else the file's name.",
)
@click.option(
    "--only",
    metavar="WHAT=NAME",
    multiple=True,
    callback=parse_only,
    help=ONLY_HELP,
)
@click.option(
    "--match",
    "matched_by",
    type=click.Choice(["id", "input"]),
    default="id",
    show_default=True,
    help="Match outputs to questions by id, or by the input recorded with them.",
)
@click.option(
    "--rubric",
    metavar="REF",
    type=CONTENT_REF,
    help="Grade every question with this rubric, not its own.",
)
@click.option(
    "--worktree",
    type=click.Choice(
        ["unreleased", "all"]
    ),  # kept equal to `WorktreePins`, which --help does not import
    metavar="[=all]",
    help="Read unreleased artifacts from their files; with =all, every artifact.",
)
@click.option(
    "--eee-version",
    type=click.Choice(
        ["0.3.0", "0.2.2"]
    ),  # kept equal to `eee_write.LABELS`, which --help does not import
    default="0.3.0",
    show_default=True,
    help="Version of Every Eval Ever to write.",
)
@click.option(
    "--rows",
    "rows_format",
    type=click.Choice(
        ["jsonl", "parquet"]
    ),  # kept equal to `ROW_FORMATS`, which --help does not import
    help="Format of the run's rows; default: that of OUTPUTS. Parquet needs pyarrow.",
)
@click.option(
    "--fail-under",
    metavar="SCORE",
    type=SCORE,
    help="Exit 1 if the score is below this, in points of 100 (below 1 a fraction: 0.8 is 80); "
    "without --min-scored, unscored questions count as 0, and a check that graded no "
    "output at all fails, too.",
)
@click.option(
    "--min-scored",
    metavar="SHARE",
    type=SHARE,
    help=(
        "Exit 1 if less than this share (0.9) of the questions has a score, or of the gradings "
        "was made."
    ),
)
@click.option(
    "--max-ungraded",
    metavar="SHARE",
    type=SHARE,
    default=MOST_UNGRADED,
    show_default=True,
    help="Withhold the score and exit 1 if more than this share of all gradings failed; with "
    "--fail-under also if checks failed on more than this share of the questions.",
)
@click.option(
    "--corrected",
    is_flag=True,
    help="Also show each judged check's pass rate corrected for its judge's errors.",
)
@add_save_option(
    "QUESTION",
    (
        "Save the output that answers QUESTION as an example in its rubric, with its own verdict "
        "or VERDICT; repeatable."
    ),
)
@click.option(
    "--dry-run",
    is_flag=True,
    help="Show how many judge calls it would take; make none, write nothing.",
)
@click.option(
    "--engine",
    type=click.Choice(["local", "dask"]),
    default="local",
    help="Grade in this process, or with the workers of a Dask cluster.",
)
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Scheduler for --engine dask, as tcp://host:8786; default: one process per core.",
)
@add_output_options()
@add_judge_options
def command(  # noqa: PLR0913  # one parameter for each option that is not of the run
    settings: CommandSettings,
    dataset: str,
    outputs: Path,
    out: Path,
    *,
    worktree: str | None,
    fail_under: Fraction | None,
    min_scored: Fraction | None,
    corrected: bool,
    saves: tuple[ExampleRequest, ...],
    dry_run: bool,
    **options: Any,
) -> ExitCode:
    """Grade the stored OUTPUTS under the rubrics of DATASET, and keep the result as a run.

    OUTPUTS is JSONL with a line {"id", "output", "input"?, "tool_calls"?, "sample"?} for each
    output, or rows of Every Eval Ever; a .parquet file with such columns; a stored run; responses
    of a batch API; or what another tool wrote: Inspect AI, promptfoo, AgentV,
    lm-evaluation-harness, openai/evals, OpenAI hosted evals, waza, DeepEval, MLflow, Ragas. The
    format is detected from the content. The run is two files in the form of Every Eval Ever; the
    path of the first names it.

    If a record holds its input, the output must answer that question: a file in which ids and
    inputs belong to different questions is refused, and --match input joins it by the inputs.
    Inputs that belong to no question are counted next to the score.

    Several outputs to one question are its samples, numbered by "sample": 0, 1, 2, … (epochs in a
    log of Inspect AI). They count as one question, whose score is their exact mean.

    Judges are asked at an OpenAI-compatible endpoint (evalstore explain judging). Every reply is
    kept, so nothing is asked twice: a killed run continues where it stopped, and the same outputs
    are scored again without a call.

    With --worktree nothing needs to be released or committed: the run says "unreleased" and keeps
    the digests of the files, by which an audit finds the same content once it is released.

    Exits 1 if judges or PHP failed on more than --max-ungraded of all gradings: the run then has no
    score, and says what was not graded and what the rest comes to. Also if nothing has a score, or
    --fail-under or --min-scored is missed. If a check graded nothing because a model, an endpoint
    or PHP is missing, nothing is written and the exit code is 3, unless --offline allows it.

    Costly checks can use all cores of this machine (--engine dask) or others (--scheduler). The run
    is the same, byte for byte.

    With --corrected, each check that asks a judge also shows the share of its outputs that people
    would pass: the judge's pass rate, corrected by its true positive and true negative rate
    (Rogan-Gladen), with an interval that counts the errors of both. That takes a validation of the
    judge's content and of the answering model on 30 labelled rows or more; if no judge has one,
    nothing is graded, and the exit code is 3.
    """
    from evalstore.api import ScoringOptions, UnmetSettingError, open_job, write_run_by_engine

    grading = ScoringOptions(at=read_clock(), today=datetime.now(UTC).date(), **options)
    wanted = _Wanted(fail_under, min_scored, grading.max_ungraded)
    with (
        settings.open_store() as opened,
        open_job(dataset, settings.path / outputs, opened.with_worktree(worktree), grading) as job,
    ):
        if saves and dry_run:
            raise UsageError(
                "--save-example needs a run, and --dry-run writes none", hint="leave --dry-run out"
            )
        asked = [job.find_question(wanted.name) for wanted in saves]
        corrections = None
        if corrected:
            from evalstore.api import plan_corrections

            corrections = plan_corrections(job)
        if dry_run:
            plan, notes = job.plan_calls()
            settings.print_warnings(notes)
            settings.print_result(plan)
            return ExitCode.DONE
        try:
            run = write_run_by_engine(job, settings.path / out)
        except UnmetSettingError:
            # A run does not record what validation found in what it used.
            settings.print_warnings(job.run.notes)
            raise
        _save_examples(saves, asked, run, settings, opened)
    found = corrections.correct_run(run) if corrections else ()
    return _print_run(settings, run, out, wanted, found)


def _save_examples(
    saves: tuple[ExampleRequest, ...],
    asked: list[Question],
    run: Run,
    settings: CommandSettings,
    store: ArtifactStore,
) -> None:
    """Save outputs of a run as examples of the rubrics that graded them.

    Each is the first output to its question.
    """
    if not saves:
        return
    from evalstore.errors import RefusedError
    from evalstore.model import Sample, parse_ref
    from evalstore.runs import read_rows
    from evalstore.text import make_excerpt

    ids = {wanted.name for wanted in saves}
    rows = {row.id: row.outputs[0] for row in read_rows(run) if row.id in ids and row.rubric}
    if lost := sorted(ids - rows.keys()):
        raise RefusedError(
            f"no example is saved: the run has no graded output to {make_excerpt(lost[0])}"
        )
    for wanted, question in zip(saves, asked, strict=True):
        row = rows[wanted.name]
        wanted.save(
            settings, store, parse_ref(row.rubric).name, Sample(row.output, question), row.verdict
        )


class _Wanted(NamedTuple):
    """What a run must reach, according to the options: shares of 1."""

    score: Fraction | None
    scored: Fraction | None
    ungraded: Fraction


def _print_run(
    settings: CommandSettings,
    run: Run,
    out: Path,
    wanted: _Wanted,
    corrections: tuple[CheckCorrection, ...],
) -> ExitCode:
    """Print the result, and return whether it is enough."""
    from evalstore.runs.run_view import find_worst

    settings.print_warnings(run.notes)
    is_relative = settings.path / out != out and run.path.is_relative_to(settings.path)
    shown = replace(run, path=run.path.relative_to(settings.path)) if is_relative else run
    is_read = corrections or (settings.format == "text" and not settings.quiet)
    settings.print_result(
        replace(find_worst(run), run=shown, corrections=corrections) if is_read else shown
    )
    shortfalls = list(_find_shortfalls(run, wanted))
    for shortfall in shortfalls:
        settings.print_message(shortfall)
    return ExitCode.NO if shortfalls else ExitCode.DONE


def _explain_withholding(run: Run, most: Fraction) -> str:
    """Return what kept a run from having a score.

    It is more than the share `most` of all gradings, or of a check's.
    """
    from evalstore.text import make_excerpt

    if run.is_withheld and run.failed_gradings > most * run.gradings:
        return f"{run.failed_gradings:,} of {run.gradings:,} gradings failed"
    id_, outputs = run.silent_check
    is_silent = run.is_withheld and outputs > most * run.outputs
    return (
        f"{make_excerpt(id_)} graded nothing at {outputs:,} of {run.outputs:,} outputs"
        if is_silent
        else ""
    )


def _find_uncovered(run: Run, wanted: _Wanted) -> Iterator[str]:
    """Yield that too few gradings were made, or none for a check.

    No score passes by omitting checks.
    """
    from evalstore.text import make_excerpt

    graded, asked = run.coverage
    least = wanted.scored or Fraction(0)
    if graded < least * asked:
        yield (
            f"{graded:,} of {asked:,} gradings were made; --min-scored asks for "
            f"{float(100 * least):.4g} %"
        )
    left_out = [id_ for id_ in run.empty_checks if run.checks[id_].left_out]
    if wanted.scored is None and wanted.score is not None and left_out:
        names = ", ".join(map(make_excerpt, left_out))
        yield (
            f"the score is that of {run.coverage}: {names} had nothing to grade on any output; "
            "--min-scored says how much may be left out"
        )


def _write_points(score: Fraction) -> str:
    """Write a score in points of 100, exactly.

    Rounded, a score that misses by little would seem to be enough.
    """
    from evalstore.model import format_decimal

    return format_decimal(score * 100)


def _find_shortfalls(run: Run, wanted: _Wanted) -> Iterator[str]:
    """Yield how a run misses what was asked of it, in exact numbers.

    Without a score it misses everything.
    """
    questions = run.questions + run.without_output
    least = wanted.score or Fraction(0)
    if why := _explain_withholding(run, wanted.ungraded):
        yield f"no score: {why}, more than --max-ungraded {float(wanted.ungraded):g} allows"
        return
    if run.score is None:
        yield "nothing was scored"
    elif run.score < least:
        yield f"the score {_write_points(run.score)} is below {_write_points(least)}"
    elif wanted.scored is None and (lowest := run.score * run.scored / questions) < least:
        yield (
            f"the score is that of {run.scored:,} of {questions:,} questions; with the others "
            f"as 0 it is {_write_points(lowest)}, below {_write_points(least)}: --min-scored "
            "says how many may be left out"
        )
    if wanted.scored is not None and run.scored < wanted.scored * questions:
        yield (
            f"{run.scored:,} of {questions:,} questions have a score; --min-scored asks for "
            f"{float(100 * wanted.scored):.4g} %"
        )
    yield from _find_uncovered(run, wanted)
    failed = {id_ for summary in run.checks.values() for id_ in summary.error_ids}
    if wanted.score is not None and len(failed) > wanted.ungraded * questions:
        yield (
            f"checks failed on {len(failed):,} of {questions:,} questions, so the score says "
            "nothing of them: --max-ungraded says how many may be left out"
        )
