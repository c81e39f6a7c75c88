"""Finds where a store was at a commit: a tag names an artifact of the store, in any folder.

A store moves if one commit takes its files out of one folder and puts them into another, like `git
mv`: nothing of the store is left in the old place. If no commit shows that, the store was always
where it is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from evalstore.errors import GitError
from evalstore.model import Kind
from evalstore.places import LEDGER_FOLDER, SETTINGS_FILE
from evalstore.store.repository.git import NAME_ENCODING, Git
from evalstore.store.repository.object_reader import ObjectReader, is_oid
from evalstore.store.repository.objects import find_committed_blobs, has_entry, list_folder
from evalstore.store.revisions import NO_GRAFTS, find_head

_ROOT = LEDGER_FOLDER.partition("/")[0]
STORE_FOLDERS = (*(kind.folder for kind in Kind), _ROOT)
_Key = TypeVar("_Key", bound=Hashable)
_MARKS = (*STORE_FOLDERS, SETTINGS_FILE)


class PathChange(NamedTuple):
    """A file that a commit added, changed or removed: its blob before and after (None: absent)."""

    commit: str
    path: str
    old: str | None
    new: str | None


@dataclass(slots=True)
class StoreMoves:
    """The folders that a store was in; `prefix` is today's ("" or with a slash at the end)."""

    git: Git
    objects: ObjectReader
    prefix: str
    _earlier: tuple[str, ...] | None = None
    _known: dict[str, str] = field(default_factory=dict)

    def find_prefix(self, commit: str) -> str:
        """Return the folder that the store was in at a commit.

        It is today's, unless the store was only in an earlier one.
        """
        if commit not in self._known:
            self._known[commit] = self._search_commit(commit)
        return self._known[commit]

    def place(self, commit: str, prefix: str) -> None:
        """Record where the store was at a commit, for code that knows it only from that commit."""
        self._known[commit] = prefix

    def list_prefixes(self) -> tuple[str, ...]:
        """Return all folders that the store was in, latest first, according to their history."""
        if self._earlier is None:
            head = find_head(self.git)
            self._earlier = tuple(self._list_earlier(head)) if head else ()
        return self.prefix, *self._earlier

    def find_blobs(self, files: Mapping[_Key, tuple[str, str]]) -> dict[_Key, str | None]:
        """Return the blob of each (commit, path in the store), or None, by their keys."""
        found = self._find_blobs(
            {key: (commit, self.prefix + path) for key, (commit, path) in files.items()}
        )
        lost = ((key, *files[key]) for key, blob in found.items() if blob is None)
        places = ((key, commit, self.find_prefix(commit), path) for key, commit, path in lost)
        elsewhere = (place for place in places if place[2] != self.prefix)
        moved = {key: (commit, prefix + path) for key, commit, prefix, path in elsewhere}
        return found | self._find_blobs(moved)

    def _find_blobs(self, files: Mapping[_Key, tuple[str, str]]) -> dict[_Key, str | None]:
        return dict(zip(files, find_committed_blobs(self.objects, files.values()), strict=True))

    def strip_prefix(self, path: str) -> str:
        """Return the path in the store of a file in one of its folders."""
        found = [one for one in self.list_prefixes() if path.startswith(one)]
        return path.removeprefix(max(found, key=len, default=""))

    def _search_commit(self, commit: str) -> str:
        if self.has_store(commit, self.prefix):
            return self.prefix
        return next(
            (one for one in self.list_prefixes() if self.has_store(commit, one)), self.prefix
        )

    def has_store(self, commit: str, prefix: str) -> bool:
        """Whether a folder has something of a store at a commit."""
        return any(has_entry(self.objects, commit, prefix + mark) for mark in _MARKS)

    def _list_earlier(self, tip: str) -> Iterator[str]:
        prefix, found = self.prefix, {self.prefix}
        # Each move is older than the one before, so even a store that went to and fro comes to an
        # end.
        while (move := self._find_move(tip, prefix)) is not None:
            tip, prefix = move
            if prefix not in found:
                found.add(prefix)
                yield prefix

    def _find_move(self, tip: str, prefix: str) -> tuple[str, str] | None:
        """Return the last commit that moved the store into a folder, and the folder before that."""
        added: defaultdict[str, list[str]] = defaultdict(list)
        removed: defaultdict[str, list[str]] = defaultdict(list)
        for change in read_changes(
            self.git, tip, [prefix + mark for mark in _MARKS], "AD", ["--full-diff"]
        ):
            (removed if change.new is None else added)[change.commit].append(change.path)
        for commit, paths in added.items():
            gone = removed.get(commit, [])
            inner = [path.removeprefix(prefix) for path in paths if path.startswith(prefix)]
            for old in dict.fromkeys(_list_folders(gone, inner)):
                if old != prefix and not self._has_artifacts(commit, old):
                    return commit, old
        return None

    def _has_artifacts(self, commit: str, prefix: str) -> bool:
        return any(list_folder(self.objects, commit, prefix + kind.folder) for kind in Kind)


def _list_folders(gone: list[str], inner: list[str]) -> Iterator[str]:
    """Yield the folders that lost a file that was added elsewhere under the same name."""
    wanted = {path for path in inner if path.partition("/")[0] in _MARKS}
    for path in gone:
        parts = path.split("/")
        for length in range(len(parts)):
            if "/".join(parts[length:]) in wanted:
                yield "".join(f"{part}/" for part in parts[:length])


def read_changes(
    git: Git, tip: str, paths: list[str], letters: str, options: list[str] | None = None
) -> list[PathChange]:
    """Return what the commits up to `tip` did to paths of the repository, newest first.

    Only changes of the kinds `letters` are included. A merge is compared with each of its parents.
    It takes one git process.
    """
    argv = (
        "-m",
        "--raw",
        "-z",
        "--no-renames",
        "--no-abbrev",
        "--full-history",
        "--format=%H",
        *(options or []),
    )
    out = git.run(
        "-c",
        "log.follow=false",
        "log",
        *argv,
        f"--diff-filter={letters}",
        tip,
        "--",
        *paths,
        env=NO_GRAFTS,
    )
    changes, commit = [], ""
    # After each commit come, for each of its files, ":<modes> <old> <new> <letter>" and the path.
    words = iter(out.decode(*NAME_ENCODING).split("\0"))
    for word in words:
        _, colon, entry = word.partition(":")
        if not colon:
            commit = word.strip() or commit
            continue
        _, _, old, new, *_ = entry.split(" ")
        changes.append(
            PathChange(
                commit,
                next(words),
                old if old.strip("0") else None,
                new if new.strip("0") else None,
            )
        )
    if not all(
        is_oid(change.commit) and is_oid(change.old or change.new or "") for change in changes
    ):
        raise GitError("git listed a commit in an unreadable form")
    return changes
