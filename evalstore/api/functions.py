"""The public functions over the other packages.

They convert arguments, and decide nothing themselves. Each imports what it needs when it is called,
so a program that only opens a store waits for nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import evalstore.report  # noqa: F401  # it registers how results are shown in a notebook
from evalstore.api.store import Store, warn_of_findings
from evalstore.arguments import require_arguments, require_choice
from evalstore.errors import SchemaError, UsageError
from evalstore.model.artifact import Artifact
from evalstore.model.refs import Kind, find_kind
from evalstore.store import ArtifactStore, Resolved
from evalstore.text import make_excerpt

if TYPE_CHECKING:
    from datetime import datetime

    from evalstore.audits import Audit
    from evalstore.audits.conditions import ConditionResult
    from evalstore.audits.slices import SliceKind
    from evalstore.checks import CheckContext
    from evalstore.diff import ComparisonSettings, Diff, Profile
    from evalstore.model import Output, Question, RubricResult
    from evalstore.runs import Run
    from evalstore.scoring.judging import Judges, JudgeSession


def audit(  # noqa: PLR0913  # what a command line can say, each by its name
    run_a: Run | Path | str,
    run_b: Run | Path | str,
    store: Store | ArtifactStore,
    *,
    allow_drift: bool = False,
    judges: Judges | None = None,
    ask: bool = False,
    by: SliceKind | str | None = None,
    moved: int = 0,
) -> Audit:
    """Explain why the mean score of run B differs from run A's, in exact shares that add up.

    One of the two may be a file of outputs, in any format that `score` takes; it is graded by the
    dataset and rubrics of the other. Judges answer from kept replies, then from what the runs
    recorded, then as `judges` says. Factors that cannot be separated have one share.

    Args:
        run_a: A `Run`, or the path to its JSON file.
        run_b: The run to compare with it.
        store: The store of their rubrics.
        allow_drift: Whether to count results that regrading does not reproduce, instead of refusing
            them.
        judges: Who supplies missing answers.
        ask: Whether to ask today's judges about A's outputs where another model answered in B.
        by: What to break the result down by: `tag`, `group` or `check`.
        moved: How many of the most-moved questions to keep in full.

    Returns:
        The shares, as fractions of 1: `.delta`, `.factors` (each `.name`, `.share`, `.causes`),
        `.lines` (questions, missing answers, failed checks), `.own`. `print` shows the answer;
        `.sentence` says what moved the score.

    Raises:
        RefusedError: A run cannot be graded again in this store, regrading gives other results
            (unless `allow_drift`), or nothing can be compared.
        LoadError: A file cannot be read.
        UsageError: There is no such breakdown.

    Examples:
        >>> a = score("dataset/help_desk", "outputs/model_a.jsonl", store=store, out=None)
        >>> print(audit(a, a, store).sentence)
        The score did not move: nothing changed.
    """
    require_arguments(audit, locals())
    from evalstore.audits import AuditOptions, audit_runs
    from evalstore.audits.bare_outputs import grade_bare_outputs
    from evalstore.audits.slices import SliceKind
    from evalstore.runs import Run
    from evalstore.scoring.judging import Judges

    if by is not None:
        require_choice("by", by, SliceKind)
    a, b = (run if isinstance(run, Run) else Path(run) for run in (run_a, run_b))
    artifacts = store.artifacts
    options = AuditOptions(
        allow_drift=allow_drift,
        judges=judges or Judges(),
        ask=ask,
        by=None if by is None else SliceKind(by),
        moved=moved,
    )
    with grade_bare_outputs(a, b, artifacts, judges) as opened:
        return opened.name_sides(audit_runs(*opened.read, artifacts, options))


def check_conditions(audit: Audit, *conditions: str) -> tuple[ConditionResult, ...]:
    """Decide conditions on an audit, as `evalstore audit --fail-on` does in CI.

    The effect of the outputs is judged by its 95 % interval: a condition fails if the whole
    interval meets it, holds if none of it does, and otherwise cannot be decided.

    Args:
        audit: The audit of two runs.
        *conditions: What must not happen, in points of 100: `own<-2`, `own.passes<-5`, `delta<0`,
            or `flips>3` (a number of verdicts).

    Returns:
        For each, `.answer` (`holds`, `fails` or `cannot tell`), `.value` (a fraction of 1, or a
        number of flips; None where the answer is `cannot tell`) and `.reason`.

    Raises:
        UsageError: A condition cannot be read.

    Examples:
        >>> run = score("dataset/help_desk", "outputs/model_a.jsonl", store=store, out=None)
        >>> [str(found.answer) for found in check_conditions(audit(run, run, store), "own<-2")]
        ['holds']
    """
    require_arguments(check_conditions, locals())
    from evalstore.audits import conditions as gate

    return gate.decide_conditions(audit, [gate.parse_condition(text) for text in conditions])


def compare(  # noqa: PLR0913  # two sides, and what is known beside them
    old: Artifact | Resolved | Mapping[str, Any] | str,
    new: Artifact | Resolved | Mapping[str, Any] | str,
    *,
    store: Store | ArtifactStore | None = None,
    load: Callable[[str], Artifact] | None = None,
    rows: tuple[Iterable[Mapping[str, Any]], Iterable[Mapping[str, Any]]] | None = None,
    profile: Profile | str | None = None,
    settings: ComparisonSettings | None = None,
    watch: Callable[[Iterable[Any]], Iterable[Any]] = iter,
    judges: Judges | None = None,
) -> Diff:
    """Find what changed between two artifacts, and which bump that needs.

    With a store this is `evalstore diff`: the overrides in evalstore.yaml apply, and so does what
    was accepted since the release `old`.

    Args:
        old: An artifact, its mapping, or with `store` a reference (without a pin: the last
            release).
        new: The other side, likewise.
        store: The store that has the references, and what both sides refer to; without it, a moved
            pin is major.
        load: Resolves references within a side when there is no store.
        rows: The old and new rows of a dataset that keeps them in a file; found automatically for
            references.
        profile: What counts as major; default: what evalstore.yaml says.
        settings: Settings for changes, used instead of evalstore.yaml's.
        watch: Wraps the iteration over the new side's rows, as a progress bar does.
        judges: Judges whose kept replies grade the examples; none is asked.

    Returns:
        `.required_bump`, `.next_version`, and in `.findings` one finding per change, which `print`
        shows as a line: `.level`, `.message`, `.direction`, `.witness`, `.max_shift` (a fraction of
        1).

    Raises:
        RefError: There is no such artifact or version.
        UsageError: The sides have different kinds, or a reference is given without a store.

    Examples:
        >>> old = store.load("rubric/answer_style@1.0.0").value
        >>> diff = compare(old, old | {"scoring": {"combine": "min"}}, store=store)
        >>> print(diff.required_bump, diff.next_version)
        major 2.0.0
        >>> print(diff.findings[0])
        MAJOR the checks combine by min (was weighted_avg)
    """
    require_arguments(compare, locals())
    from evalstore.diff import ComparisonSettings, Profile

    if profile is not None:
        require_choice("profile", profile, Profile)
        profile = Profile(profile)
    if store is None:
        from evalstore.diff import compare as compare_documents

        sides = [_read_artifact(side, None, "compare") for side in (old, new)]
        _require_one_kind(*sides)
        settings = settings or ComparisonSettings(profile or Profile.SCORE)
        return compare_documents(*sides, load=load, rows=rows, settings=settings)
    store = store.artifacts
    from datetime import UTC, datetime

    from evalstore.release.changes.acceptances import ChangePolicy, read_change_policy
    from evalstore.release.changes.store_diff import (
        compare_sides,
        resolve_side,
        skip_released_version,
    )

    before, after = (
        resolve_side(store, side) if isinstance(side, str) else side for side in (old, new)
    )
    _require_one_kind(before, after)
    today = datetime.now(UTC).date()
    policy = (
        ChangePolicy(settings, (), today) if settings else read_change_policy(store, today, profile)
    )
    with open_kept_replies(store, judges) as replies:
        diff = compare_sides(
            store, before, after, policy, load=load, rows=rows, watch=watch, replies=replies
        )
    return skip_released_version(store, diff, before, after)


@contextmanager
def open_kept_replies(store: ArtifactStore, judges: Judges | None = None) -> Iterator[CheckContext]:
    """Open the kept replies of judges, to grade examples by them.

    Nothing is read until the first reply is needed. The endpoint of `judges` is never called.
    """
    from evalstore.checks import CheckContext

    with ExitStack() as opened:

        @cache
        def open_replies() -> JudgeSession:
            from evalstore.scoring.judging import Judges, open_session

            silent = replace(judges or Judges(), endpoint=None, fresh=False)
            return opened.enter_context(open_session(silent, store.git.common))

        yield CheckContext(
            ask=lambda call: open_replies().ask(call), model=judges.model if judges else {}
        )


def evaluate(  # noqa: PLR0913  # what a command line can say, each by its name
    rubric: Artifact | Resolved | Mapping[str, Any] | str,
    output: str | Output | Mapping[str, Any],
    question: Question | Mapping[str, Any] | None = None,
    *,
    store: Store | ArtifactStore | None = None,
    judges: Judges | None = None,
    worktree: str | None = None,
) -> RubricResult:
    """Grade one output.

    Args:
        rubric: An artifact, its mapping, or with `store` a reference.
        output: A text, or `{output, tool_calls?}`.
        question: What the checks take from a question, such as `{"input": …, "expected": …}`.
        store: The store that resolves references and keeps judges' replies; its `strict` setting
            refuses answers of approximate engines.
        judges: Who answers when no reply is kept, as `Judges(Endpoint(url, key), model={"id": …})`.
        worktree: As for `Store.with_worktree`.

    Returns:
        `.score` (an exact fraction of 1, None when nothing could be graded), `.verdict`, and
        `.checks`, each with `.id`, `.score`, `.verdict` and `.reason`.

    Raises:
        SchemaError: The rubric cannot be read as one.
        RefError: There is no such artifact or version.
        UsageError: A reference or `worktree` is given without a store.
        EvalstoreError: The judges' endpoint cannot be reached, or refuses the calls.

    Examples:
        >>> result = evaluate("rubric/answer_style", "Run `export`.", store=store)
        >>> result.score, str(result.verdict), result.checks[1].reason
        (Fraction(1, 2), 'fail', '0 of 3 values found, 1 needed')
    """
    require_arguments(evaluate, locals())
    from evalstore.checks import evaluate as grade
    from evalstore.model import Kind
    from evalstore.scoring.grading import FloatingRefs, open_grading
    from evalstore.scoring.judging import Judges

    if store is not None:
        store = store.artifacts
    if worktree is not None:
        if store is None:
            raise UsageError(
                "evaluate: worktree needs a store", hint="evaluate(…, store=Store.open(path))"
            )
        store = store.with_worktree(worktree)
    if store is None:
        return grade(_read_artifact(rubric, store, "evaluate"), output, question)
    find = cache(store.resolve)  # what is validated is also what grades
    if isinstance(rubric, str):
        from evalstore.lint.use import list_used

        rubric = find(rubric)
        warn_of_findings(store, list_used([rubric.ref], find), "nothing was graded", find)
    artifact = _read_artifact(rubric, store, "evaluate")
    if isinstance(artifact, Artifact) and artifact.kind is not Kind.RUBRIC:
        raise SchemaError(f"{artifact.versioned} is a {artifact.kind}, not a rubric")
    taken = FloatingRefs.TAKEN
    with open_grading(store, judges or Judges(), floating=taken, find=find) as grading:
        return grading.session.repeat_until_answered(
            lambda: grade(artifact, output, question, context=grading.context)
        )


def score(  # noqa: PLR0913  # what a command line can say, each by its name
    dataset: str,
    outputs: Path | str,
    *,
    store: Store | ArtifactStore,
    out: Path | str | None = "runs",
    model: str | None = None,
    rubric: str | None = None,
    judges: Judges | None = None,
    at: datetime | None = None,
    eee_version: str | None = None,
    only: Mapping[str, str] | None = None,
    match: str = "id",
    engine: str = "local",
    scheduler: str | None = None,
    worktree: str | None = None,
    max_ungraded: Fraction | Decimal | float | None = None,
) -> Run:
    """Grade stored outputs under the rubrics of a dataset, as `evalstore score` does.

    Args:
        dataset: A reference to the dataset.
        outputs: A file or URL: JSONL of `{id, output, tool_calls?}`, a run or rows of Every Eval
            Ever, an Inspect AI log, or promptfoo results.
        store: The store of the dataset and its rubrics.
        out: The folder for the run's two files, where nothing is overwritten; with None nothing is
            kept, and the rows last as long as the returned run.
        model: The name of the model; default: the one in the outputs, else the file's name.
        rubric: A reference to a rubric that grades every question instead of the question's own.
        judges: As for `evaluate`.
        at: When the run happened; default: now.
        eee_version: The version of Every Eval Ever to write; default: the latest.
        only: Which series to take from a file with several, such as `{"model": …}`.
        match: `"id"`, or `"input"`: an output answers the question with the input in its record.
        engine: `"local"`, or `"dask"`: a cluster's workers grade; the bytes are the same.
        scheduler: The address of the cluster; default: one process per core of this machine, which
            needs a script to have `if __name__ == "__main__":`.
        worktree: As for `Store.with_worktree`; the run is then `.unreleased`.
        max_ungraded: The share of all gradings (default 0.02) that may fail before the run loses
            its score.

    Returns:
        The run: `.score` and `.pass_rate` (exact fractions of 1, None where too much failed; then
        `.ungraded` says what, and `.rest_score` has the score of the rest), `.rows()`,
        `.to_pandas()`, `.to_arrow()`.

    Raises:
        UnmetSettingError: A check graded nothing because a model, an endpoint or PHP is missing,
            and `judges` are not `offline`.
        FindingsError: The settings are strict, and validation finds something.
        RefError: There is no such dataset, rubric or version.
        RefusedError: Outputs and questions do not belong together.
        LoadError: The outputs cannot be read.
        UsageError: An argument has a value that it does not accept.

    Examples:
        >>> run = score("dataset/help_desk", "outputs/model_a.jsonl", store=store, out=None)
        >>> run.score, run.scored
        (Fraction(13, 16), 4)
        >>> [row.id for row in run.rows() if row.verdict == "fail"]
        ['export_data']
    """
    require_arguments(score, locals())
    from datetime import UTC, datetime

    from evalstore.model.outcome import MAX_UNGRADED
    from evalstore.runs import LATEST
    from evalstore.runs.remote import locate_file
    from evalstore.scoring import ScoringOptions, open_job
    from evalstore.scoring.judging import Judges
    from evalstore.scoring.workers import write_run_by_engine

    require_choice("match", match, ("id", "input"))
    now = datetime.now(UTC)
    options = ScoringOptions(
        at=at or now,
        today=now.date(),
        model=model,
        rubric=rubric,
        judges=judges or Judges(),
        eee_version=eee_version or LATEST,
        only=only or {},
        matched_by=match,
        max_ungraded=MAX_UNGRADED if max_ungraded is None else _read_share(max_ungraded),
        engine=engine,
        scheduler=scheduler,
    )
    artifacts = store.artifacts
    artifacts = artifacts if worktree is None else artifacts.with_worktree(worktree)
    with open_job(dataset, locate_file(outputs), artifacts, options) as job:
        if out is not None:
            return write_run_by_engine(job, Path(out))
        from tempfile import TemporaryDirectory
        from weakref import finalize

        folder = TemporaryDirectory(prefix="evalstore-")
        run = write_run_by_engine(job, Path(folder.name))
        finalize(run, folder.cleanup)  # the run reads its rows from there for as long as it is used
        return run


def _read_share(value: Fraction | Decimal | float) -> Fraction:
    with suppress(ValueError):
        if 0 <= (share := Fraction(str(value))) <= 1:
            return share
    raise UsageError(f"max_ungraded must be from 0 to 1, not {value!r:.40}")


def _require_one_kind(*sides: Artifact | Resolved | Mapping[str, Any]) -> None:
    """Raise `UsageError` for two kinds of artifacts; some mappings do not say of what they are."""
    named: list[tuple[str, Kind | None]] = []
    for name, given in zip(("old", "new"), sides, strict=True):
        side = given.artifact if isinstance(given, Resolved) else given
        if isinstance(side, Artifact):
            named.append((side.versioned, side.kind))
        else:
            named.append((name, find_kind(side)))
    (old, old_kind), (new, new_kind) = named
    if None not in {old_kind, new_kind} and old_kind is not new_kind:
        raise UsageError(f"{old} is a {old_kind} and {new} a {new_kind}")


def _read_artifact(
    value: Any, store: ArtifactStore | None, function: str
) -> Artifact | Mapping[str, Any]:
    """Return an artifact or mapping as it is, or the artifact that a reference means.

    Raises `UsageError` for a reference without a store.
    """
    if isinstance(value, str):
        if store is None:
            hint = f"{function}(…, store=Store.open(path))"
            raise UsageError(
                f"{function} needs a store to find {make_excerpt(value)!r} in", hint=hint
            )
        return store.read_artifact(value)
    return value.artifact if isinstance(value, Resolved) else value
