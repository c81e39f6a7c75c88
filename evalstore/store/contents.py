"""The contents of an opened store: its repository, settings, tags, ledgers, lock and working files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from evalstore.errors import ArgumentError
from evalstore.files import FolderReader, list_below
from evalstore.model import Kind, PinType, Ref, is_id
from evalstore.model.lock import LIMIT as LOCK_LIMIT
from evalstore.model.lock import LOCK_FILE, NO_LOCK, Lock, read_lock
from evalstore.notebook import format_repr
from evalstore.store.git import Git
from evalstore.store.ledger import Ledgers
from evalstore.store.locate import Repository, find_repository, find_root, resolve_folder
from evalstore.store.object_reader import ObjectReader
from evalstore.store.objects import Commit, read_commit
from evalstore.store.parsed_documents import ParsedDocuments
from evalstore.store.release_reader import ReleaseReader
from evalstore.store.settings import find_bare_prefix, read_root_file, read_settings, read_tag_prefix
from evalstore.store.store_moves import StoreMoves
from evalstore.store.tags import Release, TagGrammar, Tags


@dataclass(slots=True)
class StoreContents:
    """The contents of one store, before references are resolved (`ArtifactStore` adds that).

    `root` is the folder on disk (None for a bare repository), `prefix` its path in the repository ("" or with a slash
    at the end). Tags, ledgers and the lock are read once; call `forget()` after this process has changed one.
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
    _lock: Lock | None = None
    ahead: ReleaseReader = field(init=False)

    def __post_init__(self) -> None:
        self.ahead = ReleaseReader(self.objects, self.tags, self.moves)

    def __repr__(self) -> str:
        return format_repr(self, self.root or self.repository.git.directory)

    @classmethod
    def open(cls, path: Path | str) -> Self:
        """Open the store of a folder: marked by evalstore.yaml there or above, else the repository's root.

        Raises `GitError` outside a repository and `LoadError` for settings that cannot be read.
        """
        if not isinstance(path, str | Path):
            raise ArgumentError.from_value("the folder of a store", path, (str, Path))
        start = resolve_folder(path)
        repository = find_repository(start)
        # A bare repository has no files on disk: its store is found in HEAD.
        root, prefix = find_root(start, repository.top) if repository.top else (None, find_bare_prefix(repository.git))
        objects = ObjectReader(repository.git)
        settings = read_settings(repository, objects, root=root, prefix=prefix)
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
        """The text before `<kind>/<id>@<version>` in the names of tags."""
        return self.tags.grammar.prefix

    @property
    def lock(self) -> Lock:
        """The content of evalstore.lock; `LoadError` when it is not in the form that evalstore writes."""
        if self._lock is None:
            data = read_root_file(
                self.repository, self.objects, root=self.root, prefix=self.prefix, name=LOCK_FILE, limit=LOCK_LIMIT
            )
            self._lock = NO_LOCK if data is None else read_lock(data)
        return self._lock

    def without_lock(self) -> Self:
        """Return the same store without its evalstore.lock; closing either closes both."""
        return replace(self, _lock=NO_LOCK)

    def releases(self, kind: Kind | None = None, id: str | None = None) -> list[Release]:  # noqa: A002  # the word
        """Return the released versions of one artifact, one kind or all, ascending, by one call to git."""
        return self.tags.list_releases(kind, id)

    def working(self) -> list[Ref]:
        """Return the artifacts on disk as `@worktree` references; links and files with other names are left out."""
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
        """Return the tag of every release that a ledger of HEAD records, whether or not it is here; in order."""
        names = self.ledgers.list_names()
        self.ledgers.expect(names)
        lines = ((name, version) for name in names for version in self.ledgers.read(name).by_version)
        return [f"{self.tag_prefix}{name}@{version}" for name, version in lines]

    def commit(self, oid: str) -> Commit:
        """Return a commit by its full id."""
        return read_commit(self.objects, oid)

    def forget(self) -> None:
        """Forget tags, ledgers and the lock, because this process has changed some: they are read again when needed."""
        self.tags.forget()
        self.ahead.forget()
        self.ledgers.forget()
        self._lock = None

    def close(self) -> None:
        """End the git process that reads objects."""
        self.objects.close()
        self.folders.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, type_: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
