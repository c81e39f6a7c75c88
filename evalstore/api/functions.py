"""The public functions and `Store` over the other packages: they convert arguments, and decide nothing themselves.

What each needs is imported when it is called, so that a program that opens a store waits for
nothing more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import evalstore.report  # noqa: F401  # it registers how results are shown in a notebook
from evalstore.errors import UsageError, require_types
from evalstore.model.artifact import Artifact
from evalstore.model.refs import Ref
from evalstore.store import ArtifactStore, Resolved
from evalstore.text import make_excerpt

if TYPE_CHECKING:
    from datetime import datetime

    from evalstore.audits import Audit
    from evalstore.audits.slices import SliceKind
    from evalstore.checks import CheckContext
    from evalstore.diff import ComparisonSettings, Diff, Profile
    from evalstore.diff.changes.by_kind import DatasetRows
    from evalstore.diff.references import ArtifactLoader
    from evalstore.model import Output, Question, RubricResult
    from evalstore.release.values import Released
    from evalstore.runs import Run
    from evalstore.scoring.judging import Judges, JudgeSession
    from evalstore.versions import Bump

_PATH = (str, Path)
_NOTHING: type = type(None)


class Store(ArtifactStore):
    """A store, opened with `Store.open(path)`; a context manager, because it keeps a git process until it is closed."""

    def load(self, ref: str | Ref) -> Artifact:
        """Return the artifact that a reference means.

        It is validated: `SchemaError` for one that nothing could be graded with, `FindingsError`
        for one with findings where the settings are strict; else each finding is a
        `FindingsWarning`.
        """
        from evalstore.lint.use import check_usable

        resolved = self.resolve(ref)
        check_usable(resolved.artifact, self.read_artifact)
        _say_findings(self, [resolved], f"{resolved.ref} was not loaded", self.resolve)
        return resolved.artifact

    def release(  # noqa: PLR0913  # the words of the command line
        self,
        *refs: str,
        level: Bump | None = None,
        pre: str | None = None,
        dependents: bool = False,
        sign: bool = False,
        push: bool | str = False,
        message: str | None = None,
        dry_run: bool = False,
        signature: Mapping[str, str] | None = None,
    ) -> Released:
        """Release working files (`<kind>/<id>`; none named: all that changed) in one commit with their tags.

        `level` asks for at least this bump, `pre` for a pre-release of this label. With
        `dependents` the pins of what refers to them move along, and it is released, too. `sign`
        uses the key of git's global config. `push` sends branch and tags to the branch's remote, or
        to the one named: `.push.outcome` says what became of it, and one that does not arrive
        undoes nothing here. `signature` holds git's GIT_AUTHOR_* and GIT_COMMITTER_* variables
        where they should not come from the user's settings. Raises `RefusedError` or
        `ConflictError`; then nothing changed.
        """
        from datetime import UTC, datetime

        from evalstore.release.bump import bump
        from evalstore.release.step import BumpOptions

        options = BumpOptions(
            refs,
            all_=not refs,
            level=level,
            pre=pre,
            dependents=dependents,
            sign=sign,
            push=push,
            message=message,
            dry_run=dry_run,
            signature=signature or {},
            today=datetime.now(UTC).date(),
        )
        return bump(self, options)


def _say_findings(
    store: ArtifactStore, used: Sequence[Resolved], what: str, find: Callable[[str], Resolved]
) -> None:
    """Warn of what validation finds in what is about to be used; `FindingsError` where the settings are strict."""
    import warnings
    from datetime import UTC, datetime

    from evalstore.errors import FindingsWarning
    from evalstore.lint.use import find_use_findings

    found = find_use_findings(store, used, today=datetime.now(UTC).date(), find=find)
    found.refuse_if_strict(what)
    for line in found.list_lines():
        warnings.warn(line, FindingsWarning, stacklevel=3)


_STORE, _ARTIFACT = (Store, ArtifactStore), (Artifact, Resolved, Mapping, str)


def audit(  # noqa: PLR0913  # what a command line can say, each by its name
    run_a: Run | Path | str,
    run_b: Run | Path | str,
    store: ArtifactStore,
    *,
    allow_drift: bool = False,
    judges: Judges | None = None,
    ask: bool = False,
    by: SliceKind | None = None,
    moved: int = 0,
) -> Audit:
    """Explain why the mean score of run B differs from run A's; all shares are exact and add up.

    A run is a `Run` or the path of its aggregate JSON. One of the two may be a file of outputs, of
    any format that `score` takes: they are graded by the dataset and rubrics of the other. Judges
    answer from the replies in the repository's cache, else as the runs recorded it, else as
    `judges` says; what stays unknown makes factors move together, and the price says how many calls
    would tell them apart. Where another model answered for a hosted judge in run B, `ask` lets it
    be asked about the answers of run A. `moved` is how many of the questions that moved most are
    kept in full. Raises `RefusedError` when a run cannot be replayed in this store, when replay
    gives other results than recorded (unless `allow_drift`: then the difference counts as not
    reproduced), or when nothing can be compared.
    """
    from evalstore.audits import AuditOptions, audit_runs
    from evalstore.audits.bare_outputs import grade_bare_outputs
    from evalstore.runs import Run
    from evalstore.scoring.judging import Judges

    runs = (Run, *_PATH)
    types = {"store": (store, _STORE), "judges": (judges, (Judges, _NOTHING))}
    require_types("audit", run_a=(run_a, runs), run_b=(run_b, runs), **types)
    a, b = (run if isinstance(run, Run) else Path(run) for run in (run_a, run_b))
    options = AuditOptions(
        allow_drift=allow_drift, judges=judges or Judges(), ask=ask, by=by, moved=moved
    )
    with grade_bare_outputs(a, b, store, judges) as opened:
        return opened.name_sides(audit_runs(*opened.read, store, options))


def compare(  # noqa: PLR0913  # two sides, and what is known beside them
    old: Artifact | Resolved | Mapping[str, Any] | str,
    new: Artifact | Resolved | Mapping[str, Any] | str,
    *,
    store: ArtifactStore | None = None,
    load: ArtifactLoader | None = None,
    rows: DatasetRows | None = None,
    profile: Profile | None = None,
    settings: ComparisonSettings | None = None,
    watch: Callable[[Iterable[Any]], Iterable[Any]] = iter,
    judges: Judges | None = None,
) -> Diff:
    """Return what changed between two artifacts, and the bump that it needs: `.required_bump`, `.findings`.

    Each side is an artifact, its mapping, or with `store` a reference; without a pin that is the
    last release. With a store this is `evalstore diff`: what evalstore.yaml overrides and declares
    counts, and what people accepted since the release `old`. The store also tells what the
    references within both sides mean (so does `load`); without it a moved pin is major. `rows` are
    the rows of a dataset, old and new, that keeps them in a file; of references they are found.
    `profile` says what is major, and wins over the store's; `settings` replace all that the store says
    of changes. `watch` wraps the iteration over the rows of the new side (a progress bar). Examples
    are graded by the replies that are kept, as `judges` says; its endpoint is not asked.
    """
    require_types(
        "compare", old=(old, _ARTIFACT), new=(new, _ARTIFACT), store=(store, (*_STORE, _NOTHING))
    )
    if store is None:
        from evalstore.diff import ComparisonSettings, Profile
        from evalstore.diff import compare as compare_documents

        sides = [_read_artifact(side, None, "compare") for side in (old, new)]
        settings = settings or ComparisonSettings(profile or Profile.SCORE)
        return compare_documents(*sides, load=load, rows=rows, settings=settings)
    from datetime import UTC, datetime

    from evalstore.release.acceptances import ChangePolicy, read_change_policy
    from evalstore.release.store_diff import compare_sides, resolve_side

    before, after = (
        resolve_side(store, side) if isinstance(side, str) else side for side in (old, new)
    )
    today = datetime.now(UTC).date()
    policy = (
        ChangePolicy(settings, (), today) if settings else read_change_policy(store, today, profile)
    )
    with open_kept_replies(store, judges) as replies:
        return compare_sides(
            store, before, after, policy, load=load, rows=rows, watch=watch, replies=replies
        )


@contextmanager
def open_kept_replies(store: ArtifactStore, judges: Judges | None = None) -> Iterator[CheckContext]:
    """Open what judges said before, to grade examples by it; nothing is read before the first is asked.

    The endpoint of `judges` is not asked.
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
    store: ArtifactStore | None = None,
    judges: Judges | None = None,
    worktree: str | None = None,
) -> RubricResult:
    """Grade one output: `.score` is an exact `Fraction` in [0, 1], or None when nothing could be graded.

    `rubric` is an artifact, its mapping, or with `store` a reference; `output` a text or
    `{output, tool_calls?}`. The store resolves what the rubric refers to, and its `strict` setting
    refuses the answers of approximate engines. `worktree` as for `score`.
    Judges answer from the replies that its repository keeps; with
    `judges=Judges(Endpoint(url, key), model={"id": …})` what is missing is asked for and kept.
    Raises `SchemaError` for a rubric that cannot be read as one.
    """
    from evalstore.checks import evaluate as grade
    from evalstore.model import Question
    from evalstore.scoring.judging import Judges, open_session

    types = {"store": (store, (*_STORE, _NOTHING)), "judges": (judges, (Judges, _NOTHING))}
    row_types = (Question, Mapping, _NOTHING)
    require_types("evaluate", rubric=(rubric, _ARTIFACT), question=(question, row_types), **types)
    if worktree is not None:
        if store is None:
            raise UsageError(
                "evaluate: worktree needs a store", hint="evaluate(…, store=Store.open(path))"
            )
        store = store.with_worktree(worktree)
    if store is None:
        return grade(_read_artifact(rubric, store, "evaluate"), output, question)
    find = cache(store.resolve)  # for what is validated is graded with, too
    if isinstance(rubric, str):
        from evalstore.lint.use import list_used

        rubric = find(rubric)
        _say_findings(store, list_used([rubric.ref], find), "nothing was graded", find)
    artifact = _read_artifact(rubric, store, "evaluate")
    with open_session(judges or Judges(), store.git.common) as panel:
        context = panel.make_context(lambda ref: find(ref).artifact, strict=store.strict)
        return panel.repeat_until_answered(
            lambda: grade(artifact, output, question, context=context)
        )


def score(  # noqa: PLR0913  # what a command line can say, each by its name
    dataset: str,
    outputs: Path | str,
    *,
    store: ArtifactStore,
    out: Path | str = "runs",
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
    max_ungraded: Fraction | float | None = None,
) -> Run:
    """Grade stored outputs under the rubrics of a dataset and keep the run as two files below `out`.

    `outputs` is JSONL of `{id, output, tool_calls?}`, a run or rows of Every Eval Ever, a log of
    Inspect AI or results of promptfoo; of several series in one file `only` chooses one
    (`{"model": …}`). With `match="input"` an output answers the question whose input its record
    holds, whatever its id; a record that holds another question's input is refused without.
    `judges` as for `evaluate`; `at` is when it happened (default: now);
    `eee_version` is that of Every Eval Ever in which it is written (default: the latest). With
    `engine="dask"` the workers of a Dask cluster grade, that of `scheduler` or a process for each
    core of this machine, for which a script needs `if __name__ == "__main__":`; the bytes are the
    same.
    With `worktree="unreleased"` what has no release yet is read from its file, with `"all"`
    everything, as `store.with_worktree(…)` does for `load` and `resolve`; `Run.unreleased` says so.

    A run of which more than the share `max_ungraded` (default: 0.02) of all gradings failed has no
    `.score`; then `.ungraded` says what failed, and `.rest_score` what the others come to. Raises
    `UnmetSettingError` where a check could grade nothing for want of a setting, unless `judges` are
    `offline`.
    """
    from datetime import UTC, datetime

    from evalstore.model.outcome import MAX_UNGRADED
    from evalstore.runs import LATEST
    from evalstore.runs.remote import locate_file
    from evalstore.scoring import ScoringOptions, open_job
    from evalstore.scoring.judging import Judges
    from evalstore.scoring.workers import write_run_by_engine

    types = {"store": (store, _STORE), "judges": (judges, (Judges, _NOTHING))}
    require_types(
        "score", dataset=(dataset, (str,)), outputs=(outputs, _PATH), out=(out, _PATH), **types
    )
    if match not in {"id", "input"}:
        raise UsageError(f"match must be 'id' or 'input', not {make_excerpt(repr(match), 40)}")
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
        max_ungraded=MAX_UNGRADED if max_ungraded is None else Fraction(str(max_ungraded)),
        engine=engine,
        scheduler=scheduler,
    )
    store = store if worktree is None else store.with_worktree(worktree)
    with open_job(dataset, locate_file(outputs), store, options) as job:
        return write_run_by_engine(job, Path(out))


def _read_artifact(
    value: Any, store: ArtifactStore | None, function: str
) -> Artifact | Mapping[str, Any]:
    """Return an artifact or a mapping as it is, and what a reference means; raises `UsageError` without a store."""
    if isinstance(value, str):
        if store is None:
            hint = f"{function}(…, store=Store.open(path))"
            raise UsageError(
                f"{function} needs a store to find {make_excerpt(value)!r} in", hint=hint
            )
        return store.read_artifact(value)
    return value.artifact if isinstance(value, Resolved) else value
