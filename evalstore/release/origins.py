"""Finds who gave a part of an artifact its meaning: the commit on the way to it, its authors, and its release."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction
from functools import partial
from typing import NamedTuple

from evalstore.documents import read_yaml
from evalstore.errors import EvalstoreError, GitError
from evalstore.model import MALFORMED_ERRORS, Artifact, Kind, Question, iterate_questions, parse_ref
from evalstore.model.refs import ArtifactIdentity
from evalstore.release.artifact_parts import (
    ArtifactPart,
    PartTable,
    QuestionRows,
    find_weight_factor,
    pair_names,
    read_parts,
)
from evalstore.store import ArtifactStore, Release, Resolved
from evalstore.store.file_history import FileHistory, read_file_history
from evalstore.store.lineage import list_former_names
from evalstore.store.repository.object_reader import MissingObjectError
from evalstore.store.repository.objects import read_tagger
from evalstore.store.repository.shallow import describe_missing_history
from evalstore.store.revisions import find_head
from evalstore.store.rows import list_renames, list_rows_paths, read_rows
from evalstore.store.tags import list_patterns


class Ending(StrEnum):
    """Where the search for a part's origin ended: in a commit, at the base, or where a shallow clone ends."""

    COMMIT = "commit"
    BASE = "base"
    CUT = "cut"


class PartEnding(NamedTuple):
    """The commit in which the search for one part ended, and how."""

    ending: Ending
    commit: str


class _PartSearch(NamedTuple):
    """One part that is looked for, and its name in the version that has been reached."""

    wanted: ArtifactPart
    here: ArtifactPart


@dataclass(frozen=True, slots=True)
class _Step:
    """The step from a parent to a commit: both versions, and the older names of checks and questions by newer ones."""

    parent: str
    old: PartTable
    new: PartTable
    names: Mapping[str, str]
    changed: frozenset[ArtifactPart]

    @classmethod
    def between(cls, parent: str, old: PartTable, new: PartTable, renames: Mapping[str, str]) -> _Step:
        """Return the step between two versions; `changed` are the parts that differ by their names."""
        changed = frozenset(part for part, _ in old.meanings.items() ^ new.meanings.items())
        return cls(parent, old, new, pair_names(old, new, renames) if changed else {}, changed)

    def find_earlier_name(self, part: ArtifactPart) -> ArtifactPart:
        """Return the name of a part in the older version; a part that the newer one lacks keeps its name."""
        if part.name not in self.names or part not in self.new.meanings:
            return part
        return part._replace(name=self.names[part.name])

    def keeps(self, part: ArtifactPart) -> bool:
        """Whether a part means the same in both versions."""
        if part not in self.changed and part.name not in self.names:
            return True
        later, earlier = self.new.meanings.get(part), self.old.meanings.get(self.find_earlier_name(part))
        if part.area != "weight" or earlier is None or later is None or earlier == later:
            return earlier == later
        return Fraction(earlier) * find_weight_factor(self.old, self.new) == Fraction(later)


@dataclass(slots=True)
class PartHistory:
    """The versions of one artifact in a `FileHistory`.

    `read_table(commit)` returns the parts at a commit, None for a file that is malformed: such a version is passed
    over. `renames` are the new ids of renamed questions by the old ones.
    """

    history: FileHistory
    read_table: Callable[[str], PartTable | None]
    renames: Mapping[str, str] = field(default_factory=dict)
    _tables: dict[str, PartTable | None] = field(default_factory=dict)

    def find_endings(self, parts: Iterable[ArtifactPart]) -> dict[ArtifactPart, PartEnding]:
        """Return for each part, named as at the head, the newest commit whose value differs from that of all parents.

        A part that the head lacks is named as in the version that last had it.
        """
        if self.history.head is None:
            return {}
        found = self._walk({self.history.head: [_PartSearch(part, part) for part in parts]})
        return {part: self._follow_renamed(part, ending) for part, ending in found.items()}

    def _walk(self, waiting: dict[str, list[_PartSearch]]) -> dict[ArtifactPart, PartEnding]:
        found: dict[ArtifactPart, PartEnding] = {}
        for oid in self.history.commits:
            searches = waiting.pop(oid, None)
            if not searches:
                continue
            steps = [*self._list_steps(oid)]
            # Most commits change few parts, and the rest goes on to the first parent together.
            if steps and not steps[0].names and steps[0].parent in self.history.commits:
                rest = [search for search in searches if search.here not in steps[0].changed]
                waiting.setdefault(steps[0].parent, []).extend(rest)
                searches = [search for search in searches if search.here in steps[0].changed]
            for search in searches:
                step = next((step for step in steps if step.keeps(search.here)), None)
                if step is None:
                    ending = Ending.CUT if oid in self.history.cut else Ending.COMMIT
                    found[search.wanted] = PartEnding(ending, oid)
                elif step.parent in self.history.commits:
                    earlier = _PartSearch(search.wanted, step.find_earlier_name(search.here))
                    waiting.setdefault(step.parent, []).append(earlier)
                else:
                    found[search.wanted] = PartEnding(Ending.BASE, step.parent)
        return found

    def _list_steps(self, oid: str) -> Iterator[_Step]:
        """Yield the step from each parent of a commit; a malformed parent is replaced by its own parents.

        There is none to a malformed version.
        """
        new = self._read(oid)
        waiting, seen = list(reversed(self.history.commits[oid])), set[str]()
        while waiting and new is not None:
            parent = waiting.pop()
            if parent in seen:
                continue
            seen.add(parent)
            old = self._read(parent)
            if old is not None:
                yield _Step.between(parent, old, new, self.renames)
            elif parent in self.history.commits:
                waiting += reversed(self.history.commits[parent])

    def _follow_renamed(self, part: ArtifactPart, ending: PartEnding) -> PartEnding:
        """Return where a removed check ended that had another id before it was removed: not where it was renamed."""
        seen = {part}
        while ending.ending is Ending.COMMIT and (later := self._find_later_name(part, ending.commit)) not in seen:
            seen.add(later)
            part = later
            ending = self._walk({self.history.head or "": [_PartSearch(part, part)]})[part]
        return ending

    def _find_later_name(self, part: ArtifactPart, oid: str) -> ArtifactPart:
        """Return the name that an absent part has at a commit, if that only renamed it."""
        for step in self._list_steps(oid):
            names = {before: after for after, before in step.names.items() if before}
            if part in step.old.meanings and part.name in names:
                return part._replace(name=names[part.name])
        return part

    def _read(self, oid: str) -> PartTable | None:
        if oid not in self._tables:
            # A version is compared with its parents, which come soon after.
            while len(self._tables) >= 8:  # noqa: PLR2004  # versions that are kept parsed
                del self._tables[next(iter(self._tables))]
            self._tables[oid] = self.read_table(oid)
        return self._tables[oid]


_ABSENT = PartTable()
_SHALLOW = "this shallow clone does not have the commit: {}"


@dataclass(frozen=True, slots=True)
class PartOrigin:
    """The commit in which a part last took its value, and the release that brought it.

    `commit` and what follows are None where no commit holds the part (the working tree), or the history is lost; `gap`
    then says why. `released_in` is None for what no release on the way holds. `undoes`: the part is as it was before
    this commit, which is not on the way.
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
                found |= dict.fromkeys(self._list_fresh(new, tip, wanted), PartOrigin(gap="not committed"))
            if tip is None:
                return found
            history = self._open_history(new, tip, old.commit if old else None)
            endings = history.parts.find_endings(part for part in wanted if part not in found)
            for part, ending in endings.items():
                found[part] = history.describe(ending) if ending.ending is not Ending.BASE else PartOrigin()
            missing = [part for part in wanted if not (found.get(part) and (found[part].commit or found[part].gap))]
            return found | self._find_reverts(old, new, missing)
        except GitError as error:  # a partial clone, or objects that are lost
            lost = self._describe_release(new, gap=f"the history of {new.name} cannot be read here: {error.message}")
            return dict.fromkeys(wanted, lost)

    def _list_fresh(self, new: Resolved, head: str | None, parts: Iterable[ArtifactPart]) -> list[ArtifactPart]:
        """Return the parts that a working file has otherwise than the newest commit."""
        written, committed = self._read_resolved(new), _ABSENT
        if head is not None:
            committed = _read_committed_parts(self._open_rows(new), _list_names(self.store, new), head) or _ABSENT
        return [part for part in parts if written.meanings.get(part) != committed.meanings.get(part)]

    def _find_reverts(
        self, old: Resolved | None, new: Resolved, parts: list[ArtifactPart]
    ) -> dict[ArtifactPart, PartOrigin]:
        """Return the commits on the way to `old` that `new` lacks: what they did is undone in it."""
        found = {part: self._describe_release(new, gap="no commit in between changed it") for part in parts}
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
            self._histories[key] = _ArtifactHistory.open(self.store, artifact, tip, base, self._open_rows(artifact))
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
        return PartOrigin(released_in=str(release.version), released_by=_find_releaser(self.store, release), gap=gap)


@dataclass(frozen=True, slots=True)
class _ArtifactHistory:
    """The history of one artifact between two commits, and the first release that holds each commit."""

    store: ArtifactStore
    parts: PartHistory
    releases: Mapping[str, Release]

    @classmethod
    def open(
        cls, store: ArtifactStore, artifact: Resolved, tip: str, base: str | None, rows: QuestionRows
    ) -> _ArtifactHistory:
        """Walk the history of an artifact's files once."""
        known = None
        with suppress(MissingObjectError):
            known = store.commit(base).oid if base else None
        names = _list_names(store, artifact)
        tags = [pattern for one in names for pattern in list_patterns(store.tags.grammar, one.kind, one.id)]
        paths = [*dict.fromkeys(path for one in names for path in _list_paths(store, one))]
        history = read_file_history(store, paths, tip, base=known, tags=tags)
        store.objects.expect(history.commits)
        renames = list_renames(store, artifact)
        parts = PartHistory(history, partial(_read_committed_parts, rows, names), renames)
        releases = (release for one in names for release in store.releases(one.kind, one.id))
        return cls(store, parts, _find_first_releases(history, releases))

    def describe(self, ending: PartEnding) -> PartOrigin:
        """Return what is known of the commit in which a search ended."""
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


def _find_first_releases(history: FileHistory, releases: Iterable[Release]) -> dict[str, Release]:
    """Return for each commit the first release on the way that holds it."""
    by_commit: dict[str, Release] = {}
    for release in releases:
        by_commit.setdefault(release.commit, release)  # of several on one commit the lowest
    found: dict[str, Release] = {}
    for oid in reversed([*history.commits]):  # parents first
        if oid in by_commit:
            found |= dict.fromkeys(history.list_ancestors(oid, stop=found), by_commit[oid])
    return found


def _find_releaser(store: ArtifactStore, release: Release) -> str:
    tagger = read_tagger(store.objects, release.tag_object) if release.tag_object else ""
    return tagger or store.commit(release.commit).author


def iterate_resolved_questions(store: ArtifactStore, resolved: Resolved) -> Iterable[Question]:
    """Return the questions of a dataset; none of another artifact."""
    artifact = resolved.artifact
    if artifact.kind is not Kind.DATASET:
        return ()
    rows = read_rows(store, artifact, commit=resolved.commit, tag=None) if "rows" in artifact.value else None
    return iterate_questions(artifact.value, rows)


def _list_paths(store: ArtifactStore, artifact: ArtifactIdentity) -> list[str]:
    return [artifact.path, *(list_rows_paths(store, artifact) if artifact.kind is Kind.DATASET else [])]


def _list_names(store: ArtifactStore, artifact: Resolved) -> list[ArtifactIdentity]:
    """Return an artifact as it is named, and as it was before it was renamed, the last first."""
    return [artifact, *map(parse_ref, list_former_names(store, artifact.name))]


def _read_committed_parts(rows: QuestionRows, names: Sequence[ArtifactIdentity], oid: str) -> PartTable | None:
    """Return the parts of an artifact, by its first name that a commit has: none without one, None if malformed."""
    store = rows.store
    try:
        files = ((one, blob) for one in names if (blob := store.find_file_at(oid, one.path)) is not None)
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
