"""Who refers to whom: files are found by what their bytes mention, and only those are parsed; each once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

from evalstore.errors import EvalstoreError, LoadError
from evalstore.files import open_below, read_below
from evalstore.model import Kind, Ref
from evalstore.release.standing import working_rows
from evalstore.release.uses import ANYTHING, Mentions, Use, Uses, read_mentions, read_uses
from evalstore.store import ArtifactStore
from evalstore.store.artifacts import ARTIFACT_LIMIT

_CHUNK = 1 << 20
_NOTHING = Uses("", 0, ())


@dataclass(frozen=True, slots=True)
class Reach:
    """What an artifact's change can reach, through any number of references: names, and questions by dataset."""

    rubrics: frozenset[str] = frozenset()
    questions: Mapping[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class Web:
    """The references of files, each named by a reference of its own (`<kind>/<id>@…`).

    One that cannot be read refers to nothing, and `unread` says why.
    """

    store: ArtifactStore
    mentions: Mapping[str, Mentions]
    unread: dict[str, EvalstoreError] = field(default_factory=dict)
    _read: dict[str, Uses] = field(default_factory=dict)
    _users: dict[str, tuple[Use, ...]] = field(default_factory=dict)
    _by_name: Mapping[str, list[str]] = field(init=False)
    _hidden: list[str] = field(init=False)

    def __post_init__(self) -> None:
        by_name = defaultdict(list)
        for key, mentions in self.mentions.items():
            for name in () if mentions.hidden else mentions.names:
                by_name[name].append(key)
        self._by_name = by_name
        self._hidden = [key for key, mentions in self.mentions.items() if mentions.hidden]

    def read(self, key: str) -> Uses:
        """Return what one of the files refers to."""
        if key not in self._read:
            try:
                self._read[key] = read_uses(self.store, self.store.resolve(key), key)
            except EvalstoreError as error:
                self.unread[key] = error
                self._read[key] = _NOTHING
        return self._read[key]

    def users(self, name: str) -> tuple[Use, ...]:
        """Return every reference to an artifact, whatever its pin."""
        if name not in self._users:
            keys = sorted({*self._by_name.get(name, ()), *self._hidden})
            self._users[name] = tuple(use for key in keys for use in self.read(key).uses if use.ref.name == name)
        return self._users[name]

    def reach(self, name: str) -> Reach:
        """Return what the scores of an artifact reach, whatever the pins on the way."""
        seen, waiting = {name}, [name]
        questions: defaultdict[str, int] = defaultdict(int)
        while waiting:
            for use in self.users(waiting.pop()):
                if not use.scores:
                    continue
                if use.ref.kind is Kind.RUBRIC and use.name.startswith(Kind.DATASET):
                    questions[use.name] += use.questions
                if use.name not in seen:
                    seen.add(use.name)
                    waiting.append(use.name)
        return Reach(frozenset(one for one in seen - {name} if one.startswith(Kind.RUBRIC)), dict(questions))


def working_web(store: ArtifactStore) -> Web:
    """Return the references of the working files, their rows included."""
    return Web(store, {str(ref): _mentions(store, ref) for ref in store.list_working_refs()})


def _mentions(store: ArtifactStore, ref: Ref) -> Mentions:
    try:
        return read_mentions(_pieces(store, ref))
    except LoadError:
        return ANYTHING


def _pieces(store: ArtifactStore, ref: Ref) -> Iterator[bytes]:
    if store.root is not None:
        yield read_below(store.root, ref.path, ARTIFACT_LIMIT)
        yield b"\n"  # what ends one file is no beginning of the next
    if ref.kind is Kind.DATASET and (rows := working_rows(store, ref)):
        yield from _file(store, rows)


def _file(store: ArtifactStore, path: str) -> Iterator[bytes]:
    if store.root is None:
        return
    with open_below(store.root, path) as file:
        yield from iter(partial(file.read, _CHUNK), b"")
