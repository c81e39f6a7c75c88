"""Finds the runs below a folder, and when each was made."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from evalstore.errors import EvalstoreError, LoadError
from evalstore.files import describe_error
from evalstore.runs.records import read_record
from evalstore.runs.run_files import read_aggregate
from evalstore.runs.values import Run

_SECONDS = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,12})?", re.ASCII)


def iterate_runs(folder: Path) -> Iterator[tuple[Path, Run | EvalstoreError]]:
    """Yield the path of each aggregate below a folder with its run or its error, in path order."""
    unlisted: list[OSError] = []
    for path in sorted(_iterate_json_files(folder, unlisted.append)):
        try:
            found = read_record(path)
        except EvalstoreError as error:
            if _may_be_run(path):
                yield path, error
        else:
            if found.path == path:
                yield path, found
    for refusal in unlisted:
        yield (
            Path(os.fsdecode(refusal.filename or folder)),
            LoadError(f"cannot be listed: {describe_error(refusal)}"),
        )


def find_run_time(run: Run) -> datetime | None:
    """Return when a run was made, in UTC, from seconds since 1970 or ISO 8601; else None."""
    try:
        if _SECONDS.fullmatch(run.at):
            return datetime.fromtimestamp(float(run.at), UTC)
        found = datetime.fromisoformat(run.at)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _iterate_json_files(folder: Path, on_error: Callable[[OSError], None]) -> Iterator[Path]:
    for base, _, names in os.walk(folder, onerror=on_error) if folder.is_dir() else ():
        for name in names:
            path = Path(base, name)
            if name.endswith(".json") and path.is_file() and not path.is_symlink():
                yield path


def _may_be_run(path: Path) -> bool:
    """Whether a file that is not a readable run looks like one, or cannot be read at all."""
    try:
        return "evaluation_results" in read_aggregate(path)
    except EvalstoreError:
        return True
