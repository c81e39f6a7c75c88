"""`evalstore audit`: explains why the scores of two runs differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from evalstore.cli.context import (
    PLAIN_FORMATS,
    CommandSettings,
    add_output_options,
    format_examples,
)
from evalstore.cli.judging import add_judge_options
from evalstore.cli.option_sections import SectionedCommand
from evalstore.cli.param_types import MOST_UNGRADED, ONLY_HELP, SHARE, USER_FILE, parse_only
from evalstore.cli.progress import make_count_watch
from evalstore.errors import EvalstoreError, ExitCode, GitError, LostGradersError, UsageError

if TYPE_CHECKING:
    from evalstore.api import (
        AuditOptions,
        Condition,
        RecordComparison,
        RecordReport,
        SliceKind,
    )

_MOST_MOVED = 300  # questions shown on a page


def _parse_conditions(
    _: click.Context, __: click.Parameter, words: tuple[str, ...]
) -> tuple[Condition, ...]:
    from evalstore.api import parse_condition

    return tuple(map(parse_condition, words))


def _parse_slices(_: click.Context, __: click.Parameter, word: str | None) -> SliceKind | None:
    from evalstore.api import SliceKind

    return SliceKind(word) if word else None


@click.command(
    cls=SectionedCommand,
    first="--question --by --fail-on --undecided --only --ask --allow-drift --format --verbose",
    epilog=format_examples(
        "evalstore audit runs/web_answers-1.0.0-model_a.json runs/web_answers-2.0.0-model_b.json",
        (
            "evalstore audit OLD.json NEW.json --question q17         "
            "# both outputs under both rubrics"
        ),
        "evalstore audit OLD.json NEW.json --fail-on 'own<-2'  # a condition for CI",
        "evalstore audit OLD.json NEW.json --format markdown      # a comment for a pull request",
        (
            "evalstore audit OLD.json NEW.json --format html > audit.html  "
            "# a page to read and to keep"
        ),
        "evalstore audit benchmark.json    # with_skill against without_skill, in one file",
        "evalstore audit OLD.eval NEW.eval    # what Inspect AI recorded: pairs of recorded scores",
        "evalstore audit OLD.json NEW.json --allow-drift   # an engine is another version now",
        "evalstore audit OLD.json NEW.json --ask --judge-url http://127.0.0.1:8000/v1",
    ),
)
@click.argument("run_a", type=USER_FILE)
@click.argument("run_b", type=USER_FILE, required=False)
@click.option(
    "--allow-drift",
    is_flag=True,
    help="If grading again gives other results, count them instead of refusing.",
)
@click.option(
    "--ask",
    is_flag=True,
    help="Ask today's judges about A's outputs where another model answered in B.",
)
@click.option("--only", metavar="WHAT=NAME", multiple=True, callback=parse_only, help=ONLY_HELP)
@click.option(
    "--question",
    metavar="ID",
    help="Show this question alone: each output under each rubric, every check.",
)
@click.option(
    "--by",
    type=click.Choice(["tag", "group", "check"]),
    callback=_parse_slices,
    help=(
        "Also break the result down by tag, group or check; p-values are adjusted for their "
        "number (Holm)."
    ),
)
@click.option(
    "--fail-on",
    "conditions",
    metavar="CONDITION",
    multiple=True,
    callback=_parse_conditions,
    help="Exit 1 if this is so, in points of 100, as in own<-2 (below 0.1 a fraction: own<-0.02 "
    "is own<-2); repeatable. One of own, own@old, own@new, own.mean, own.passes, "
    "own.typical, a share or line of the audit, delta, or flips (a number of verdicts).",
)
@click.option(
    "--max-ungraded",
    type=SHARE,
    default=MOST_UNGRADED,
    show_default=True,
    metavar="SHARE",
    help="Leave conditions undecided if more than this share of the questions could not be graded.",
)
@click.option(
    "--undecided",
    type=click.Choice(["fail", "pass"]),
    default="fail",
    show_default=True,
    help="Exit code when undecided.",
)
@add_output_options((*PLAIN_FORMATS, "markdown", "html"))
@add_judge_options
def command(  # noqa: PLR0913  # one parameter for each option that is not of the audit
    settings: CommandSettings,
    run_a: Path,
    run_b: Path | None,
    *,
    only: dict[str, str],
    question: str | None,
    conditions: tuple[Condition, ...],
    max_ungraded: Fraction,
    undecided: str,
    **options: Any,
) -> ExitCode:
    """Explain why two runs score differently, in points that add up.

    A run is named by its JSON file, its samples or a folder of its own. One of the two may be bare
    outputs, in any format that evalstore score reads: they are graded by the dataset and rubrics of
    the other. Both runs are graded again from their stored outputs, under every mix of the two.
    Rubric, judge, judge service, references, questions and outputs each get their share of the
    score and of the pass rate; every edit is shown with version, commit, author and date. Other
    questions, missing answers and failed checks have lines of their own. Factors that cannot be
    separated share one line. Judges answer from kept replies, else as recorded; missing replies of
    a released judge are asked for if an endpoint is named. A run that names no versions is graded
    by the releases that reproduce its scores.

    Two files that cannot be graded again (results of other tools, gradings without outputs, runs
    whose rubrics are lost, or any two runs without a store) are compared as recorded, answer by
    answer: how far the means differ, with an interval, which verdicts flip, what only one file has,
    and which versions, digests, models and judges differ; not which of them moved the score.
    --fail-on then takes delta and flips. So are the configurations of one file (with_skill and
    without_skill, two prompts, two models), if it is named alone: each is held against the
    baseline, or the first, and meets each condition by itself.

    Conditions of --fail-on are in points of 100: own<-2 asks whether the outputs themselves lost
    more than two points, own.passes<-5 the same of the pass rate, own.typical<0 of the typical
    question (its interval is that of the median). Answers that B lacks count as 0. What is sampled
    has an interval: the condition fails if all of it meets the condition, holds if none of it does,
    and else is undecided; own.mean<-2 asks for the mean alone. The exit code is 0 if every
    condition holds, and 1 if one fails or is undecided.
    """
    from evalstore.api import AuditOptions, find_record_reason

    moved = _MOST_MOVED if settings.format == "html" else 0
    auditing = AuditOptions(moved=moved, **options)
    asked = _Asked(only, question, conditions, max_ungraded, undecided)
    grading = {
        "--ask": auditing.ask,
        "--question": asked.question is not None,
        "--by": auditing.by is not None,
        "--allow-drift": auditing.allow_drift,
    }
    if run_b is None:
        _refuse_beside_records(grading, "the configurations of one file are compared as recorded")
        report = _compare_configurations(settings, run_a, asked)
        settings.print_result(report)
        results = [result for one in report.all for result in one.results]
        return asked.choose_exit_code(results)
    paths = settings.path / run_a, settings.path / run_b
    reason = find_record_reason(*paths)
    if not reason:
        if asked.only:
            raise UsageError("--only chooses among results of other tools, and these are runs")
        try:
            return _audit_runs(settings, (run_a, run_b), auditing, asked)
        except (GitError, LostGradersError) as error:
            reason = _explain_loss(settings, error, paths, grading)
    _refuse_beside_records(grading, reason)
    compared = _compare_records(settings, (run_a, run_b), asked, reason)
    settings.print_result(compared)
    return asked.choose_exit_code(compared.results)


class _Asked(NamedTuple):
    """What the command line asks besides the audit itself.

    It says what to show of the audit, and when the command fails.
    """

    only: dict[str, str]
    question: str | None
    conditions: tuple[Condition, ...]
    max_ungraded: Fraction
    undecided: str

    def choose_exit_code(self, results: Sequence[Any]) -> ExitCode:
        """Return 0 if every condition holds, or is undecided and that passes; else 1."""
        from evalstore.api import find_worst_answer

        passes = {"holds"} | ({"cannot tell"} if self.undecided == "pass" else set())
        return ExitCode.DONE if find_worst_answer(results) in passes else ExitCode.NO


def _audit_runs(
    settings: CommandSettings, runs: tuple[Path, Path], auditing: AuditOptions, asked: _Asked
) -> ExitCode:
    from evalstore.api import AuditReport, audit_runs, decide_conditions, grade_bare_outputs

    paths = settings.path / runs[0], settings.path / runs[1]
    with (
        settings.open_store() as store,
        grade_bare_outputs(*paths, store, auditing.judges) as graded,
    ):
        paths = graded.read
        if asked.question is not None:
            from evalstore.api import view_question

            _refuse_beside_question(
                {
                    "--fail-on decides": bool(asked.conditions),
                    "--by sums up": auditing.by is not None,
                }
            )
            view = view_question(*paths, asked.question, store, judges=auditing.judges)
            settings.print_result(view)
            return ExitCode.DONE
        result = audit_runs(*paths, store, auditing)
        timelines, files = None, None
        if settings.format == "html":
            from evalstore.api import build_timelines, read_audit_files

            timelines = build_timelines(result, paths, store)
            files = read_audit_files(store, result)
    # The report names each run as the user did, not by its path below -C.
    result = graded.name_sides(result)
    result = replace(
        result, a=replace(result.a, run=str(runs[0])), b=replace(result.b, run=str(runs[1]))
    )
    results = decide_conditions(result, asked.conditions, max_ungraded=asked.max_ungraded)
    settings.print_result(AuditReport(result, results, timelines, files))
    # With --max-ungraded 1, as in score, the score of the rest counts as the score.
    if asked.max_ungraded < 1 and (result.a.ungraded or result.b.ungraded):
        return ExitCode.NO
    return asked.choose_exit_code(results)


def _compare_records(
    settings: CommandSettings, files: tuple[Path, Path], asked: _Asked, reason: str
) -> RecordReport:
    from evalstore.api import RecordReport, compare_records, decide_record_conditions
    from evalstore.runs.imports.series_filter import SeriesFilter

    found = compare_records(
        settings.path / files[0],
        settings.path / files[1],
        watch=make_count_watch("reading", quiet=settings.quiet),
        choice=SeriesFilter(asked.only) if asked.only else None,
        reason=reason,
    )
    found = _name_sides(found, files)
    results = decide_record_conditions(found, asked.conditions, max_ungraded=asked.max_ungraded)
    return RecordReport(found, results)


def _name_sides(found: RecordComparison, files: tuple[Path, Path]) -> RecordComparison:
    """Return a comparison that names each file as the user did, not by its path below -C."""
    a, b = replace(found.a, run=str(files[0])), replace(found.b, run=str(files[1]))
    return replace(found, a=a, b=b)


def _compare_configurations(settings: CommandSettings, file: Path, asked: _Asked) -> RecordReport:
    from evalstore.api import RecordReport, compare_configurations, decide_record_conditions

    watch = make_count_watch("reading", quiet=settings.quiet)
    reports = []
    for one in compare_configurations(settings.path / file, asked.only, watch=watch):
        found = _name_sides(one, (file, file))
        results = decide_record_conditions(found, asked.conditions, max_ungraded=asked.max_ungraded)
        reports.append(RecordReport(found, results))
    first, *others = reports
    return replace(first, others=tuple(others))


def _explain_loss(
    settings: CommandSettings,
    error: EvalstoreError,
    paths: tuple[Path, Path],
    grading: dict[str, bool],
) -> str:
    """Return why two runs are compared as recorded.

    Raises the error if they cannot or must not be.
    """
    from evalstore.runs.records import has_verdicts

    outside = isinstance(error, GitError) and not _is_in_repository(settings)
    if isinstance(error, GitError) and not outside:
        raise error
    if outside:
        error.hint = "name the store of the rubrics with -C"
    if any(grading.values()) or not all(map(has_verdicts, paths)):
        raise error
    if outside:
        return "there is no store here; -C names one"
    return f"{error.message} ({error.hint})" if error.hint else error.message


def _is_in_repository(settings: CommandSettings) -> bool:
    from evalstore.store.locate import is_in_repository, resolve_folder

    return is_in_repository(resolve_folder(settings.path))


def _refuse_beside_records(options: dict[str, bool], reason: str) -> None:
    if used := [name for name, is_set in options.items() if is_set]:
        raise UsageError(f"{used[0]} grades outputs, and {reason}", hint=f"leave out {used[0]}")


def _refuse_beside_question(options: dict[str, bool]) -> None:
    if used := [what for what, is_set in options.items() if is_set]:
        raise UsageError(
            f"--question shows one question, but {used[0]} all of them", hint="use only one of them"
        )
