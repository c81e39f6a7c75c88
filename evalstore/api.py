"""Defines the public functions and `Store` over the other packages: converts arguments, and decides nothing itself."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evalstore.audits import Audit, audit
from evalstore.checks import CheckContext
from evalstore.checks import evaluate as _evaluate
from evalstore.diff import Diff, compare
from evalstore.errors import EvalstoreError
from evalstore.judging import Endpoint, Judges, open_session
from evalstore.migration import MigrationReport, export, migrate
from evalstore.model import Artifact, Output, Question, RubricResult
from evalstore.release import Released, bump
from evalstore.runs import LATEST, Run
from evalstore.scoring import score as _score
from evalstore.store import ArtifactStore as _Store
from evalstore.store import Resolved
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


def evaluate(
    rubric: Artifact | Mapping[str, Any],
    output: str | Output | Mapping[str, Any],
    question: Question | Mapping[str, Any] | None = None,
    *,
    store: Store | None = None,
    judges: Judges | None = None,
) -> RubricResult:
    """Grade one output (SPEC 4): `.score` is an exact `Fraction` in [0, 1], or None when nothing could be graded.

    `output` is a text or `{output, tool_calls?}`; `store` resolves what the rubric refers to, and its `strict` setting
    refuses the answers of approximate engines. Judges answer from the replies that the store's repository keeps; with
    `judges=Judges(Endpoint(url, key), model={"id": …})` what is missing is asked for and kept. Raises `SchemaError` for
    a rubric that cannot be read as one.
    """
    if store is None:
        return _evaluate(rubric, output, question)
    with open_session(judges or Judges(), store.git.find_common_directory) as panel:
        context = CheckContext(store.load, panel.ask, panel.judges.model, strict=store.strict)
        while True:
            result = _evaluate(rubric, output, question, context=context)
            if not panel.can_ask:
                return result
            panel.ask_missing()


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
) -> Run:
    """Grade stored outputs under the rubrics of a dataset and keep the run as two files below `out` (SPEC 4).

    `outputs` is JSONL of `{id, output, tool_calls?}`, a run or rows of Every Eval Ever, a log of Inspect AI or results
    of promptfoo; of several series in one file `only` chooses one (`{"model": …}`). `judges` as for `evaluate`; `at` is
    when it happened (default: now); `eee_version` is the version of Every Eval Ever that the run is written in.
    """
    return _score(
        dataset,
        Path(outputs),
        store=store,
        out=Path(out),
        at=at or datetime.now(UTC),
        model=model,
        rubric=rubric,
        judges=judges,
        eee_version=eee_version,
        only=only,
    )
