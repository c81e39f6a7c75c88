"""The references between the files of a store, and what depends on an artifact through them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import chain

from evalstore.errors import EvalstoreError
from evalstore.model import Kind
from evalstore.release.dependencies.mentions import Mentions, scan_release, scan_working_file
from evalstore.release.dependencies.references import (
    ArtifactReference,
    FileReferences,
    read_references,
)
from evalstore.store import ArtifactStore
from evalstore.store.working_files import read_working_files

_NOTHING = FileReferences("", 0, ())


@dataclass(frozen=True, slots=True)
class ReachedArtifacts:
    """What depends on an artifact, directly or not.

    It has the names of rubrics, and the number of graded questions by dataset.
    """

    rubrics: frozenset[str] = frozenset()
    questions: Mapping[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class ReferenceGraph:
    """The references between files.

    A file is identified by the reference that names it (`<kind>/<id>@<version or worktree>`).
    `mentions` says which names occur in each file. A file that cannot be read refers to nothing,
    and `unread` says why; it is filled while the graph is used.
    """

    store: ArtifactStore
    mentions: Mapping[str, Mentions]
    unread: dict[str, EvalstoreError] = field(default_factory=dict)
    _read_files: dict[str, FileReferences] = field(default_factory=dict)
    _users: dict[str, tuple[ArtifactReference, ...]] = field(default_factory=dict)
    _by_name: Mapping[str, list[str]] = field(init=False)
    _hidden: list[str] = field(init=False)  # files that must be parsed for every name

    def __post_init__(self) -> None:
        # From a name to the files that mention it: each question parses only these, and the hidden
        # ones.
        by_name = defaultdict(list)
        for key, mentions in self.mentions.items():
            for name in () if mentions.hidden else mentions.names:
                by_name[name].append(key)
        self._by_name = by_name
        self._hidden = [key for key, mentions in self.mentions.items() if mentions.hidden]

    def read_references(self, key: str) -> FileReferences:
        """Return what one of the files refers to; read once."""
        if key not in self._read_files:
            try:
                self._read_files[key] = read_references(self.store, self.store.resolve(key), key)
            except EvalstoreError as error:
                self.unread[key] = error
                self._read_files[key] = _NOTHING
        return self._read_files[key]

    def find_references_to(self, name: str) -> tuple[ArtifactReference, ...]:
        """Return every reference to an artifact (`<kind>/<id>`), whatever its pin."""
        if name not in self._users:
            keys = sorted({*self._by_name.get(name, ()), *self._hidden})
            found = chain.from_iterable(self.read_references(key).references for key in keys)
            self._users[name] = tuple(one for one in found if one.ref.name == name)
        return self._users[name]

    def find_reached(self, name: str) -> ReachedArtifacts:
        """Return everything whose scores depend on an artifact, whatever the pins on the way."""
        seen, waiting = {name}, [name]
        questions: defaultdict[str, int] = defaultdict(int)
        while waiting:
            for reference in self.find_references_to(waiting.pop()):
                # A judge records what it was measured on; no score depends on that.
                if not reference.scores:
                    continue
                if reference.ref.kind is Kind.RUBRIC and reference.name.startswith(Kind.DATASET):
                    questions[reference.name] += reference.questions
                if reference.name not in seen:
                    seen.add(reference.name)
                    waiting.append(reference.name)
        rubrics = frozenset(other for other in seen - {name} if other.startswith(Kind.RUBRIC))
        return ReachedArtifacts(rubrics, dict(questions))


def build_working_graph(store: ArtifactStore) -> ReferenceGraph:
    """Return the graph of the working files, including their rows."""
    files = read_working_files(store, store.working())
    return ReferenceGraph(
        store, {str(ref): scan_working_file(store, ref, data) for ref, data in files}
    )


def build_full_graph(store: ArtifactStore) -> ReferenceGraph:
    """Return the graph of working files and all releases.

    It takes one listing of tags and one pass over blobs.
    """
    places = {release: (release.commit, release.path) for release in store.releases()}
    released = {}
    for release, blob in store.moves.find_blobs(places).items():
        if blob:
            released[f"{release.name}@{release.version}"] = scan_release(store, release, blob)
    return ReferenceGraph(store, {**build_working_graph(store).mentions, **released})
