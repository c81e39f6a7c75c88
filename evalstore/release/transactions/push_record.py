"""Sets the remote-tracking branches after a push, and cleans up after a killed push."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress

from evalstore.errors import EvalstoreError, LoadError
from evalstore.files import remove_below, sweep_below
from evalstore.own_files import has_own, read_own, write_own
from evalstore.release.transactions.locking import (
    REFLOG_REASON,
    STATE_FOLDER,
    LockedRepository,
    lock_repository,
)
from evalstore.release.transactions.ref_locks import remove_stale_locks
from evalstore.store import ArtifactStore
from evalstore.store.remote import Remote, find_tracking_refs

_NOTE = f"{STATE_FOLDER}/push.json"
_PUSH_REF = re.compile(r"refs/remotes/(?!.*\.\.)[^\x00-\x20\x7f~^:?*\[\\]+")


def record_push(store: ArtifactStore, remote: Remote, refs: Mapping[str, str]) -> None:
    """Set the remote-tracking branches to what was just pushed.

    A failure does no harm: the next fetch sets them, too.
    """
    tracking = find_tracking_refs(remote, refs)
    if not tracking:
        return
    lines = "".join(f"update {name} {oid}\n" for name, oid in tracking.items())
    with suppress(EvalstoreError, OSError), lock_repository(store, {}) as repository:
        forget_push(repository)
        # If killed from here on, a lock of git may stay, which would block every fetch; the next
        # bump removes it.
        write_own(repository.git.common, _NOTE, json.dumps(list(tracking)).encode())
        repository.git.run("update-ref", "-m", REFLOG_REASON, "--stdin", stdin=lines.encode())
        remove_below(repository.git.common, _NOTE)


def forget_push(repository: LockedRepository) -> None:
    """Remove the locks that a killed push has left on remote-tracking branches.

    Its note about them is removed, too.
    """
    sweep_below(repository.git.common, _NOTE)
    if not has_own(repository.git.common, _NOTE):
        return
    try:
        names = json.loads(read_own(repository.git.common, _NOTE, 1 << 16))
    except (LoadError, ValueError):
        names = []
    refs = [name for name in names if isinstance(name, str) and _PUSH_REF.fullmatch(name)]
    remove_stale_locks(repository, refs, repository.git.common / _NOTE)
    remove_below(repository.git.common, _NOTE)
