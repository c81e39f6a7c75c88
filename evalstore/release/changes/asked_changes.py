"""Keeps what judges said about a change, in old and new wording, until its release.

It is kept in the git directory. A change is identified by the scoring digests of both sides, so
that a title, or how well a judge was measured, may change in between. An entry is a line of JSON;
one that cannot be read is ignored.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import Any

from evalstore.diff import AskedChange, Diff
from evalstore.errors import LoadError, RefusedError
from evalstore.model import Artifact
from evalstore.own_files import append_own, read_own
from evalstore.release.transactions.locking import STATE_FOLDER
from evalstore.store import ArtifactStore
from evalstore.text import make_excerpt

TRAILER = "Evalstore-Asked"
_FILE = f"{STATE_FOLDER}/asked.jsonl"
_LIMIT = 1 << 22  # bytes: twenty thousand changes
_COUNTS = ("verdicts", "to_fail", "to_pass", "own", "unjudged")
_ENGINES = 200  # characters of the models' names


def keep_asked(store: ArtifactStore, old: Artifact, new: Artifact, asked: AskedChange) -> None:
    """Append what judges said about a change to the file in the git directory.

    Raises `RefusedError` if it cannot be written.
    """
    line = {
        **_name_change(old, new),
        "run": asked.run,
        "engines": list(asked.engines),
        **{name: getattr(asked, name) for name in _COUNTS},
        "beyond_noise": asked.beyond_noise,
        "mean_shift": None if asked.mean_shift is None else str(asked.mean_shift),
    }
    append_own(store.git.common, _FILE, f"{json.dumps(line)}\n".encode())


def add_asked(store: ArtifactStore, diff: Diff, old: Artifact, new: Artifact) -> Diff:
    """Return a comparison with what judges last said about exactly this change."""
    if not diff.possible:
        return diff  # nothing that judges could have been asked
    change = _name_change(old, new)
    lines = [line for line in _list_kept(store) if line.items() >= change.items()]
    found = [asked for line in lines for asked in _read(line)]
    return replace(diff, asked=found[-1]) if found else diff


def _name_change(old: Artifact, new: Artifact) -> dict[str, str]:
    return {"artifact": new.name, "old": old.scoring_digest, "new": new.scoring_digest}


def format_trailer(asked: AskedChange) -> str:
    """Return what the release's tag says about it, on one line."""
    engines = make_excerpt(", ".join(asked.engines), _ENGINES)
    return f"{asked.summary}; {engines}" if engines else asked.summary


def _list_kept(store: ArtifactStore) -> Iterator[dict[str, Any]]:
    data = b""
    with suppress(
        LoadError, RefusedError, OSError
    ):  # anything that others could have written is ignored
        data = read_own(store.git.common, _FILE, _LIMIT)
    for line in data.splitlines():
        with suppress(ValueError, RecursionError):
            if isinstance(value := json.loads(line), dict):
                yield value


def _read(line: dict[str, Any]) -> Iterator[AskedChange]:
    counts: dict[str, Any] = {name: line.get(name) for name in _COUNTS}
    engines, run, shift = line.get("engines"), line.get("run"), line.get("mean_shift")
    if not all(type(count) is int and count >= 0 for count in counts.values()) or not isinstance(
        run, str
    ):
        return
    if not isinstance(engines, list) or not all(isinstance(name, str) for name in engines):
        return
    from evalstore.statistics import bound_rate  # nothing else in a release needs statistics

    asked = AskedChange(
        run=run, **counts, engines=tuple(engines), beyond_noise=line.get("beyond_noise") is True
    )
    bound = bound_rate(asked.verdicts) if asked.verdicts and not asked.flipped else None
    with suppress(ValueError, ZeroDivisionError):
        yield replace(
            asked, mean_shift=None if shift is None else Fraction(str(shift)), bound=bound
        )
