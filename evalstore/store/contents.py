"""The contents of an opened store: settings, tags, ledgers, lock and working files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import attrgetter
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from evalstore.documents import Document, read_yaml
from evalstore.errors import ArgumentError, UsageError
from evalstore.files import MIDDLE_FILE, FolderReader, list_below
from evalstore.model import Kind, PinType, Ref, WorktreePins, is_id
from evalstore.model.lock import LIMIT as LOCK_LIMIT
from evalstore.model.lock import LOCK_FILE, NO_LOCK, Lock, read_lock
from evalstore.notebook import format_repr
from evalstore.places import SETTINGS_FILE
from evalstore.store.ledger import Ledgers
from evalstore.store.locate import Repository, find_repository, find_root, resolve_folder
from evalstore.store.release_reader import ReleaseReader
from evalstore.store.repository.git import Git
from evalstore.store.repository.object_reader import ObjectReader
from evalstore.store.repository.objects import Commit, find_file, read_commit
from evalstore.store.root_settings import (
    find_bare_prefix,
    parse_settings,
    read_root_file,
    read_tag_prefix,
)
from evalstore.store.store_moves import StoreMoves
from evalstore.store.tags import Release, TagGrammar, Tags
from evalstore.text import SHORT_DIGEST, make_excerpt


@dataclass(slots=True)
class ParsedDocuments:
    """The documents of this run by their bytes, up to a total size."""

    _by_content: dict[bytes, Document] = field(default_factory=dict)
    _room: int = 8 << 20  # bytes of files; parsed, they take some ten times as much

    def read(self, data: bytes, file: str) -> Document:
        """Return the document of a YAML file's bytes; raises like `read_yaml`."""
        document = self._by_content.get(data)
        if document is not None:
            return document.rename(file)
        document = read_yaml(data, file)
        if len(data) <= self._room:
            self._room -= len(data)
            self._by_content[data] = document
        return document


@dataclass(slots=True)
class StoreReader:
    """The contents of one store, before references are resolved (`ArtifactStore` adds that).

    `root` is the folder on disk (None for a bare repository), `prefix` its path in the repository
    ("" or with a slash at the end). Tags, ledgers and the lock are read once; call `forget()` after
    this process has changed one. `worktree` says which references mean the file on disk; None: only
    those that say so.
    """

    repository: Repository
    root: Path | None
    prefix: str
    objects: ObjectReader
    settings: Mapping[str, Any]
    tags: Tags
    moves: StoreMoves
    ledgers: Ledgers
    documents: ParsedDocuments = field(default_factory=ParsedDocuments)
    folders: FolderReader = field(default_factory=FolderReader)
    worktree: WorktreePins | None = None
    _lock: Lock | None = None
    prefetch: ReleaseReader = field(init=False)

    def __post_init__(self) -> None:
        self.prefetch = ReleaseReader(self.objects, self.tags, self.moves)

    def __repr__(self) -> str:
        return format_repr(self, self.root or self.repository.git.directory)

    @classmethod
    def open(cls, path: PathLike[str] | str) -> Self:
        """Open the store of a folder: marked by evalstore.yaml, else the repository's root.

        The marked folder is the given one or one above it. Raises `GitError` outside a repository
        and `LoadError` for settings that cannot be read.
        """
        if not isinstance(path, str | PathLike):
            raise ArgumentError.from_value("the folder of a store", path, (str, Path))
        start = resolve_folder(Path(path))
        repository = find_repository(start)
        # A bare repository has no files on disk: its store is found in HEAD.
        root, prefix = (
            find_root(start, repository.top)
            if repository.top
            else (None, find_bare_prefix(repository.git))
        )
        objects = ObjectReader(repository.git)
        data = read_root_file(
            repository, objects, root=root, prefix=prefix, name=SETTINGS_FILE, limit=MIDDLE_FILE
        )
        settings = parse_settings(data or b"", SETTINGS_FILE)
        tags = Tags(repository.git, TagGrammar.from_prefix(read_tag_prefix(settings)))
        moves = StoreMoves(repository.git, objects, prefix)
        ledgers = Ledgers(repository.git, objects, moves)
        return cls(repository, root, prefix, objects, settings.value or {}, tags, moves, ledgers)

    @property
    def git(self) -> Git:
        """Git for this repository."""
        return self.repository.git

    @property
    def strict(self) -> bool:
        """Whether the settings turn warnings into refusals."""
        return self.settings.get("strict") is True

    @property
    def tag_prefix(self) -> str:
        """The text before `<kind>/<id>@<version>` in tag names."""
        return self.tags.grammar.prefix

    @property
    def lock(self) -> Lock:
        """The content of evalstore.lock; raises `LoadError` if it is not as evalstore writes it."""
        if self._lock is None:
            data = self.read_root_file(LOCK_FILE, LOCK_LIMIT)
            self._lock = NO_LOCK if data is None else read_lock(data)
        return self._lock

    def without_lock(self) -> Self:
        """Return the same store without its evalstore.lock; closing either closes both."""
        return replace(self, _lock=NO_LOCK)

    def with_tag_prefix(self, prefix: str) -> Self:
        """Return the same store with another tag prefix; closing either closes both."""
        if prefix == self.tag_prefix:
            return self
        return replace(self, tags=Tags(self.git, TagGrammar.from_prefix(prefix)))

    def with_worktree(self, pins: str | None = WorktreePins.UNRELEASED) -> Self:
        """Return the same store, reading files for references without a release.

        With `"all"` it reads files for every reference. What is read that way is called
        `<kind>/<id>@worktree`. Closing either store closes both.
        """
        if pins is not None and pins not in {*WorktreePins}:
            raise UsageError(
                f"worktree must be 'unreleased', 'all' or None, not {make_excerpt(repr(pins), 40)}"
            )
        view = replace(self, worktree=None if pins is None else WorktreePins(pins))
        view.prefetch = self.prefetch  # releases that are expected are read ahead for both
        return view

    def releases(
        self,
        kind: Kind | None = None,
        id: str | None = None,  # noqa: A002  # the word for it
    ) -> list[Release]:
        """Return the releases of one artifact, a kind or all, ascending, with one call to git."""
        return self.tags.list_releases(kind, id)

    def group_releases(self) -> dict[str, tuple[Release, ...]]:
        """Return all releases by `<kind>/<id>`, each ascending, with one call to git."""
        return {
            name: tuple(group) for name, group in groupby(self.releases(), key=attrgetter("name"))
        }

    def working(self) -> list[Ref]:
        """Return the artifacts on disk as `@worktree` references, without links and other names."""
        return list(self._iterate_working())

    def has_working_file(self) -> bool:
        """Whether there is an artifact on disk."""
        return any(True for _ in self._iterate_working())

    def _iterate_working(self) -> Iterator[Ref]:
        if self.root is None:
            return
        for kind in Kind:
            for name in list_below(self.root, kind.folder):
                if name.endswith(".yaml") and is_id(name[:-5]):
                    yield Ref(kind, name[:-5], "worktree", PinType.WORKTREE)

    def list_recorded_tags(self) -> list[str]:
        """Return the tag of every release in HEAD's ledgers, in order, even if it is not here."""
        names = self.ledgers.list_names()
        self.ledgers.expect(names)
        lines = (
            (name, version) for name in names for version in self.ledgers.read(name).by_version
        )
        return [f"{self.tag_prefix}{name}@{version}" for name, version in lines]

    def read_root_file(self, name: str, limit: int = MIDDLE_FILE) -> bytes | None:
        """Return a file at the store's root, from disk or (if bare) from HEAD; None if missing."""
        return read_root_file(
            self.repository,
            self.objects,
            root=self.root,
            prefix=self.prefix,
            name=name,
            limit=limit,
        )

    def read_settings(self) -> Document:
        """Return the present settings of the store; an empty document if it has none."""
        return parse_settings(self.read_root_file(SETTINGS_FILE) or b"", SETTINGS_FILE)

    def find_file_at(self, commit: str, path: str) -> str | None:
        """Return the blob of a store's file at a commit, wherever the store was.

        None if missing.
        """
        return find_file(self.objects, commit, self.moves.find_prefix(commit) + path)

    def read_file_at(self, commit: str, path: str, limit: int = MIDDLE_FILE) -> bytes | None:
        """Return a store's file at a commit, wherever the store was; None if missing."""
        blob = self.find_file_at(commit, path)
        return self.objects.read(blob, limit).data if blob else None

    def read_settings_at(self, commit: str) -> Document:
        """Return the store's settings at a commit; an empty document if it had none."""
        data = self.read_file_at(commit, SETTINGS_FILE)
        return parse_settings(data or b"", f"git:{commit[:SHORT_DIGEST]}:{SETTINGS_FILE}")

    def commit(self, oid: str) -> Commit:
        """Return a commit by its full id."""
        return read_commit(self.objects, oid)

    def forget(self, head: str | None = None) -> None:
        """Forget tags, ledgers and the lock, which this process has changed; they are read again.

        `head` is the commit that is checked out, if the caller has just asked.
        """
        self.tags.forget()
        self.prefetch.forget()
        self.ledgers.forget(head)
        self._lock = None

    def close(self) -> None:
        """End the git process that reads objects."""
        self.objects.close()
        self.folders.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        type_: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
