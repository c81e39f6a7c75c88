"""Reads the files of releases ahead, many at once, in the order in which they will be needed."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from evalstore.errors import EvalstoreError
from evalstore.store.repository.object_reader import ObjectReader
from evalstore.store.repository.objects import expect_folder, find_file
from evalstore.store.store_moves import StoreMoves
from evalstore.store.tags import GitTag, Tags

_BATCH = 512  # releases at once: their files are some hundred kilobytes
# A tag of a commit, as git writes it.
_TAG = re.compile(rb"object ([0-9a-f]{40}|[0-9a-f]{64})\ntype commit\ntag ([^\n]*)\n")


class ReleaseFile(NamedTuple):
    """The file of a release: a flawless tag, its object's bytes, the file's path, blob and bytes.

    Path and blob are those at the release's commit. Every hash was checked: of the tag object, the
    commit, the trees and the file.
    """

    tag: GitTag
    tag_data: bytes
    path: str
    blob: str
    data: bytes
    sha256: str


@dataclass(slots=True)
class ReleaseReader:
    """Reads ahead the releases that will be needed, in that order.

    A release that it does not find must be read separately: its tag may be lightweight, moved,
    missing or damaged, which is not reported here.
    """

    objects: ObjectReader
    tags: Tags
    moves: StoreMoves
    # All releases that were found, by tag name.
    commits: dict[str, str] = field(default_factory=dict)
    _expected: dict[str, tuple[Sequence[tuple[str, str]], int]] = field(default_factory=dict)
    _read: dict[str, ReleaseFile] = field(default_factory=dict)

    def expect(self, releases: Iterable[tuple[str, str]]) -> None:
        """Announce which releases will be read, in order: each tag's name and its file's path."""
        sequence = list(dict.fromkeys(releases))
        self._expected |= {name: (sequence, index) for index, (name, _) in enumerate(sequence)}

    def find(self, name: str) -> ReleaseFile | None:
        """Return an expected release by its tag's name.

        It may be forgotten after the next few hundred.
        """
        if (expected := self._expected.get(name)) and name not in self._read:
            sequence, start = expected
            batch = dict(sequence[start : start + _BATCH])
            for one in batch:
                self._expected.pop(one, None)
            self._read = {file.tag.name: file for file in self._read_batch(batch)}
            self.commits |= {file.tag.name: file.tag.commit for file in self._read.values()}
        return self._read.get(name)

    def forget(self) -> None:
        """Forget what was expected and read, because a tag was made or moved."""
        self._expected.clear()
        self._read.clear()
        self.commits.clear()

    def _read_batch(self, paths: dict[str, str]) -> Iterator[ReleaseFile]:
        listed = self.tags.list_unread()
        oids = {name: ref.oid for name in paths if (ref := listed.get(name)) and not ref.symref}
        objects = self.objects.read_many(oids.values())
        tags: list[tuple[GitTag, bytes]] = []
        folders: defaultdict[str, list[str]] = defaultdict(list)
        for name, oid in oids.items():
            object_ = objects.get(oid)
            match = _TAG.match(object_.data) if object_ and object_.type == "tag" else None
            if object_ is None or match is None or match[2] != name.encode("ascii", "replace"):
                continue
            commit = match[1].decode("ascii")
            tags.append((GitTag(name, oid, "", "tag", commit, "commit", name), object_.data))
            folders[paths[name].rpartition("/")[0]].append(commit)
        for folder, commits in folders.items():
            expect_folder(self.objects, commits, self.moves.prefix + folder)
        files = ((tag, self._find_file(tag[0].commit, paths[tag[0].name])) for tag in tags)
        found = [(*tag, *file) for tag, file in files if file]
        blobs = self.objects.read_many(blob for *_, blob in found)
        for tag, tag_data, path, blob in found:
            if (object_ := blobs.get(blob)) and object_.type == "blob":
                yield ReleaseFile(
                    tag,
                    tag_data,
                    path,
                    blob,
                    object_.data,
                    hashlib.sha256(object_.data).hexdigest(),
                )

    def _find_file(self, commit: str, path: str) -> tuple[str, str] | None:
        """Return where a file of the store is at a commit, and its blob."""
        try:
            path_then = self.moves.find_prefix(commit) + path
            blob = find_file(self.objects, commit, path_then)
        except EvalstoreError:
            return None
        return (path_then, blob) if blob else None
