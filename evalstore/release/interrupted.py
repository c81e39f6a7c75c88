"""Whether a killed bump waits to be finished, and the command that does it; reads only."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from evalstore.errors import EvalstoreError
from evalstore.model import parse_ref
from evalstore.release.journal import read_journal
from evalstore.release.site import FOLDER, journal_name
from evalstore.store import ArtifactStore

_NAMED = 3


def find_interrupted_bump(store: ArtifactStore) -> str | None:
    """Say what a killed bump of this working tree left to do; None when there is none, or one is at work."""
    common = store.git.common()
    name = journal_name(store.git, common)
    try:
        descriptor = os.open(common / FOLDER / "lock", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None  # no bump was ever here
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)  # a bump that lives holds it
        return _describe_interrupted(common, name) if (common / name).exists() else None
    except OSError:
        return None
    finally:
        os.close(descriptor)


def _describe_interrupted(common: Path, name: str) -> str:
    try:
        refs = [parse_ref(one.ref) for one in read_journal(common, name).released]
    except EvalstoreError as error:
        return f"{error}; {error.hint}"
    what = str(refs[0]) if len(refs) == 1 else f"{len(refs)} artifacts"
    names = " ".join(ref.name for ref in refs)  # of many none: --all could release what was not asked for
    again = f"evalstore bump {names}" if len(refs) <= _NAMED else "the same bump again"
    return f"a bump of {what} was interrupted: {again} finishes it"
