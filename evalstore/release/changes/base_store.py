"""A store as it was at the base of a change.

The change cannot alter what is there, so it can be judged by it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from evalstore.errors import LoadError
from evalstore.model.lock import LIMIT as LOCK_LIMIT
from evalstore.model.lock import LOCK_FILE, NO_LOCK, Lock, read_lock
from evalstore.places import LEDGER_FOLDER, SETTINGS_FILE
from evalstore.store import ArtifactStore
from evalstore.store.ledger import Ledger, list_ledgers, parse_ledger
from evalstore.store.repository.objects import has_entry, is_regular
from evalstore.store.revisions import find_fork, find_head, list_merged_tags, resolve_revision
from evalstore.store.root_settings import read_tag_prefix
from evalstore.store.tags import TAG_REFS
from evalstore.text import SHORT_DIGEST


@dataclass(frozen=True)
class BaseReleases:
    """The releases of a store that had reached a commit."""

    store: ArtifactStore
    commit: str
    # By `<kind>/<id>`: each has many releases.
    _versions: dict[str, frozenset[str]] = field(default_factory=dict)

    def has(self, name: str, version: str, tag: str) -> bool:
        """Whether a release had, by the ledger of the commit; without a ledger, by its history."""
        if name not in self._versions:
            self._versions[name] = frozenset(
                self.store.ledgers.read_at(self.commit, name).by_version
            )
        known = self._versions[name]
        return version in known if known else tag in self._merged_tags

    @cached_property
    def _merged_tags(self) -> frozenset[str]:
        return list_merged_tags(self.store.git, self.commit, TAG_REFS)


@dataclass(frozen=True)
class BaseStore:
    """The commit, where the store was in it, its settings, and its tag prefix.

    `store` is today's store under that prefix: changing the prefix makes no release vanish.
    """

    store: ArtifactStore
    commit: str
    prefix: str
    settings: Mapping[str, Any]
    tag_prefix: str

    @property
    def name(self) -> str:
        """How findings name the base."""
        return self.commit[:SHORT_DIGEST]

    @property
    def exists(self) -> bool:
        """Whether there was a store at all."""
        return self.store.moves.has_store(self.commit, self.prefix)

    @cached_property
    def lock(self) -> Lock:
        """The lock of the base.

        Empty if it cannot be read, because then nothing could rely on it.
        """
        data = self.store.read_file_at(self.commit, LOCK_FILE, LOCK_LIMIT)
        with suppress(LoadError):
            return NO_LOCK if data is None else read_lock(data)
        return NO_LOCK

    @cached_property
    def origin(self) -> tuple[str, str]:
        """The commit from which a change began, and where the store was in it.

        What is there is all that the change can have removed.
        """
        head = find_head(self.store.git)
        commit = (find_fork(self.store.git, self.commit, head) if head else None) or self.commit
        return commit, self.prefix if commit == self.commit else self.store.moves.find_prefix(
            commit
        )

    @cached_property
    def ledgers(self) -> Mapping[str, Ledger]:
        """The ledgers that a change must keep, by `<kind>/<id>`.

        They are those of the commit from which it began. If a branch is behind its base, it cannot
        have what has been released since.
        """
        commit, prefix = self.origin
        return dict(_read_ledgers(self.store, commit, prefix))

    @cached_property
    def releases(self) -> BaseReleases:
        """The releases that had reached the base."""
        return BaseReleases(self.store, self.commit)

    def read_signers(self) -> bytes:
        """Return the file of allowed signers that its settings name.

        Raises `RefusedError` if there was none.
        """
        from evalstore.store.signers import build_signers_error, find_signers_file

        name = find_signers_file(self.settings)
        data = self.store.read_file_at(self.commit, name)
        if data is None:
            raise build_signers_error(name)
        return data


def read_base_store(store: ArtifactStore, revision: str, folder: Path) -> BaseStore:
    """Return the store that `folder` was in at a revision.

    Raises `RefError` if the revision names no commit.
    """
    commit = resolve_revision(store.git, store.objects, revision)
    prefix = _find_prefix(store, commit, folder)
    # From here on the base's files are those of that folder, wherever the change says that they
    # come from.
    store.moves.place(commit, prefix)
    document = store.read_settings_at(commit)
    tag_prefix = (
        read_tag_prefix(document) if store.moves.has_store(commit, prefix) else store.tag_prefix
    )
    return BaseStore(
        store.with_tag_prefix(tag_prefix), commit, prefix, document.value or {}, tag_prefix
    )


def _find_prefix(store: ArtifactStore, commit: str, folder: Path) -> str:
    """Return where a folder's store was at a commit.

    That is the nearest marked folder upwards, or the store's old place.
    """
    top = store.repository.top
    parts = folder.relative_to(top).parts if top and folder.is_relative_to(top) else ()
    for length in range(len(parts), 0, -1):
        prefix = "".join(f"{part}/" for part in parts[:length])
        marks = (prefix + SETTINGS_FILE, prefix + LEDGER_FOLDER)
        if any(has_entry(store.objects, commit, mark) for mark in marks):
            return prefix
    return "" if store.moves.has_store(commit, "") else store.moves.find_prefix(commit)


def _read_ledgers(store: ArtifactStore, commit: str, prefix: str) -> Iterator[tuple[str, Ledger]]:
    found = list_ledgers(store.objects, commit, prefix)
    listed = {name: entry.oid for name, entry in found.items() if is_regular(entry)}
    blobs = store.objects.read_many(listed.values())
    for name, oid in listed.items():
        yield name, parse_ledger((blobs.get(oid) or store.objects.read(oid)).data)
