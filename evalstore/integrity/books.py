"""The records of what was released: the ledgers at HEAD, those of other branches where HEAD has no line, and a lock."""

from __future__ import annotations

import shlex
from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from evalstore.errors import EvalstoreError
from evalstore.model.lock import Lock
from evalstore.store import ArtifactStore
from evalstore.store.ledger import Ledger, parse_ledger
from evalstore.store.object_reader import find_committed_blobs
from evalstore.store.tags import TAG_REFS

_BRANCHES = ("refs/heads/", "refs/remotes/")
_SHOWN = 16  # characters of a hash that no other line of a ledger begins with


@dataclass(slots=True)
class ReleaseRecords:
    """What a store has written down of its releases."""

    store: ArtifactStore
    lock: Lock
    _readable_rows: set[str] = field(default_factory=set)
    _tips: list[str] | None = None
    _branch_hashes: dict[str, dict[str, set[str]]] = field(default_factory=dict)

    def find_ledger(self, name: str) -> Ledger | None:
        """Return the ledger at HEAD, empty when there is none; None when it cannot be read."""
        try:
            return self.store.ledgers.read(name)
        except EvalstoreError:
            return None

    def list_branch_hashes(self, name: str, version: str) -> set[str]:
        """Return the hashes that the branches of this clone list for a version that HEAD does not."""
        if name not in self._branch_hashes:
            self._branch_hashes[name] = self._read_branch_hashes(name)
        return self._branch_hashes[name].get(version, set())

    def is_recorded(self, name: str, version: str) -> bool:
        """Whether a ledger at HEAD or a lock has a release."""
        ledger = self.find_ledger(name)
        return ledger is None or version in ledger.by_version or f"{name}@{version}" in self.lock.releases

    def check_rows_readable(self, blob: str) -> None:
        """Read the rows beside a dataset to their end, once; `GitError` when they are missing or damaged."""
        if blob not in self._readable_rows:
            deque(self.store.objects.stream(blob), maxlen=0)
            self._readable_rows.add(blob)

    def quote_ledger_path(self, name: str) -> str:
        """Return where a ledger lies in the repository, as a shell takes it: folders have the names that they have."""
        return shlex.quote(self.store.ledgers.locate(name))

    def describe_restore(self, tag: str, ref: str, sha256: str = "") -> str:
        """Say how the tag of a release is put back: to the object that was locked, or to the commit of its line."""
        held = self.lock.refs.get(ref)
        if held:
            return f"put it back: git update-ref {TAG_REFS}{tag} {held.tag_object or held.commit}"
        if not sha256:
            return "fetch it again from a clone that has the right one"
        path = self.quote_ledger_path(ref.partition("@")[0])
        return f"its commit is in: git log -S{sha256[:_SHOWN]} -- {path}"

    def _read_branch_hashes(self, name: str) -> dict[str, set[str]]:
        if self._tips is None:
            out = self.store.git.run("for-each-ref", "--format=%(objectname)", "--", *_BRANCHES)
            self._tips = sorted(set(out.decode("ascii").split()))
        listed: defaultdict[str, set[str]] = defaultdict(set)
        for ledger in self._read_branch_ledgers(name, self._tips):
            for line in ledger.lines:
                listed[str(line.version)].add(line.sha256)
        return dict(listed)

    def _read_branch_ledgers(self, name: str, tips: list[str]) -> Iterator[Ledger]:
        blobs = find_committed_blobs(self.store.git, [(tip, self.store.ledgers.locate(name)) for tip in tips])
        for blob in sorted({blob for blob in blobs if blob}):
            yield parse_ledger(self.store.objects.read(blob).data)
