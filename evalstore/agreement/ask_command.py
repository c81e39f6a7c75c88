"""Builds the command that asks judges about an edit that only their replies can settle."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from evalstore.diff import Diff

if TYPE_CHECKING:
    from evalstore.runs import Run

_VERDICTS = 30
_UNKNOWN_TIME = datetime.min.replace(tzinfo=UTC)


def suggest_ask_command(diff: Diff, directory: Path) -> str:
    """Return the command for a comparison and a run below `directory`; empty if nothing is asked.

    Without a run that used the artifact, the command says RUN.
    """
    if diff.new.ref is None or not any(finding.can_be_asked for finding in diff.findings):
        return ""
    name, _, pin = diff.new.ref.partition("@")
    sides = [name] if pin == "worktree" else [diff.old.ref or name, diff.new.ref]
    run = _find_newest_run(directory, name)
    shown = "RUN" if run is None else run.path.relative_to(directory).as_posix()
    return shlex.join(["evalstore", "diff", *sides, "--ask", str(_VERDICTS), "--run", shown])


def _find_newest_run(directory: Path, name: str) -> Run | None:
    """Return the newest run below the runs folder that used an artifact."""
    from evalstore.runs import Run
    from evalstore.runs.run_names import RUNS_FOLDER
    from evalstore.runs.run_search import find_run_time, iterate_runs

    found = (run for _, run in iterate_runs(directory / RUNS_FOLDER) if isinstance(run, Run))
    used = [run for run in found if name in _list_used(run)]
    return max(used, key=lambda run: find_run_time(run) or _UNKNOWN_TIME, default=None)


def _list_used(run: Run) -> set[str]:
    parts = (*([run.dataset] if run.dataset else []), *run.rubrics, *run.judges)
    return {part.ref.partition("@")[0] for part in parts}
