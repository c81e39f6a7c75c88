"""Finds who gave a part its meaning: the commit that did, its authors, and its release."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial

from evalstore.documents import read_yaml
from evalstore.errors import EvalstoreError, GitError
from evalstore.model import MALFORMED_ERRORS, Artifact, Kind, Question, iterate_questions, parse_ref
from evalstore.model.refs import ArtifactIdentity
from evalstore.release.history.artifact_parts import (
    ArtifactPart,
    PartTable,
    QuestionRows,
    pair_names,
    read_parts,
)
from evalstore.release.history.part_history import Ending, PartEnding, PartHistory
from evalstore.store import ArtifactStore, Release, Resolved
from evalstore.store.file_history import FileHistory, read_file_history
from evalstore.store.lineage import list_former_names
from evalstore.store.listing import list_untagged
from evalstore.store.repository.object_reader import MissingObjectError
from evalstore.store.repository.objects import read_tagger
from evalstore.store.repository.shallow import describe_missing_history
from evalstore.store.revisions import find_head
from evalstore.store.rows import list_renames, list_rows_paths, read_rows
from evalstore.store.tags import list_patterns

_ABSENT = PartTable()
_SHALLOW = "this shallow clone does not have the commit: {}"


@dataclass(frozen=True, slots=True)
class PartOrigin:
    """The commit in which a part last took its value, and the release that brought it.

    `commit` and the following fields are None if no commit has the part (the working tree), or the
    history is lost; `gap` then says why. `released_in` is None if no release on the way has the
    part. `undoes`: the part is as it was before this commit, which is not on the way.
    """

    commit: str | None = None
    author: str | None = None
    date: str | None = None
    subject: str | None = None
    co_authors: tuple[str, ...] = ()
    released_in: str | None = None
    released_by: str | None = None
    undoes: bool = False
    gap: str = ""


@dataclass(slots=True)
class OriginFinder:
    """Finds the origins of parts in one store; every history is walked once."""

    store: ArtifactStore
    _histories: dict[tuple[str, str, str | None], _ArtifactHistory] = field(default_factory=dict)
    _rows: dict[str, QuestionRows] = field(default_factory=dict)

    def find_origins(
        self, old: Resolved | None, new: Resolved, parts: Iterable[ArtifactPart]
    ) -> dict[ArtifactPart, PartOrigin]:
        """Return the origin of each part on the way from `old` (None: from the beginning) to `new`.

        Parts are named as in `new`; one that `new` lacks is named as in `old`.
        """
        wanted, found = list(parts), dict[ArtifactPart, PartOrigin]()
        try:
            tip = new.commit
            if tip is None:
                tip = find_head(self.store.git)
                fresh = self._list_fresh(new, tip, wanted)
                found |= dict.fromkeys(fresh, PartOrigin(gap="not committed"))
            if tip is None:
                return found
            history = self._open_history(new, tip, old.commit if old else None)
            endings = history.parts.find_endings(part for part in wanted if part not in found)
            for part, ending in endings.items():
                is_known = ending.ending is not Ending.BASE
                found[part] = history.describe(ending) if is_known else PartOrigin()
            origins = {part: found.get(part, PartOrigin()) for part in wanted}
            missing = [part for part, one in origins.items() if not one.commit and not one.gap]
            return found | self._find_reverts(old, new, missing)
        except GitError as error:  # a partial clone, or objects that are lost
            lost = self._describe_release(
                new, gap=f"the history of {new.name} cannot be read here: {error.message}"
            )
            return dict.fromkeys(wanted, lost)

    def _list_fresh(
        self, new: Resolved, head: str | None, parts: Iterable[ArtifactPart]
    ) -> list[ArtifactPart]:
        """Return the parts in which a working file differs from the newest commit."""
        written, committed = self._read_resolved(new), _ABSENT
        if head is not None:
            committed = (
                _read_committed_parts(self._open_rows(new), _list_names(self.store, new), head)
                or _ABSENT
            )
        return [
            part for part in parts if written.meanings.get(part) != committed.meanings.get(part)
        ]

    def _find_reverts(
        self, old: Resolved | None, new: Resolved, parts: list[ArtifactPart]
    ) -> dict[ArtifactPart, PartOrigin]:
        """Return the commits on the way to `old` that `new` lacks.

        What they did is undone in `new`.
        """
        gap = "no commit in between changed it"
        found = {part: self._describe_release(new, gap=gap) for part in parts}
        if not parts or old is None or old.commit is None or new.commit is None:
            return found
        history = self._open_history(old, old.commit, new.commit)
        tables = [self._read_resolved(side) for side in (old, new)]
        names = pair_names(tables[0], tables[1], history.parts.renames)
        earlier = {part: part._replace(name=names.get(part.name) or part.name) for part in parts}
        endings = history.parts.find_endings(earlier.values())
        for part in parts:
            if (ending := endings.get(earlier[part])) and ending.ending is Ending.COMMIT:
                found[part] = replace(history.describe(ending), undoes=True)
        return found

    def _open_history(self, artifact: Resolved, tip: str, base: str | None) -> _ArtifactHistory:
        key = artifact.name, tip, base
        if key not in self._histories:
            self._histories[key] = _ArtifactHistory.open(
                self.store, artifact, tip, base, self._open_rows(artifact)
            )
        return self._histories[key]

    def _open_rows(self, artifact: Resolved) -> QuestionRows:
        if artifact.name not in self._rows:
            self._rows[artifact.name] = QuestionRows(self.store)
        return self._rows[artifact.name]

    def _read_resolved(self, resolved: Resolved) -> PartTable:
        return _read_table(self._open_rows(resolved), resolved.artifact, resolved.commit) or _ABSENT

    def _describe_release(self, artifact: Resolved, *, gap: str) -> PartOrigin:
        releases = self.store.releases(artifact.kind, artifact.id)
        release = next((release for release in releases if release.tag == artifact.tag), None)
        if release is None:
            return PartOrigin(gap=gap)
        return PartOrigin(
            released_in=str(release.version),
            released_by=_find_releaser(self.store, release),
            gap=gap,
        )


@dataclass(frozen=True, slots=True)
class _ArtifactHistory:
    """The history of one artifact between two commits.

    `releases` has the first release that contains each commit.
    """

    store: ArtifactStore
    parts: PartHistory
    releases: Mapping[str, Release]

    @classmethod
    def open(
        cls,
        store: ArtifactStore,
        artifact: Resolved,
        tip: str,
        base: str | None,
        rows: QuestionRows,
    ) -> _ArtifactHistory:
        """Walk the history of an artifact's files once."""
        known = None
        with suppress(MissingObjectError):
            known = store.commit(base).oid if base else None
        names = _list_names(store, artifact)
        tags: list[str] = []
        for one in names:
            tags += list_patterns(store.tags.grammar, one.kind, one.id)
        paths = [*dict.fromkeys(path for one in names for path in _list_paths(store, one))]
        history = read_file_history(store, paths, tip, base=known, tags=tags)
        store.objects.expect(history.commits)
        renames = list_renames(store, artifact)
        parts = PartHistory(history, partial(_read_committed_parts, rows, names), renames)
        releases = [release for one in names for release in store.releases(one.kind, one.id)]
        releases += (release for one in names for release in _find_untagged(store, one, history))
        return cls(store, parts, _find_first_releases(history, releases))

    def describe(self, ending: PartEnding) -> PartOrigin:
        """Return what is known about the commit in which a search ended."""
        release = self.releases.get(ending.commit)
        origin = PartOrigin(
            released_in=str(release.version) if release else None,
            released_by=_find_releaser(self.store, release) if release else None,
        )
        if ending.ending is Ending.CUT:
            return replace(origin, gap=_SHALLOW.format(describe_missing_history(self.store.git)))
        commit = self.store.commit(ending.commit)
        return replace(
            origin,
            commit=commit.oid,
            author=commit.author,
            date=commit.date,
            subject=commit.summary,
            co_authors=commit.co_authors,
        )


def _find_untagged(
    store: ArtifactStore, artifact: ArtifactIdentity, history: FileHistory
) -> Iterator[Release]:
    """Yield the releases whose tags are not here, at the first commit whose ledger lists them."""
    missing = set(list_untagged(store, artifact.name))
    for oid in reversed([*history.commits]) if missing else ():  # parents first
        ledger = store.ledgers.read_at(oid, artifact.name)
        for version in sorted(missing & {line.version for line in ledger.lines}):
            missing.remove(version)
            yield Release(artifact.kind, artifact.id, version, "", None, oid)


def _find_first_releases(history: FileHistory, releases: Iterable[Release]) -> dict[str, Release]:
    """Return for each commit the first release on the way that contains it."""
    by_commit: dict[str, Release] = {}
    for release in releases:
        by_commit.setdefault(release.commit, release)  # of several on one commit, the lowest
    found: dict[str, Release] = {}
    for oid in reversed([*history.commits]):  # parents first
        if oid in by_commit:
            found |= dict.fromkeys(history.list_ancestors(oid, stop=found), by_commit[oid])
    return found


def _find_releaser(store: ArtifactStore, release: Release) -> str:
    tagger = read_tagger(store.objects, release.tag_object) if release.tag_object else ""
    return tagger or store.commit(release.commit).author


def iterate_resolved_questions(store: ArtifactStore, resolved: Resolved) -> Iterable[Question]:
    """Return the questions of a dataset; none for another artifact."""
    artifact = resolved.artifact
    if artifact.kind is not Kind.DATASET:
        return ()
    rows = (
        read_rows(store, artifact, commit=resolved.commit, tag=None)
        if "rows" in artifact.value
        else None
    )
    return iterate_questions(artifact.value, rows)


def _list_paths(store: ArtifactStore, artifact: ArtifactIdentity) -> list[str]:
    return [
        artifact.path,
        *(list_rows_paths(store, artifact) if artifact.kind is Kind.DATASET else []),
    ]


def _list_names(store: ArtifactStore, artifact: Resolved) -> list[ArtifactIdentity]:
    """Return an artifact under its name, and under its former ones, latest first."""
    return [artifact, *map(parse_ref, list_former_names(store, artifact.name))]


def _read_committed_parts(
    rows: QuestionRows, names: Sequence[ArtifactIdentity], oid: str
) -> PartTable | None:
    """Return an artifact's parts by the first of its names in a commit.

    They are empty if the commit has no such file, and None if it is malformed.
    """
    store = rows.store
    try:
        files = (
            (one, blob) for one in names if (blob := store.find_file_at(oid, one.path)) is not None
        )
        artifact, blob = next(files, (None, ""))
        if artifact is None:
            return _ABSENT
        document = read_yaml(store.objects.read(blob).data, artifact.path)
    except MissingObjectError:
        raise
    except EvalstoreError:
        return None
    return _read_table(rows, Artifact(artifact.kind, artifact.id, "", document), oid)


def _read_table(rows: QuestionRows, artifact: Artifact, oid: str | None) -> PartTable | None:
    try:
        return read_parts(artifact.kind, artifact.value, rows.read(artifact, oid))
    except (EvalstoreError, *MALFORMED_ERRORS):
        return None
