"""`evalstore judge`: a group whose `validate` measures how well a judge agrees with people."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from fractions import Fraction
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from evalstore.cli.context import (
    PLAIN_FORMATS,
    CommandSettings,
    add_output_options,
    format_examples,
    read_clock,
)
from evalstore.cli.judging import add_judge_options
from evalstore.cli.option_sections import SectionedCommand
from evalstore.cli.param_types import CONTENT_REF, SCORE, USER_FILE
from evalstore.cli.streams import write_safely
from evalstore.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from evalstore.api import ArtifactStore, Endpoint, Judges

_F = TypeVar("_F", bound=Callable[..., Any])
_add_against = click.option(
    "--against",
    metavar="REF",
    type=CONTENT_REF,
    help="The dataset the rows belong to, as in dataset/gold@1.0.0.",
)
_add_no_write = click.option(
    "--no-write", is_flag=True, help="Only measure; do not write into the judge's file."
)
_add_dry_run = click.option(
    "--dry-run",
    is_flag=True,
    help="Make no calls and write nothing; show how many calls it takes, or the diff.",
)


class _Writing(NamedTuple):
    """Whether to keep a measurement out of the judge's file.

    With `dry_run`, nobody is asked either.
    """

    no_write: bool
    dry_run: bool


def _add_writing_options(function: _F) -> _F:
    """Add --no-write and --dry-run to a command, which gets both as one value `writing`."""

    @_add_no_write
    @_add_dry_run
    @wraps(function)
    def run_with_writing(*args: Any, no_write: bool, dry_run: bool, **options: Any) -> Any:
        return function(*args, writing=_Writing(no_write, dry_run), **options)

    return run_with_writing  # type: ignore[return-value]  # the wrapper takes other keywords


def _measure(
    settings: CommandSettings,
    writing: _Writing,
    open_job: Callable[[ArtifactStore], AbstractContextManager[Any]],
    *,
    measure: Callable[[Any], Any],
    draft: Callable[[Any, Any], Any],
) -> Any:
    """Run the measurement of a job, then write what `draft` makes of it and print it.

    For a plan of calls, it returns None.
    """
    with settings.open_store() as store, open_job(store) as job:
        if writing.dry_run and (plan := job.plan_calls()).calls:
            settings.print_result(plan)
            return None
        found = measure(job)
        if not writing.no_write:
            made = draft(found, job)
            found = made.result if writing.dry_run else made.write(store)
    settings.print_warnings(found.notes)
    settings.print_result(found)
    return found


@click.group(
    invoke_without_command=True,
    subcommand_metavar="COMMAND [ARGS]...",
    epilog=format_examples(
        (
            "evalstore judge validate judge/accuracy --labels labels.jsonl "
            "--against dataset/gold@1.0.0"
        ),
        "evalstore judge noise judge/accuracy --run runs/answers.json",
        "evalstore judge examples judge/accuracy@worktree --judge-url URL",
        (
            "evalstore judge replace judge/accuracy --model new-model --run runs/answers.json "
            "--labels labels.jsonl"
        ),
    ),
)
@click.pass_context
def command(ctx: click.Context) -> ExitCode | None:
    """Measure judges, grade their examples, and move a judge to another model."""
    if ctx.invoked_subcommand:
        return None
    write_safely(sys.stderr, ctx.get_help() + "\n")
    return ExitCode.USAGE


def _parse_variables(
    _: click.Context, __: click.Parameter, value: tuple[str, ...]
) -> dict[str, str]:
    pairs = [word.partition("=") for word in value]
    if not all(name and equals for name, equals, _ in pairs):
        raise click.BadParameter("write NAME=TEXT")
    if len(variables := {name: text for name, _, text in pairs}) < len(pairs):
        raise click.BadParameter("give each name once")
    return variables


_add_variables = click.option(
    "--var",
    "variables",
    multiple=True,
    metavar="NAME=TEXT",
    callback=_parse_variables,
    help="Fill a variable.",
)


def _add_threshold(help_text: str) -> Callable[[_F], _F]:
    return click.option(
        "--threshold",
        metavar="SCORE",
        type=SCORE,
        default=70,
        show_default=True,
        help=help_text,
    )


@command.command(
    "examples",
    cls=SectionedCommand,
    short_help="Grade examples, asking the judge where no reply is kept.",
    epilog=format_examples(
        "evalstore judge examples judge/accuracy@worktree --judge-url URL",
        "evalstore judge examples rubric/answer_style@worktree  # from kept replies",
    ),
)
@click.argument("ref", type=CONTENT_REF)
@add_output_options(PLAIN_FORMATS)
@add_judge_options
def grade_examples(settings: CommandSettings, ref: str, *, judges: Judges) -> ExitCode:
    """Grade the `examples:` of REF, a rubric or a judge, asking its judges for missing replies.

    Every reply is kept, so that `evalstore validate` can grade the same examples without asking.
    Exits 1 if an example does not get what it expects, or could not be graded.
    """
    from evalstore.api import ask_examples

    with settings.open_store() as store:
        found = ask_examples(ref, store, judges)
    settings.print_result(found)
    return ExitCode.DONE if found.all_met else ExitCode.NO


@command.command(
    cls=SectionedCommand,
    first="--labels --against --threshold --var --check --no-write --dry-run --format",
    short_help="Measure how well a judge agrees with people.",
    epilog=format_examples(
        (
            "evalstore judge validate judge/accuracy --labels labels.jsonl "
            "--against dataset/gold@1.0.0"
        ),
        (
            "evalstore judge validate judge/accuracy --labels labels.jsonl "
            "--var criterion='Is it right?' --dry-run"
        ),
        "evalstore judge validate judge/accuracy@1.0.0 --labels labels.jsonl --no-write --check",
        (
            "evalstore judge validate judge/accuracy --labels labels.jsonl "
            "--format html > judge.html  # as a picture"
        ),
    ),
)
@click.argument("judge", type=CONTENT_REF)
@click.option(
    "--labels",
    required=True,
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The labelled rows.",
)
@_add_against
@_add_threshold("A score of at least this, in points of 100 (below 1 a fraction), is a pass.")
@_add_variables
@click.option(
    "--check",
    is_flag=True,
    help=(
        "Exit 1 unless the judge clearly beats a constant answer and judged at least 98 % of the "
        "rows."
    ),
)
@_add_writing_options
@add_output_options((*PLAIN_FORMATS, "html"))
@add_judge_options
def validate(  # noqa: PLR0913  # one parameter for each option that is not of the measurement
    settings: CommandSettings,
    judge: str,
    *,
    labels: Path,
    check: bool,
    writing: _Writing,
    judges: Judges,
    **options: Any,
) -> ExitCode:
    """Measure how well JUDGE agrees with people, and write that into its file.

    FILE is JSONL: a line {"id", "output", "label": "pass" or "fail"} for each labelled output. A
    line that also has a "verdict" is not asked again. Whatever else the judge reads from the
    question is in the line ("input", "expected", "context", "variables") or, by id, in the dataset
    that --against names.

    True positive and true negative rate, the number of rows, the day and the dataset go into the
    `validation` of judges/<id>.yaml; every other byte stays. Rows that could not be judged are
    counted, but in neither rate.
    """
    from evalstore.api import MeasurementRequest, check_writable, draft_validation, open_measurement

    if writing.dry_run and settings.format not in PLAIN_FORMATS:
        raise UsageError("--dry-run cannot be a page", hint="--format text")
    request = MeasurementRequest(judge, settings.path / labels, **options)
    if not writing.no_write:
        check_writable(judge, request.against)
    agreement = _measure(
        settings,
        writing,
        lambda store: open_measurement(request, store=store, judges=judges),
        measure=lambda job: job.measure_agreement(),
        draft=lambda found, job: draft_validation(found, job.judge.artifact, read_clock().date()),
    )
    if agreement is None or not check:
        return ExitCode.DONE
    is_good = agreement.confusion.surely_beats_baseline and not agreement.misses_many
    return ExitCode.DONE if is_good else ExitCode.NO


@command.command(
    "noise",
    cls=SectionedCommand,
    short_help="Measure how far a judge disagrees with itself.",
    epilog=format_examples(
        "evalstore judge noise judge/accuracy --run runs/answers.json --dry-run",
        "evalstore judge noise judge/accuracy --run runs/answers.json --repeat 5 --sample 30",
        "evalstore judge noise judge/accuracy@1.0.0 --run runs/answers.json --no-write",
    ),
)
@click.argument("judge", type=CONTENT_REF)
@click.option(
    "--run", required=True, metavar="RUN", type=USER_FILE, help="The run whose outputs to judge."
)
@click.option(
    "--repeat",
    metavar="K",
    type=click.IntRange(2, 100),
    default=5,
    show_default=True,
    help="How often to judge each output.",
)
@click.option(
    "--sample",
    "outputs",
    metavar="N",
    type=click.IntRange(1),
    default=30,
    show_default=True,
    help="Judge at most N outputs.",
)
@_add_writing_options
@add_output_options()
@add_judge_options
def measure_noise(
    settings: CommandSettings,
    judge: str,
    *,
    run: Path,
    writing: _Writing,
    judges: Judges,
    **options: Any,
) -> ExitCode:
    """Measure how far JUDGE disagrees with itself, by judging outputs of a run several times.

    The outputs are a fixed sample of those that the run has this judge grade, in any version. The
    first judgement of each is its kept reply. The plan of calls comes first.

    The standard deviation of one judgement, and the share of pairs of judgements with different
    verdicts, go into the `validation` of judges/<id>.yaml; every other byte stays. An audit
    compares changes of judged scores with them.
    """
    from evalstore.api import NoiseRequest, check_writable, draft_noise, open_noise_measurement

    request = NoiseRequest(judge, settings.path / run, **options)
    if not writing.no_write:
        check_writable(judge)
    _measure(
        settings,
        writing,
        lambda store: open_noise_measurement(request, store=store, judges=judges),
        measure=lambda job: job.measure_noise(),
        draft=lambda found, job: draft_noise(found, job.judge.artifact, read_clock().date()),
    )
    return ExitCode.DONE


@command.command(
    "replace",
    cls=SectionedCommand,
    first=(
        "--model --run --labels --against --endpoint --without --sample --no-write --dry-run "
        "--format"
    ),
    short_help="Move a judge to another model, and measure what that does.",
    epilog=format_examples(
        (
            "evalstore judge replace judge/accuracy --model new-model --run runs/answers.json "
            "--dry-run"
        ),
        (
            "evalstore judge replace judge/accuracy --model new-model --run runs/answers.json "
            "--labels labels.jsonl"
        ),
        (
            "evalstore judge replace judge/accuracy --model new-model --labels labels.jsonl "
            "--without temperature"
        ),
        (
            "evalstore judge replace judge/accuracy@1.0.0 --model new-model "
            "--run runs/answers.json --no-write"
        ),
    ),
)
@click.argument("judge", type=CONTENT_REF)
@click.option(
    "--model",
    required=True,
    metavar="NEW",
    help="The new model.",
)
@click.option(
    "--run", metavar="RUN", type=USER_FILE, help="The run whose outputs both models are to judge."
)
@click.option(
    "--labels",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Labelled rows for both models to judge.",
)
@_add_against
@_add_threshold(
    "On a labelled row, a score of at least this, in points of 100 (below 1 a fraction), is a pass."
)
@_add_variables
@click.option(
    "--endpoint",
    metavar="URL",
    help="Endpoint of the new model, if it has another one.",
)
@click.option(
    "--endpoint-key",
    metavar="KEY",
    envvar="EVALSTORE_NEW_JUDGE_KEY",
    show_envvar=True,
    help="The key of --endpoint; the one of --judge-url is never sent there.",
)
@click.option(
    "--without",
    multiple=True,
    metavar="KEY",
    help="Leave out a parameter of `model` that NEW does not take.",
)
@click.option(
    "--sample",
    "outputs",
    metavar="N",
    type=click.IntRange(1),
    help="Judge at most N questions; default: all.",
)
@_add_writing_options
@add_output_options()
@add_judge_options
def replace_model(  # noqa: PLR0913  # one parameter for each option that is not of the replacement
    settings: CommandSettings,
    judge: str,
    *,
    run: Path | None,
    labels: Path | None,
    against: str | None,
    threshold: Fraction,
    variables: dict[str, str],
    endpoint: str | None,
    endpoint_key: str | None,
    writing: _Writing,
    judges: Judges,
    **options: Any,
) -> ExitCode:
    """Move JUDGE to the model NEW: ask both models about the same outputs, then write NEW into the
    file.

    The outputs are those of a run that JUDGE graded, in any version, or labelled rows (as for judge
    validate), or both. Kept replies, verdicts that the run recorded, and a "verdict" in a labelled
    row are the old model's, and are not asked for again. The plan of calls comes first.

    The result is how far both agree, which verdicts flip, and how far the mean moves; with labelled
    rows also how often each is right, and the pass rate of the run without the errors of each
    (Rogan-Gladen).

    The file gets the new model, its rates on the labelled rows, and the day on which the endpoint
    retires it; what was measured of the old model is removed. A new model is a major change: bump
    the judge with --dependents.
    """
    from evalstore.api import (
        MeasurementRequest,
        ReplacementRequest,
        check_writable,
        draft_replacement,
        open_replacement,
    )

    rows = (
        MeasurementRequest(judge, settings.path / labels, against, threshold, variables)
        if labels
        else None
    )
    if against and not labels:
        raise click.UsageError("--against needs --labels")
    request = ReplacementRequest(
        judge,
        run=settings.path / run if run else None,
        labels=rows,
        endpoint=_make_endpoint(judges, endpoint, endpoint_key),
        **options,
    )
    if not writing.no_write:
        check_writable(judge, against)
    today = read_clock().date()
    _measure(
        settings,
        writing,
        lambda store: open_replacement(request, store=store, judges=judges),
        measure=lambda job: job.measure(today),
        draft=lambda found, job: draft_replacement(
            found, job.old.judge.artifact, job.new.judge.artifact, today
        ),
    )
    return ExitCode.DONE


def _make_endpoint(judges: Judges, url: str | None, key: str | None) -> Endpoint | None:
    """Return the endpoint of the new model, with the patience of the other one.

    Returns None without a URL, and offline.
    """
    from evalstore.api import Endpoint

    if not url or judges.offline:
        return None
    # A key is a secret between its owner and one endpoint.
    own = judges.endpoint.key if judges.endpoint and judges.endpoint.url == url else ""
    if judges.endpoint is None:
        return Endpoint(url, key or "")
    return replace(judges.endpoint, url=url, key=key or own)
