"""Runs as `evalstore score` makes them, with the options by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from evalstore.runs import Run
from evalstore.scoring import ScoringOptions, open_job
from evalstore.store import ArtifactStore


def score(dataset: str, outputs: Path, *, store: ArtifactStore, out: Path, **options: Any) -> Run:
    """Grade outputs, and write the run into `out`."""
    with open_job(dataset, outputs, store, ScoringOptions(**options)) as job:
        return job.write_run(out)
