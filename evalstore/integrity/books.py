"""The records of what was released: the ledgers at HEAD, those of other branches where HEAD has no line, and a lock."""

from __future__ import annotations

import shlex
from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from evalstore.errors import EvalstoreError
from evalstore.model.lock import Lock
from evalstore.store import ArtifactStore
from evalstore.store.blobs import find_committed_blobs
from evalstore.store.ledger import Ledger, read_ledger
from evalstore.store.tags import TAG_REFS

_BRANCHES = ("refs/heads/", "refs/remotes/")
_SHOWN = 16  # characters of a hash that no other line of a ledger begins with


@dataclass(slots=True)
class Books:
    """What a store has written down of its releases."""

    store: ArtifactStore
    lock: Lock
    _read_rows: set[str] = field(default_factory=set)
    _tips: list[str] | None = None
    _elsewhere: dict[str, dict[str, set[str]]] = field(default_factory=dict)

    def ledger(self, name: str) -> Ledger | None:
        """Return the ledger at HEAD, empty when there is none; None when it cannot be read."""
        try:
            return self.store.ledgers.read(name)
        except EvalstoreError:
            return None

    def elsewhere(self, name: str, version: str) -> set[str]:
        """Return the hashes that the branches of this clone list for a version that HEAD does not."""
        if name not in self._elsewhere:
            self._elsewhere[name] = self._of_branches(name)
        return self._elsewhere[name].get(version, set())

    def lists(self, name: str, version: str) -> bool:
        """Whether a ledger at HEAD or a lock has a release."""
        ledger = self.ledger(name)
        return ledger is None or version in ledger.by_version or f"{name}@{version}" in self.lock.releases

    def read_rows(self, blob: str) -> None:
        """Read the rows beside a dataset to their end, once; `GitError` when they are missing or damaged."""
        if blob not in self._read_rows:
            deque(self.store.objects.stream(blob), maxlen=0)
            self._read_rows.add(blob)

    def path(self, name: str) -> str:
        """Return where a ledger lies in the repository, as a shell takes it: folders have the names that they have."""
        return shlex.quote(self.store.ledgers.locate(name))

    def back(self, tag: str, ref: str, sha256: str = "") -> str:
        """Say how the tag of a release is put back: to the object that was locked, or to the commit of its line."""
        held = self.lock.refs.get(ref)
        if held:
            return f"put it back: git update-ref {TAG_REFS}{tag} {held.tag_object or held.commit}"
        if not sha256:
            return "fetch it again from a clone that has the right one"
        path = self.path(ref.partition("@")[0])
        return f"its commit is in: git log -S{sha256[:_SHOWN]} -- {path}"

    def _of_branches(self, name: str) -> dict[str, set[str]]:
        if self._tips is None:
            out = self.store.git.run("for-each-ref", "--format=%(objectname)", "--", *_BRANCHES)
            self._tips = sorted(set(out.decode("ascii").split()))
        listed: defaultdict[str, set[str]] = defaultdict(set)
        for ledger in self._read(name, self._tips):
            for line in ledger.lines:
                listed[str(line.version)].add(line.sha256)
        return dict(listed)

    def _read(self, name: str, tips: list[str]) -> Iterator[Ledger]:
        blobs = find_committed_blobs(self.store.git, [(tip, self.store.ledgers.locate(name)) for tip in tips])
        for blob in sorted({blob for blob in blobs if blob}):
            yield read_ledger(self.store.objects.read(blob).data)
