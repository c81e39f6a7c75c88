"""Reads one store as the rows of an index; what cannot be read is a row, too."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path

from evalstore.errors import EvalstoreError, LoadError
from evalstore.index.columns import (
    IndexRow,
    RecordType,
    make_artifact_columns,
    make_used_columns,
    make_version_columns,
)
from evalstore.index.pins import PinReader
from evalstore.model import Severity
from evalstore.references.reading import list_root_artifacts
from evalstore.runs import Run
from evalstore.runs.run_folders import find_run_time, iterate_runs
from evalstore.status.store_validation import make_validator
from evalstore.store import ArtifactStore
from evalstore.store.listing import list_artifacts, read_histories
from evalstore.store.revisions import find_head
from evalstore.validation import find_store_sources


def iterate_store_rows(folder: Path, runs: Path, today: date) -> Iterator[IndexRow]:
    """Yield the rows of the store in a folder, without the column `store`; `runs` are below that path in it.

    `today` is what dates that expire are compared with. Raises what opening the store raises.
    """
    with ArtifactStore.open(folder) as opened:
        store = opened if _has_sound_lock(opened) else opened.without_lock()
        yield {"record": RecordType.STORE, "commit": find_head(store.git)}
        parts = (
            _iterate_artifacts(store),
            _iterate_releases(store),
            _iterate_pins(store),
            _iterate_findings(store, today),
            _iterate_run_rows(folder, runs),
        )
        for rows in parts:
            try:
                yield from rows
            except EvalstoreError as error:
                yield make_problem(error)


def make_problem(error: EvalstoreError, file: str = "", severity: Severity = Severity.ERROR) -> IndexRow:
    """Return the row of what cannot be read."""
    place = error.place
    return {
        "record": RecordType.PROBLEM,
        "severity": severity,
        "file": file or (place.file if place else None),
        "line": place.line if place else None,
        "message": error.message,
        "hint": error.hint or None,
    }


def _has_sound_lock(store: ArtifactStore) -> bool:
    """Whether the lock can be read; one that cannot is a finding, and what it holds is unknown."""
    try:
        return store.lock is not None
    except LoadError:
        return False


def _iterate_artifacts(store: ArtifactStore) -> Iterator[IndexRow]:
    listing = list_artifacts(store)
    for one in listing.artifacts:
        yield {
            "record": RecordType.ARTIFACT,
            **make_artifact_columns(one.name),
            **make_version_columns(one.working),
            "latest": one.latest,
            "releases": one.releases,
            "changed": one.changed,
            "message": one.problem,
        }
    for name, reason in listing.ignored:
        error = EvalstoreError(f"the tag {name} is no release: {reason}")
        yield make_problem(error, severity=Severity.WARNING)


def _iterate_releases(store: ArtifactStore) -> Iterator[IndexRow]:
    for history in read_histories(store):
        for release in history.releases:
            yield {
                "record": RecordType.RELEASE,
                **make_artifact_columns(history.name),
                **make_version_columns(str(release.version)),
                "tag": release.tag,
                "commit": release.commit,
                "digest": release.digest,
                "time": _parse_time(release.date),
                "author": release.author,
                "bump": release.bump,
                "previous": release.previous,
                "summary": release.summary,
            }


def _iterate_pins(store: ArtifactStore) -> Iterator[IndexRow]:
    if store.root is None and find_head(store.git) is None:
        return
    pins = PinReader(store)
    for ref in list_root_artifacts(store):
        root = str(ref)
        if error := pins.read(root).error:
            yield make_problem(error, ref.path)
        for row in pins.iterate_pins(root):
            yield {"record": RecordType.PIN, **row}


def _iterate_findings(store: ArtifactStore, today: date) -> Iterator[IndexRow]:
    if store.root is None:
        return
    sources = list(find_store_sources(store.root))
    validate = make_validator(store, sources, today=today)
    kinds = {source.file: f"{source.kind}/{source.stem}" for source in sources if source.kind}
    for finding in validate(settings=store.settings).findings:
        yield {
            "record": RecordType.FINDING,
            **(make_artifact_columns(kinds[finding.file]) if finding.file in kinds else {}),
            "rule": finding.rule,
            "severity": finding.severity,
            "file": finding.file,
            "line": finding.line,
            "message": finding.message,
            "hint": finding.hint or None,
        }


def _iterate_run_rows(folder: Path, runs: Path) -> Iterator[IndexRow]:
    below = folder / runs
    # What a store brings along must not lead elsewhere.
    if any(part.is_symlink() for part in (below, *below.parents) if folder in part.parents):
        yield make_problem(EvalstoreError("is a link, and links are not followed"), str(runs))
        return
    for path, found in iterate_runs(below):
        name = path.relative_to(folder).as_posix()
        if isinstance(found, Run):
            yield from _make_run_rows(found, name)
        else:
            yield make_problem(found, name)


def _make_run_rows(run: Run, name: str) -> Iterator[IndexRow]:
    """Yield a row for each artifact that a run was graded with; one without any where it names none."""
    row: IndexRow = {
        "record": RecordType.RUN,
        **(make_artifact_columns(run.dataset.ref.partition("@")[0]) if run.dataset else {}),
        "run": name,
        "time": find_run_time(run),
        "model": run.model,
        "score": run.score,
        "pass_rate": run.pass_rate,
        "scored": run.scored,
        "unscored": run.unscored,
    }
    used = [one for one in (run.dataset, *run.rubrics, *run.judges) if one]
    for one in used:
        used_name, _, pin = one.ref.partition("@")
        versions = make_version_columns(one.version)
        yield {
            **row,
            **make_used_columns(used_name),
            **versions,
            "pin": pin or None,
            "commit": one.commit,
            "tag": one.tag,
            "digest": one.digest,
        }
    if not used:
        yield row


def _parse_time(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
