"""`evalstore diff`: shows which changes can move a score, and which bump they need."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from evalstore.cli.context import (
    PLAIN_FORMATS,
    PROBLEM_FORMATS,
    CommandSettings,
    add_output_options,
    format_examples,
)
from evalstore.cli.diff_sides import (
    DiffSide,
    compare_sides,
    is_file_name,
    open_optional_store,
    read_side,
)
from evalstore.cli.judging import add_judge_options
from evalstore.cli.option_sections import SectionedCommand
from evalstore.cli.param_types import REF, check_ref, name_artifact, read_ref
from evalstore.cli.progress import make_count_watch, make_watch
from evalstore.cli.saved_examples import ExampleRequest, add_save_option
from evalstore.errors import EvalstoreError, ExitCode, UsageError
from evalstore.model import Artifact

if TYPE_CHECKING:
    from evalstore.api import (
        ArtifactStore,
        CallPlan,
        ChangeSide,
        Diff,
        Judges,
        RunMeasurement,
        StoreDiff,
    )

_ASKED = "evalstore diff REF --ask N --run RUN"


@click.command(
    cls=SectionedCommand,
    first="--run --ask --dry-run --exit-code --fail-on --profile --format --verbose",
    epilog=format_examples(
        "evalstore diff                            # everything that changed since its release",
        "evalstore diff rubrics/answer_style.yaml  # the same as rubric/answer_style",
        "evalstore diff rubric/answer_style@1.0.0 rubric/answer_style@2.0.0",
        "evalstore diff judge/accuracy@1.0.0 judge/accuracy@git:main --format json",
        "evalstore diff rubric/answer_style --run runs/web_answers-1.0.0-model_a.json",
        "evalstore diff judge/accuracy --ask 30 --run runs/answers.json --dry-run",
        "evalstore diff rubric/answer_style --save-example 5df6ff2ca67f5311=fail",
        "evalstore diff old.yaml new.yaml --exit-code",
        "evalstore diff rubric/answer_style --format html > diff.html",
    ),
)
@click.argument("sides", metavar="[A [B]]", nargs=-1, shell_complete=REF.shell_complete)
@click.option(
    "--exit-code", is_flag=True, help="Exit 1 if a bump is needed, or a setting moves scores."
)
@click.option(
    "--fail-on",
    type=click.Choice(["certain", "possible"]),
    help=(
        "Exit 1 only if a certain change, or one that only a judge's replies can decide "
        "(possible), needs a bump."
    ),
)
@click.option(
    "--profile",
    type=click.Choice(["score", "headline"]),
    help="What counts as major; default: as evalstore.yaml says.",
)
@click.option(
    "--run",
    "runs",
    multiple=True,
    metavar="RUN",
    help="Also grade this run's outputs under both sides; repeatable.",
)
@click.option(
    "--ask",
    type=click.IntRange(1, 100_000),
    metavar="N",
    help=(
        "Ask the judge about N outputs of --run in the old and the new wording, and count the "
        "verdicts that flip."
    ),
)
@click.option(
    "--dry-run", is_flag=True, help="With --ask: show how many calls it takes; make none."
)
@add_save_option(
    "FINGERPRINT",
    (
        "Save the output that shows this change as an example in B, with its new verdict or "
        "VERDICT; repeatable."
    ),
)
@add_output_options((*PROBLEM_FORMATS, "html"))
@add_judge_options
def command(  # noqa: PLR0913  # the options of the command line
    settings: CommandSettings,
    sides: tuple[str, ...],
    *,
    exit_code: bool,
    fail_on: str | None,
    profile: str | None,
    saves: tuple[ExampleRequest, ...],
    runs: tuple[str, ...],
    ask: int | None,
    dry_run: bool,
    judges: Judges,
) -> ExitCode:
    """Show what changed from A to B, which way scores can move, and which bump that needs.

    A and B are references or files. Without B, A is compared with the working tree; A without a
    pin, or the file of an artifact, then means its last release. Without A, every artifact that
    changed since its last release is shown. What evalstore.yaml overrides, and what was accepted
    since that release, is shown with each change.

    Under the profile `score` a change is major if it can move the score of one output; under
    `headline`, also if it can move a mean over the same outputs, as a new question does.

    With --run, the outputs of a stored run are graded under A and under B, to show how many move
    and how far. That never lowers a level. No judge is asked: kept or recorded replies count, and
    outputs without one are unscored.

    With --ask N, judges grade N stored outputs with the old and with the new wording, and with one
    of them twice, to show how many verdicts flip, which way, and how many flip by themselves. The
    outputs are a fixed sample, drawn in proportion from each check and verdict. Replies are kept;
    the plan of calls comes first. The result goes into the tag of the next release, and into `log`.
    """
    fail_on = fail_on or ("any" if exit_code else None)
    _refuse_what_does_not_fit(_Given(sides, runs, saves, ask or 0, dry_run, settings.format))
    if not sides:
        return _show_all_changes(settings, profile, fail_on, judges)
    a, b = _choose_sides(sides, settings)
    with ExitStack() as stack:
        store = open_optional_store(
            settings, stack, needed=not (is_file_name(a) and is_file_name(b))
        )
        pair = (read_side(a, settings, store), read_side(b, settings, store))
        diff = compare_sides(pair, store, profile, _make_row_watch(quiet=settings.quiet), judges)
        if saves:
            _save_examples(saves, diff, pair[1], settings, store)
        if ask:
            found = _ask_judges(diff, _Asking(ask, runs[0], judges, dry_run), pair, settings, store)
            if not isinstance(found, type(diff)):
                settings.print_result(found)
                return ExitCode.DONE
            diff = found
        else:
            diff = replace(
                diff, measured=tuple(_measure_run(run, pair, settings, store) for run in runs)
            )
    if diff.asked is None:
        from evalstore.api import suggest_ask_command

        diff = replace(diff, ask_command=suggest_ask_command(diff, settings.path))
    settings.print_result(diff)
    return _decide_exit(diff, fail_on)


def _decide_exit(diff: Diff | StoreDiff, wanted: str | None) -> ExitCode:
    """Return 1 if a change of the wanted certainty needs a bump.

    A setting that moves scores is certain, and so is what an output shows for all edits together.
    """
    certain = diff.certain + diff.has_settings + diff.is_shown
    counts = {"certain": certain, "possible": diff.possible}
    counts["any"] = sum(counts.values())
    needs_bump = diff.required_bump or diff.has_settings
    return ExitCode.NO if wanted and counts[wanted] and needs_bump else ExitCode.DONE


class _Given(NamedTuple):
    """The parts of the command line that may exclude each other."""

    sides: tuple[str, ...]
    runs: tuple[str, ...]
    saves: tuple[ExampleRequest, ...]
    ask: int
    dry_run: bool
    format: str


class _Refusal(NamedTuple):
    """When a command line is refused, why, and what to write instead."""

    holds: Callable[[_Given], bool]
    message: str
    hint: str


_REFUSALS = (
    _Refusal(
        lambda given: len(given.sides) > len(("A", "B")),
        "diff compares two sides",
        "see evalstore diff --help",
    ),
    _Refusal(
        lambda given: not given.sides and given.ask > 0, "--ask needs a single artifact", _ASKED
    ),
    _Refusal(
        lambda given: given.dry_run and not given.ask,
        "--dry-run goes with --ask",
        f"{_ASKED} --dry-run",
    ),
    _Refusal(
        lambda given: not given.sides and bool(given.runs),
        "--run needs a single artifact",
        "name the artifact: evalstore diff REF --run RUN",
    ),
    _Refusal(
        lambda given: not given.sides and bool(given.saves),
        "--save-example needs a single artifact",
        "name the artifact: evalstore diff REF --save-example FINGERPRINT",
    ),
    _Refusal(
        lambda given: given.ask > 0 and len(given.runs) != 1,
        "--ask takes its outputs from one run",
        "name it: --run RUN",
    ),
    _Refusal(
        lambda given: given.dry_run and given.format not in PLAIN_FORMATS,
        "--dry-run prints text or JSON",
        "--format json, or text",
    ),
)


def _refuse_what_does_not_fit(given: _Given) -> None:
    """Raise `UsageError` for the first of `_REFUSALS` that holds."""
    for refusal in _REFUSALS:
        if refusal.holds(given):
            raise UsageError(refusal.message, hint=refusal.hint)


class _Asking(NamedTuple):
    """What --ask says: how many verdicts, on which run, and from whom.

    `dry_run` says whether to count the calls only.
    """

    verdicts: int
    run: str
    judges: Judges
    dry_run: bool


def _ask_judges(
    diff: Diff,
    asking: _Asking,
    sides: tuple[DiffSide, DiffSide],
    settings: CommandSettings,
    store: ArtifactStore | None,
) -> Diff | CallPlan:
    """Add the judges' answers under old and new wording to a comparison, and return it.

    A dry run returns the plan of the calls instead.
    """
    from evalstore.api import WordingRequest, keep_asked, open_wording_trial

    if store is None:
        raise UsageError(
            "--ask needs the store that its rubrics are in",
            hint="run it within the store, or name it: -C",
        )
    old, new = (_make_change_side(side, store) for side in sides)
    request = WordingRequest(settings.path / asking.run, asking.verdicts)
    with open_wording_trial(request, old, new, store=store, judges=asking.judges) as trial:
        if asking.dry_run and (plan := trial.plan_calls()).calls:
            return plan
        asked = replace(trial.ask_judges(), run=asking.run)
        settings.print_warnings(trial.list_notes())
    if not asking.dry_run:
        try:
            keep_asked(store, sides[0].artifact, sides[1].artifact, asked)
        except EvalstoreError as error:  # the calls were paid for, so the result is shown
            settings.print_warnings([f"the judges' answers are not kept for the release: {error}"])
    return replace(diff, asked=asked)


def _save_examples(
    saves: tuple[ExampleRequest, ...],
    diff: Diff,
    new: DiffSide,
    settings: CommandSettings,
    store: ArtifactStore | None,
) -> None:
    """Save the outputs that show some changes as examples in the working file of B."""
    from evalstore.api import find_shown_output

    if store is None or isinstance(new.version, Artifact):
        hint = f"name it by its reference: {new.artifact.kind}/<id>"
        raise UsageError(
            f"{new.name} is compared as a file, and --save-example writes into a store", hint=hint
        )
    found = [(wanted, find_shown_output(diff, wanted.name)) for wanted in saves]
    for wanted, shown in found:
        wanted.save(settings, store, new.artifact.name, shown.sample, shown.result, shown.message)


def _show_all_changes(
    settings: CommandSettings, profile: str | None, fail_on: str | None, judges: Judges
) -> ExitCode:
    from evalstore.api import Profile, compare_all, open_kept_replies, suggest_ask_command

    with settings.open_judged_store() as store:
        watches = (
            make_watch("comparing", quiet=settings.quiet, fewest=2),
            _make_row_watch(quiet=settings.quiet),
        )
        with open_kept_replies(store, judges) as replies:
            today = datetime.now(UTC).date()
            result = compare_all(
                store, today, Profile(profile) if profile else None, watches, replies
            )
    asking = (
        replace(diff, ask_command=suggest_ask_command(diff, settings.path)) for diff in result.diffs
    )
    result = replace(result, diffs=tuple(asking))
    settings.print_result(result)
    if result.broken:
        return ExitCode.FAILED
    return _decide_exit(result, fail_on)


def _make_row_watch(*, quiet: bool) -> Callable[[Iterable[Any]], Iterable[Any]]:
    """Return a function that counts rows, which are read in blocks."""
    return make_count_watch("reading rows", quiet=quiet, weigh=lambda block: len(block.data))


def _choose_sides(sides: tuple[str, ...], settings: CommandSettings) -> tuple[str, str]:
    """Return both sides; the file of an artifact by itself is compared with its last release."""
    a, *rest = sides
    if not rest:
        return _choose_release_and_file(a, settings)
    if is_file_name(a) or not is_file_name(rest[0]):
        return _name_pinned(a, settings.path), _name_pinned(rest[0], settings.path)
    try:
        return a, name_artifact(rest[0], settings.path, of_content=True)
    except UsageError:  # a file from elsewhere is compared, too
        return a, rest[0]


def _name_pinned(word: str, directory: Path) -> str:
    """Return the reference that a file with a pin means (`rubrics/tone.yaml@1.0.0`).

    Any other word stays as it is.
    """
    return word if is_file_name(word) else name_artifact(word, directory)


def _measure_run(
    run: str,
    sides: tuple[DiffSide, DiffSide],
    settings: CommandSettings,
    store: ArtifactStore | None,
) -> RunMeasurement:
    from evalstore.api import measure_change

    if store is None:
        raise UsageError(
            "--run needs the store that its rubrics are in",
            hint="run it within the store, or name it: -C",
        )
    old, new = (_make_change_side(side, store) for side in sides)
    return replace(measure_change(settings.path / run, old, new, store), run=run)


def _make_change_side(side: DiffSide, store: ArtifactStore) -> ChangeSide:
    from evalstore.api import ChangeSide, make_loader
    from evalstore.model import iterate_questions

    load = make_loader(store, side.version)
    if isinstance(side.version, Artifact):
        return ChangeSide(side.artifact, load, lambda: iterate_questions(side.artifact.value))
    return ChangeSide(side.artifact, load, lambda: store.questions(side.name))


def _choose_release_and_file(a: str, settings: CommandSettings) -> tuple[str, str]:
    try:
        ref = name_artifact(a, settings.path)
    except UsageError as error:
        if not (settings.path / a).exists():
            raise UsageError(f"{a}: no such file") from error
        hint = f"name the other side: evalstore diff {a} OTHER, a file or a reference"
        raise UsageError(f"{a} is not a file of this store", hint=hint) from error
    return ref, f"{read_ref(check_ref(ref, settings.path)).name}@worktree"
