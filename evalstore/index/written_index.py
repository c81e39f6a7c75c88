"""Reads stores as the rows of an index, and writes them into one file; a file that is not an index is left alone."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from evalstore.documents import read_row
from evalstore.errors import EvalstoreError, LoadError, Place, RefusedError, UsageError
from evalstore.index import (
    COLUMNS,
    IndexRow,
    RecordType,
    make_artifact_columns,
    make_used_columns,
    make_version_columns,
)
from evalstore.lint import find_store_sources
from evalstore.model import Severity, parse_ref
from evalstore.progress import Watch
from evalstore.release.references import ArtifactReference, list_root_artifacts, read_references
from evalstore.release.validator import make_validator
from evalstore.runs import Run
from evalstore.runs.read import find_run_time, iterate_runs
from evalstore.runs.row_formats import JSON_LINES, PARQUET, find_row_format, read_lines
from evalstore.runs.tables import write_json_rows, write_parquet_rows
from evalstore.runs.write import replace_file
from evalstore.store import ArtifactStore
from evalstore.store.listing import list_artifacts, read_histories
from evalstore.store.presence import walk_stores
from evalstore.store.revisions import find_head


@dataclass(frozen=True, slots=True)
class ReadReference:
    """What a reference means: its exact name and version, and what the artifact refers to; or why it means nothing."""

    name: str
    version: str | None = None
    references: tuple[ArtifactReference, ...] = ()
    error: EvalstoreError | None = None


@dataclass(slots=True)
class PinReader:
    """Reads each reference of a store once."""

    store: ArtifactStore
    _read: dict[str, ReadReference] = field(default_factory=dict)

    def read(self, text: str) -> ReadReference:
        """Return what a reference means."""
        if text not in self._read:
            self._read[text] = self._resolve(text)
        return self._read[text]

    def iterate_pins(self, root: str) -> Iterator[IndexRow]:
        """Yield the row of each reference that an artifact (`<kind>/<id>@<pin>`) has, itself or by what it pins."""
        seen, waiting = {root}, [root]
        while waiting:
            user = waiting.pop(0)
            for reference in self.read(user).references:
                text = str(reference.ref)
                yield self._make_row(root, user, reference)
                # What a judge was measured on grades nothing.
                if reference.scores and text not in seen:
                    seen.add(text)
                    waiting.append(text)

    def _make_row(self, root: str, user: str, reference: ArtifactReference) -> IndexRow:
        target = self.read(str(reference.ref))
        return {
            **make_artifact_columns(root.partition("@")[0]),
            **make_used_columns(reference.ref.name),
            **make_version_columns(target.version),
            "pin": reference.ref.pin or None,
            "via": None if user == root else self.read(user).name,
            "floating": reference.ref.is_floating,
            "scores": reference.scores,
            "questions": reference.questions if reference.name.startswith("dataset/") else None,
            "file": reference.place.file,
            "line": reference.place.line,
            "message": target.error and target.error.message,
        }

    def _resolve(self, text: str) -> ReadReference:
        ref = parse_ref(text)
        try:
            resolved = self.store.resolve(ref)
            references = read_references(self.store, resolved, text).references
        except EvalstoreError as error:
            return ReadReference(text, error=error)
        name = f"{ref.name}@{resolved.version}" if ref.names_release else text
        return ReadReference(name, resolved.version, references)


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
        error = EvalstoreError(f"the tag {name} is not a release: {reason}")
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


_FORMATS = {JSON_LINES.suffix: write_json_rows, PARQUET.suffix: write_parquet_rows}
_KEYS = frozenset({"record", "store"})


@dataclass(frozen=True, slots=True)
class StoreFolder:
    """A store by the name that it has in the index; with `error` none was found there."""

    name: str
    path: Path
    error: EvalstoreError | None = None


@dataclass(frozen=True, slots=True)
class IndexProblem:
    """What could not be read of a store; `severity` is a warning where nothing is missing in the index for it."""

    store: str
    severity: Severity
    message: str
    file: str | None = None
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class WrittenIndex:
    """The file that was written, how many rows it has of each record, and what could not be read."""

    out: Path
    rows: Mapping[str, int]
    problems: tuple[IndexProblem, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether everything could be read that the index should have."""
        return all(problem.severity is not Severity.ERROR for problem in self.problems)


def find_store_folders(directory: Path, names: Iterable[str]) -> list[StoreFolder]:
    """Return the stores in and below the folders of these names, each once, in order; a name relative to `directory`.

    A folder without a store, and one that cannot be listed, is one with an error.
    """
    found: dict[Path, StoreFolder] = {}
    for name in names:
        errors: list[OSError] = []
        top = directory / name
        if not top.is_dir():
            found[top] = StoreFolder(name, top, LoadError("there is no such folder"))
            continue
        stores = list(walk_stores(top, errors.append))
        for path in stores:
            shown = os.path.normpath(Path(name) / path.relative_to(top))
            found.setdefault(path.resolve(), StoreFolder(shown, path))
        for error in errors:
            path = Path(os.fsdecode(error.filename or top))
            reason = LoadError(f"cannot be listed: {(error.strerror or str(error)).lower()}")
            found[path] = StoreFolder(os.path.normpath(Path(name) / path.relative_to(top)), path, reason)
        if not stores and not errors:
            hint = "a store has evalstore.yaml, or is a repository with artifacts; five folders deep are searched"
            found[top] = StoreFolder(os.path.normpath(name), top, LoadError("no store is here", hint=hint))
    return list(found.values())


def write_index(
    folders: Sequence[StoreFolder], out: Path, *, runs: Path, today: date, watch: Watch[Any] = iter
) -> WrittenIndex:
    """Write the rows of stores into `out`, in place of an index that is there; the suffix says in which format.

    `runs` is the folder of runs in each store; `watch` wraps the iteration over the stores (a progress bar). Raises
    `RefusedError` for a file that is not an index, and where no store can be read at all.
    """
    if out.suffix not in _FORMATS:
        raise UsageError(
            "an index is written as .parquet or .jsonl", hint="name the file accordingly: --out index.parquet"
        )
    if runs.is_absolute() or ".." in runs.parts:
        raise UsageError(f"--runs names a folder in each store, and {runs} leads out of it")
    find_row_format(out).require()
    _require_own_file(out)
    counts, problems = Counter[str](), list[IndexProblem]()

    def iterate_counted() -> Iterator[IndexRow]:
        for folder in watch(folders):
            for row in _iterate_rows(folder, runs, today):
                counts[row["record"]] += 1
                if row["record"] == RecordType.PROBLEM:
                    facts = (row.get(name) for name in ("severity", "message", "file", "hint"))
                    problems.append(IndexProblem(folder.name, *facts))  # type: ignore[arg-type]  # as make_problem has them
                yield {**row, "store": folder.name}
        if not counts[RecordType.STORE]:
            first = problems[0]
            raise RefusedError(
                f"no store can be read: {first.message}", place=Place(first.store), hint=first.hint or ""
            )

    with replace_file(out) as file:
        _FORMATS[out.suffix](iterate_counted(), {name: column.type for name, column in COLUMNS.items()}, file)
    return WrittenIndex(out, {record: counts[record] for record in RecordType}, tuple(problems))


def _iterate_rows(folder: StoreFolder, runs: Path, today: date) -> Iterator[IndexRow]:
    if folder.error:
        yield make_problem(folder.error)
        return
    try:
        yield from iterate_store_rows(folder.path, runs, today)
    except EvalstoreError as error:
        yield make_problem(error)


def _require_own_file(out: Path) -> None:
    """Raise `RefusedError` for a file that nobody takes for an index: it would be lost."""
    if not os.path.lexists(out):
        return
    try:
        first = None if out.is_symlink() else next(read_lines(out), (1, b'{"record": "", "store": ""}'))
        row = read_row(first[1], str(out), 1) if first else None
    except LoadError:
        row = None
    if not (isinstance(row, dict) and row.keys() >= _KEYS):
        raise RefusedError(
            "is not an index, and evalstore overwrites nothing else", place=Place(str(out)), hint="name another file"
        )
