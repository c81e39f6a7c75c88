"""The journal of a bump: what it will change.

It is written before the first change, and removed after the last. The field names of `Journal`,
`FileChange` and `ReleasedVersion` are keys of the file: an older journal must remain readable.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from evalstore.errors import EvalstoreError, LoadError, RefusedError
from evalstore.files import LARGE_FILE
from evalstore.model import parse_ref
from evalstore.own_files import read_own, write_own
from evalstore.release.transactions.locking import LockedRepository
from evalstore.versions import Bump

PENDING_REFS = "refs/evalstore/pending/"
_REF = re.compile(r"refs/(?:heads|tags)/(?!.*\.\.)[^\x00-\x20\x7f~^:?*\[\\]+")
_OID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_NAMED_LIMIT = 3  # artifacts of an interrupted bump that are named; of more only their number
REMOVED = "0"
# Not synced: only git prunes, and after a power cut nobody has anything to publish.
_UPDATE = ("-c", "core.fsync=all,-reference", "update-ref", "--stdin")


class PinMove(NamedTuple):
    """A pin that followed a release, as it was written and as it is now."""

    old: str
    new: str


@dataclass(frozen=True, slots=True)
class ReleasedVersion:
    """One released version, and the pins in it that moved.

    `tag` and `commit` are None if none was made.
    """

    ref: str
    tag: str | None
    commit: str | None
    previous: str | None
    bump: Bump
    moved: tuple[PinMove, ...] = ()


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file of the release: its blob, and what working tree and index had at the start.

    `before` is the blob of the working tree, `staged` that of the index. The mode `REMOVED` marks a
    file to remove. `worked` is the blob that the working tree gets if its line endings differ from
    those that git stores.
    """

    path: str
    mode: str
    blob: str
    before: str | None
    staged: str | None
    worked: str | None = None


@dataclass(frozen=True, slots=True)
class Journal:
    """One bump: its branch, moved from `old` to `commit`, its tags and its files.

    `tags` are objects by full ref name. `released` is what the next bump reports to the user when
    it finishes this one. `replaced` are the previous tags and their objects: those that are not
    among `tags` are removed.
    """

    branch: str
    old: str | None
    commit: str
    tags: Mapping[str, str]
    changes: tuple[FileChange, ...]
    released: tuple[ReleasedVersion, ...]
    replaced: Mapping[str, str] = field(default_factory=dict)

    @property
    def refs(self) -> dict[str, str]:
        """Every ref that the bump writes, and its object."""
        return {**self.tags, self.branch: self.commit}

    @property
    def pending(self) -> dict[str, str]:
        """Our own refs that hold what no other ref holds yet.

        They hold the commit, the tags, and blobs that are in no tree. Many of a kind are in a pack
        that git keeps (`write_packed_objects`): a ref for each would cost more than the bump. Many
        signed tags are in none; a bump whose tags were pruned is dropped, because it has published
        nothing.
        """
        from evalstore.store.repository.writing import MANY

        worked = [(change.worked, change.blob) for change in self.changes if change.worked]
        blobs = [own for own, blob in worked if own != blob]
        few = [oid for group in (self.tags.values(), blobs) if len(group) < MANY for oid in group]
        objects = dict.fromkeys([self.commit, *few])
        return {f"{PENDING_REFS}{number}": oid for number, oid in enumerate(objects)}


def write_journal(common: Path, name: str, journal: Journal) -> None:
    """Write a journal, atomically and synced to disk."""
    write_own(common, name, json.dumps(journal, default=_list_fields).encode())


def read_journal(common: Path, name: str) -> Journal:
    """Read a journal back.

    Raises `RefusedError` if something else wrote it, or somebody else could have.
    """
    # Its refs and ids become arguments of git, so they are checked like any other input.
    try:
        journal = _parse_journal(json.loads(read_own(common, name, LARGE_FILE)))
        refs = [*journal.refs.items(), *journal.replaced.items()]
        if all(_REF.fullmatch(name) and _OID.fullmatch(oid) for name, oid in refs):
            return journal
    except (OSError, LoadError, ValueError, TypeError, KeyError, AttributeError):
        pass
    raise RefusedError(
        f"the journal of an interrupted bump cannot be read: {common / name}",
        hint="check the branch and its tags, then remove that file",
    )


def _list_fields(value: Any) -> dict[str, Any]:
    return {name: getattr(value, name) for name in value.__slots__}


def _parse_journal(data: Any) -> Journal:
    changes = tuple(FileChange(**change) for change in data["changes"])
    released = tuple(_parse_released_version(**version) for version in data["released"])
    return Journal(**{**data, "changes": changes, "released": released})


def _parse_released_version(
    bump: str, moved: Sequence[Sequence[str]] = (), **rest: Any
) -> ReleasedVersion:
    return ReleasedVersion(
        **rest, bump=Bump(bump), moved=tuple(PinMove(old, new) for old, new in moved)
    )


def describe_interrupted(common: Path, name: str) -> str:
    """Say which bump the journal of a killed one names, and how to finish it."""
    try:
        refs = [parse_ref(version.ref) for version in read_journal(common, name).released]
    except EvalstoreError as error:
        return f"{error}; {error.hint}"
    what = str(refs[0]) if len(refs) == 1 else f"{len(refs)} artifacts"
    names = " ".join(ref.name for ref in refs)
    # For many, no command is shown: --all could release what nobody named.
    again = f"evalstore bump {names}" if len(refs) <= _NAMED_LIMIT else "run the same bump again"
    return f"a bump of {what} was interrupted; finish it: {again}"


def hold_pending(repository: LockedRepository, journal: Journal) -> None:
    """Hold the objects of a journal, and everything that they need, until `release_pending`."""
    lines = "".join(f"update {name} {oid}\n" for name, oid in journal.pending.items())
    repository.git.run(*_UPDATE, stdin=lines.encode())


def release_pending(repository: LockedRepository, journal: Journal) -> None:
    """Let go of what a journal holds, whether or not it was ever held."""
    lines = "".join(f"delete {name}\n" for name in journal.pending)
    repository.git.run(*_UPDATE, stdin=lines.encode())
