"""Defines the public functions and `Store` over the other packages: converts arguments, and decides nothing itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import evalstore.report  # noqa: F401  # it registers how results are shown in a notebook
from evalstore.arguments import NOTHING, PATH, require_types
from evalstore.audits import Audit
from evalstore.audits import audit as _audit
from evalstore.checks import CheckContext
from evalstore.checks import evaluate as _evaluate
from evalstore.diff import ComparisonSettings, Diff
from evalstore.diff import compare as _compare
from evalstore.diff.changes.by_kind import DatasetRows
from evalstore.diff.references import ArtifactLoader
from evalstore.errors import EvalstoreError, UsageError
from evalstore.judging import Endpoint, Judges, open_session
from evalstore.migration import MigrationReport
from evalstore.migration import export as _export
from evalstore.migration import migrate as _migrate
from evalstore.model import Artifact, Output, Question, RubricResult
from evalstore.release import Released, bump
from evalstore.runs import LATEST, Run
from evalstore.runs.remote import locate_file
from evalstore.scoring import open_job
from evalstore.store import ArtifactStore as _Store
from evalstore.store import Resolved
from evalstore.text import make_excerpt
from evalstore.versions import Bump

__all__ = [
    "Artifact",
    "Audit",
    "Bump",
    "Diff",
    "Endpoint",
    "EvalstoreError",
    "Judges",
    "MigrationReport",
    "Released",
    "Resolved",
    "RubricResult",
    "Run",
    "Store",
    "audit",
    "compare",
    "evaluate",
    "export",
    "migrate",
    "score",
]


class Store(_Store):
    """A store, opened with `Store.open(path)`; a context manager, because it keeps a git process until it is closed."""

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
        """Release working files (`<kind>/<id>`; none named: all that changed) in one commit with their tags (SPEC 6).

        `level` asks for at least this bump, `pre` for a pre-release of this label. With `dependents` the pins of what
        refers to them move along, and it is released, too. `sign` uses the key of git's global config. `push` sends
        branch and tags to the branch's remote, or to the one named: `.push.outcome` says what became of it, and one
        that does not arrive undoes nothing here. `signature` holds git's GIT_AUTHOR_* and GIT_COMMITTER_* variables
        where they should not come from the user's settings. Raises `RefusedError` or `ConflictError`; then nothing
        changed.
        """
        return bump(
            self,
            refs,
            all_=not refs,
            level=level,
            pre=pre,
            dependents=dependents,
            sign=sign,
            push=push,
            message=message,
            dry_run=dry_run,
            signature=signature,
            today=datetime.now(UTC).date(),
        )


_STORE, _OPTIONAL_STORE, _JUDGES = (Store, _Store), (Store, _Store, NOTHING), (Judges, NOTHING)
_RULER = (Artifact, Resolved, Mapping, str)

audit = require_types(run_a=(Run, *PATH), run_b=(Run, *PATH), store=_STORE, judges=_JUDGES)(_audit)
export = require_types(store=PATH, out=(*PATH, NOTHING))(_export)
migrate = require_types(into=PATH, judges_from=(*PATH, NOTHING))(_migrate)


@require_types(old=_RULER, new=_RULER, store=_OPTIONAL_STORE)
def compare(  # noqa: PLR0913  # two sides, and what is known beside them
    old: Artifact | Resolved | Mapping[str, Any] | str,
    new: Artifact | Resolved | Mapping[str, Any] | str,
    *,
    store: Store | None = None,
    load: ArtifactLoader | None = None,
    rows: DatasetRows | None = None,
    terms: ComparisonSettings | None = None,
) -> Diff:
    """Return what changed between two artifacts, and the bump that it needs: `.required_bump`, `.findings` (SPEC 6).

    Each side is an artifact, its mapping, or with `store` a reference. The store also tells what the references within
    them mean (so does `load`); without it a moved pin is major. `rows` are the rows of a dataset, old and new, that
    keeps them in a file; of references they are found. `terms` are what a store says of changes, by default nothing:
    what evalstore.yaml overrides and people accepted is for the command line.
    """
    sides = [_read_ruler(side, store, "compare") for side in (old, new)]
    if store is not None:
        load = load or store.load
        if rows is None and isinstance(old, str | Resolved) and isinstance(new, str | Resolved):
            pair = (one if isinstance(one, Resolved) else store.resolve(one) for one in (old, new))
            rows = store.pair_rows(*pair) if any("rows" in _get_value(one) for one in sides) else None
    diff = _compare(*sides, load=load, rows=rows, terms=terms)
    names = [side if isinstance(side, str) else found.ref for side, found in ((old, diff.old), (new, diff.new))]
    return replace(diff, old=replace(diff.old, ref=names[0]), new=replace(diff.new, ref=names[1]))


@require_types(rubric=_RULER, store=_OPTIONAL_STORE, judges=_JUDGES)
def evaluate(
    rubric: Artifact | Resolved | Mapping[str, Any] | str,
    output: str | Output | Mapping[str, Any],
    question: Question | Mapping[str, Any] | None = None,
    *,
    store: Store | None = None,
    judges: Judges | None = None,
) -> RubricResult:
    """Grade one output (SPEC 4): `.score` is an exact `Fraction` in [0, 1], or None when nothing could be graded.

    `rubric` is an artifact, its mapping, or with `store` a reference; `output` a text or `{output, tool_calls?}`. The
    store resolves what the rubric refers to, and its `strict` setting refuses the answers of approximate engines.
    Judges answer from the replies that its repository keeps; with `judges=Judges(Endpoint(url, key), model={"id": …})`
    what is missing is asked for and kept. Raises `SchemaError` for a rubric that cannot be read as one.
    """
    ruler = _read_ruler(rubric, store, "evaluate")
    if store is None:
        return _evaluate(ruler, output, question)
    with open_session(judges or Judges(), store.git.find_common_directory) as panel:
        context = CheckContext(store.load, panel.ask, panel.judges.model, strict=store.strict)
        while True:
            result = _evaluate(ruler, output, question, context=context)
            if not panel.can_ask:
                return result
            panel.ask_missing()


@require_types(dataset=(str,), outputs=PATH, store=_STORE, out=PATH, judges=_JUDGES)
def score(  # noqa: PLR0913  # what a command line can say, each by its name
    dataset: str,
    outputs: Path | str,
    *,
    store: Store,
    out: Path | str = "runs",
    model: str | None = None,
    rubric: str | None = None,
    judges: Judges | None = None,
    at: datetime | None = None,
    eee_version: str = LATEST,
    only: Mapping[str, str] | None = None,
    jobs: int = 1,
) -> Run:
    """Grade stored outputs under the rubrics of a dataset and keep the run as two files below `out` (SPEC 4).

    `outputs` is JSONL of `{id, output, tool_calls?}`, a run or rows of Every Eval Ever, a log of Inspect AI or results
    of promptfoo; of several series in one file `only` chooses one (`{"model": …}`). `judges` as for `evaluate`; `at` is
    when it happened (default: now); `eee_version` is the version of Every Eval Ever that the run is written in. `jobs`
    processes grade, which gives the same bytes; with more than one a script needs `if __name__ == "__main__":`.
    """
    job = open_job(
        dataset,
        locate_file(outputs),
        store=store,
        at=at or datetime.now(UTC),
        model=model,
        rubric=rubric,
        judges=judges,
        eee_version=eee_version,
        only=only,
    )
    with job as opened:
        if jobs == 1:
            return opened.write_run(Path(out))
        if jobs < 1:
            raise UsageError(f"jobs is a number of processes, from 1, and not {jobs}")
        from evalstore.scoring.workers import open_processes, write_run_by_workers

        with open_processes(jobs) as workers:
            return write_run_by_workers(opened, Path(out), workers)


def _read_ruler(value: Any, store: Store | None, function: str) -> Artifact | Mapping[str, Any]:
    """Return an artifact or a mapping as it is, and what a reference means; raises `UsageError` without a store."""
    if isinstance(value, str):
        if store is None:
            hint = f"{function}(…, store=Store.open(path))"
            raise UsageError(f"{function} needs a store to find {make_excerpt(value)!r} in", hint=hint)
        return store.load(value)
    return value.artifact if isinstance(value, Resolved) else value


def _get_value(ruler: Artifact | Mapping[str, Any]) -> Mapping[str, Any]:
    return ruler.value if isinstance(ruler, Artifact) else ruler
