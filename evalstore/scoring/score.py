"""Scores stored outputs under the rubrics of a dataset and keeps the result as a run; reads no clock."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from evalstore.judging import Judges
from evalstore.runs import LATEST, Run
from evalstore.scoring.job import begun
from evalstore.store import ArtifactStore


def score(  # noqa: PLR0913  # what a command line can say, each by its name
    dataset: str,
    outputs: Path,
    *,
    store: ArtifactStore,
    out: Path,
    at: datetime,
    model: str | None = None,
    rubric: str | None = None,
    judges: Judges | None = None,
    eee_version: str = LATEST,
    only: Mapping[str, str] | None = None,
) -> Run:
    """Grade every output that answers a question of `dataset`, and write the run into the folder `out`.

    `outputs` is a file of any of the shapes that evalstore.runs reads, such as JSONL of `{id, output, tool_calls?}`;
    where it holds several series of outputs, `only` chooses one (`{"model": …, "prompt": …, "epoch": …}`).
    A question is graded by its own rubric, or by `rubric` if given. Judges are answered as `judges` says (None: from
    the replies that the repository keeps): outputs are graded, what no reply is kept for is asked, and they are graded
    again. Outputs are streamed, so memory does not grow with them. `at` is the time that the run records, `eee_version`
    the version of Every Eval Ever that it is written in. Raises `LoadError` for an output that cannot be read, and
    `RefusedError` for one that stands twice or for several series, at their place; then nothing is left in `out`.
    """
    with begun(
        dataset,
        outputs,
        store=store,
        at=at,
        model=model,
        rubric=rubric,
        judges=judges,
        eee_version=eee_version,
        only=only,
    ) as job:
        return job.write(out)
