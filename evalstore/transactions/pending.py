"""Holds the objects of a bump that no ref has yet by refs of our own, so that git prunes none of them."""

from __future__ import annotations

from evalstore.store.revisions import list_refs
from evalstore.transactions.journal import PENDING_REFS, Journal
from evalstore.transactions.locking import LockedRepository

# Not synced: it is git that prunes, and after a power cut nobody has anything to publish.
_UPDATE = ("-c", "core.fsync=all,-reference", "update-ref", "--stdin")


def hold_pending(repository: LockedRepository, journal: Journal) -> None:
    """Hold the objects of a journal, and all that they need, until `release_pending`."""
    lines = "".join(f"update {name} {oid}\n" for name, oid in journal.pending.items())
    repository.git.run(*_UPDATE, stdin=lines.encode())


def release_pending(repository: LockedRepository) -> None:
    """Let go of whatever was held; under the lock of the repository that is of this bump or of a killed one."""
    lines = "".join(f"delete {name}\n" for name in list_refs(repository.git, PENDING_REFS))
    if lines:
        repository.git.run(*_UPDATE, stdin=lines.encode())
