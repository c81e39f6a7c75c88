"""The journal of a bump: what it is about to change, written before the first change and removed after the last."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from evalstore.errors import LoadError, RefusedError
from evalstore.files import read_below, write_below
from evalstore.release.values import PinMove, ReleasedVersion
from evalstore.versions import Bump

_LIMIT = 64 << 20
_REF = re.compile(r"refs/(?:heads|tags)/(?!.*\.\.)[^\x00-\x20\x7f~^:?*\[\\]+")
_OID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file of the release: its blob, and what the working tree and the index held when the bump began.

    `worked` is what the working tree gets, where it has other line ends than git keeps.
    """

    path: str
    mode: str
    blob: str
    before: str | None
    staged: str | None
    worked: str | None = None


@dataclass(frozen=True, slots=True)
class Journal:
    """One bump: the branch's step, the tags (by full ref name), the files, and what it will have released."""

    branch: str
    old: str | None
    commit: str
    tags: Mapping[str, str]
    changes: tuple[FileChange, ...]
    released: tuple[ReleasedVersion, ...]

    @property
    def refs(self) -> dict[str, str]:
        """Every ref that moves, and where to."""
        return {**self.tags, self.branch: self.commit}


def write_journal(common: Path, name: str, journal: Journal) -> None:
    """Write a journal whole or not at all, and see it on disk."""
    write_below(common, name, json.dumps(asdict(journal), indent=1).encode())


def read_journal(common: Path, name: str) -> Journal:
    """Read a journal back; `RefusedError` when something else wrote it."""
    try:
        journal = _parse_journal(json.loads(read_below(common, name, _LIMIT)))
        if all(map(_REF.fullmatch, journal.refs)) and all(map(_OID.fullmatch, journal.refs.values())):
            return journal
    except (LoadError, ValueError, TypeError, KeyError, AttributeError):
        pass
    raise RefusedError(
        f"the journal of an interrupted bump cannot be read: {common / name}",
        hint="look at the branch and its tags, then remove that file",
    )


def _parse_journal(data: Any) -> Journal:
    changes = tuple(FileChange(**change) for change in data["changes"])
    released = tuple(_parse_released_version(**one) for one in data["released"])
    return Journal(**{**data, "changes": changes, "released": released})


def _parse_released_version(bump: str, moved: Sequence[Sequence[str]] = (), **rest: Any) -> ReleasedVersion:
    return ReleasedVersion(**rest, bump=Bump(bump), moved=tuple(PinMove(old, new) for old, new in moved))
