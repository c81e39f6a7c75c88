"""Who refers to whom: files are found by what their bytes mention, and only those are parsed; each once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from evalstore.errors import EvalstoreError
from evalstore.model import Kind
from evalstore.references.mentions import Mentions, scan_release, scan_working_file
from evalstore.references.reading import ArtifactReference, FileReferences, read_references
from evalstore.store import ArtifactStore
from evalstore.store.object_reader import find_committed_blobs

_NOTHING = FileReferences("", 0, ())


@dataclass(frozen=True, slots=True)
class ReachedArtifacts:
    """What an artifact's change can reach, through any number of references: names, and questions by dataset."""

    rubrics: frozenset[str] = frozenset()
    questions: Mapping[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class ReferenceGraph:
    """The references of files, each named by a reference of its own (`<kind>/<id>@…`).

    One that cannot be read refers to nothing, and `unread` says why.
    """

    store: ArtifactStore
    mentions: Mapping[str, Mentions]
    unread: dict[str, EvalstoreError] = field(default_factory=dict)
    _read: dict[str, FileReferences] = field(default_factory=dict)
    _users: dict[str, tuple[ArtifactReference, ...]] = field(default_factory=dict)
    _by_name: Mapping[str, list[str]] = field(init=False)
    _hidden: list[str] = field(init=False)

    def __post_init__(self) -> None:
        by_name = defaultdict(list)
        for key, mentions in self.mentions.items():
            for name in () if mentions.hidden else mentions.names:
                by_name[name].append(key)
        self._by_name = by_name
        self._hidden = [key for key, mentions in self.mentions.items() if mentions.hidden]

    def read_references(self, key: str) -> FileReferences:
        """Return what one of the files refers to."""
        if key not in self._read:
            try:
                self._read[key] = read_references(self.store, self.store.resolve(key), key)
            except EvalstoreError as error:
                self.unread[key] = error
                self._read[key] = _NOTHING
        return self._read[key]

    def find_references_to(self, name: str) -> tuple[ArtifactReference, ...]:
        """Return every reference to an artifact, whatever its pin."""
        if name not in self._users:
            keys = sorted({*self._by_name.get(name, ()), *self._hidden})
            self._users[name] = tuple(
                use for key in keys for use in self.read_references(key).uses if use.ref.name == name
            )
        return self._users[name]

    def find_reached(self, name: str) -> ReachedArtifacts:
        """Return what the scores of an artifact reach, whatever the pins on the way."""
        seen, waiting = {name}, [name]
        questions: defaultdict[str, int] = defaultdict(int)
        while waiting:
            for use in self.find_references_to(waiting.pop()):
                if not use.scores:
                    continue
                if use.ref.kind is Kind.RUBRIC and use.name.startswith(Kind.DATASET):
                    questions[use.name] += use.questions
                if use.name not in seen:
                    seen.add(use.name)
                    waiting.append(use.name)
        return ReachedArtifacts(frozenset(one for one in seen - {name} if one.startswith(Kind.RUBRIC)), dict(questions))


def build_working_graph(store: ArtifactStore) -> ReferenceGraph:
    """Return the references of the working files, their rows included."""
    return ReferenceGraph(store, {str(ref): scan_working_file(store, ref) for ref in store.list_working_refs()})


def build_full_graph(store: ArtifactStore) -> ReferenceGraph:
    """Return the references of working files and of all releases, by one listing of tags and one pass over blobs."""
    releases = store.list_releases()
    files = [(one.commit, store.prefix + one.path) for one in releases]
    blobs = find_committed_blobs(store.git, files)
    released = {
        f"{one.name}@{one.version}": scan_release(store, one, blob)
        for one, blob in zip(releases, blobs, strict=True)
        if blob
    }
    return ReferenceGraph(store, {**build_working_graph(store).mentions, **released})
