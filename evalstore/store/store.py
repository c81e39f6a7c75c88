"""A store: a folder of a git repository, opened once, read without ever running what it holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from evalstore.files import names_below
from evalstore.model import Artifact, Kind, PinType, Question, Ref, is_id, parse_ref, questions_of
from evalstore.model.lock import LOCK_FILE, NO_LOCK, Lock, read_lock
from evalstore.store.batch import ObjectReader
from evalstore.store.git import Git
from evalstore.store.held import resolve_ref
from evalstore.store.ledger import Ledgers
from evalstore.store.locate import Repository, existing_folder, find_repository, find_root
from evalstore.store.objects import Commit, read_commit
from evalstore.store.resolve import Resolved
from evalstore.store.rows import read_rows
from evalstore.store.settings import bare_prefix, own_file, read_settings, tag_prefix
from evalstore.store.tags import Release, TagGrammar, Tags


@dataclass(slots=True)
class ArtifactStore:
    """One store; a context manager, because it keeps a git process until it is closed.

    It sees tags, ledgers and the lock as they were when it first looked: `forget()` after making one.
    """

    repository: Repository
    root: Path | None
    prefix: str
    objects: ObjectReader
    settings: Mapping[str, Any]
    tags: Tags
    ledgers: Ledgers
    _lock: Lock | None = None

    @classmethod
    def open(cls, path: Path | str) -> Self:
        """Open the store of a folder: marked by evalstore.yaml there or above, else the repository's root.

        Raises `GitError` outside a repository and `LoadError` for settings that cannot be read.
        """
        start = existing_folder(path)
        repository = find_repository(start)
        root, prefix = find_root(start, repository.top) if repository.top else (None, bare_prefix(repository.git))
        batch = ObjectReader(repository.git)
        settings = read_settings(repository, batch, root=root, prefix=prefix)
        tags = Tags(repository.git, TagGrammar.from_prefix(tag_prefix(settings)))
        ledgers = Ledgers(repository.git, batch, prefix)
        return cls(repository, root, prefix, batch, settings.value or {}, tags, ledgers)

    @property
    def git(self) -> Git:
        """The door to git for this repository."""
        return self.repository.git

    @property
    def strict(self) -> bool:
        """Whether the settings refuse what they would else warn of."""
        return self.settings.get("strict") is True

    @property
    def tag_prefix(self) -> str:
        """What stands before `<kind>/<id>@<version>` in the names of tags."""
        return self.tags.grammar.prefix

    @property
    def lock(self) -> Lock:
        """What evalstore.lock holds; `LoadError` when it is in another form than evalstore gave it."""
        if self._lock is None:
            data = own_file(self.repository, self.objects, root=self.root, prefix=self.prefix, name=LOCK_FILE)
            self._lock = NO_LOCK if data is None else read_lock(data)
        return self._lock

    def without_lock(self) -> Self:
        """Return the same store as it would be without evalstore.lock; both end with either."""
        return replace(self, _lock=NO_LOCK)

    def resolve(self, ref: str | Ref) -> Resolved:
        """Return what a reference means; raises `RefError` with the versions there are, or why it is refused.

        A reference that evalstore.lock holds means what it meant when it was locked; other content is refused.
        """
        return resolve_ref(self, parse_ref(ref) if isinstance(ref, str) else ref)

    def load(self, ref: str | Ref) -> Artifact:
        """Return the artifact that a reference means."""
        return self.resolve(ref).artifact

    def read_rows(self, dataset: str | Ref | Resolved) -> Iterator[Mapping[str, Any]]:
        """Stream the rows that a dataset keeps in the file beside it, as of the same commit; none if it has no such."""
        return read_rows(self, dataset if isinstance(dataset, Resolved) else self.resolve(dataset))

    def read_questions(self, dataset: str | Ref | Resolved) -> Iterator[Question]:
        """Stream a dataset's questions, from its file or from the rows beside it."""
        resolved = dataset if isinstance(dataset, Resolved) else self.resolve(dataset)
        value = resolved.artifact.value
        return questions_of(value, self.read_rows(resolved) if "rows" in value else None)

    def list_releases(self, kind: Kind | None = None, id: str | None = None) -> list[Release]:  # noqa: A002  # the word
        """Return the released versions of one artifact, one kind or all, ascending, by one call to git."""
        return self.tags.list_releases(kind, id)

    def list_working_refs(self) -> list[Ref]:
        """Return the artifacts on disk as `@worktree` references; links and odd names are none."""
        if self.root is None:
            return []
        return [
            Ref(kind, name[:-5], "worktree", PinType.WORKTREE)
            for kind in Kind
            for name in names_below(self.root, kind.folder)
            if name.endswith(".yaml") and is_id(name[:-5])
        ]

    def read_commit(self, oid: str) -> Commit:
        """Return a commit by its full id."""
        return read_commit(self.objects, oid)

    def forget(self) -> None:
        """Look at tags, ledgers and the lock again: this process made some."""
        self.tags.forget()
        self.ledgers.forget()
        self._lock = None

    def close(self) -> None:
        """End the git process."""
        self.objects.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, type_: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
