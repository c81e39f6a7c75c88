"""References `<kind>/<id>@<pin>`: what they may look like, and what a pin asks for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from evalstore.errors import RefError
from evalstore.text import excerpt, nearest
from evalstore.versions import Range, Version, find_range, find_version

_ID = re.compile(r"[a-z][a-z0-9_]{0,63}")
_REV = re.compile(r"[0-9A-Za-z][0-9A-Za-z._/@{}~^+-]{0,255}")
_DEVICES = frozenset({"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10))})


class Kind(StrEnum):
    """The three kinds of artifact."""

    RUBRIC = "rubric"
    JUDGE = "judge"
    DATASET = "dataset"

    @property
    def folder(self) -> str:
        """The folder of a store that holds this kind."""
        return f"{self}s"


class PinType(StrEnum):
    """What a pin asks for."""

    EXACT = "exact"
    RANGE = "range"
    LATEST = "latest"
    NONE = "none"
    WORKTREE = "worktree"
    REVISION = "revision"


class Named:
    """What has a kind and an id, and so a name and a file."""

    __slots__ = ()
    kind: Kind
    id: str

    @property
    def name(self) -> str:
        """`<kind>/<id>`, without a pin."""
        return f"{self.kind}/{self.id}"

    @property
    def path(self) -> str:
        """The artifact's file, relative to the store."""
        return file_of(self.kind, self.id)


FLOATING = frozenset({PinType.RANGE, PinType.LATEST, PinType.NONE})


@dataclass(frozen=True, slots=True)
class Ref(Named):
    """A reference, parsed; `version`, `range` and `revision` belong to their pin types."""

    kind: Kind
    id: str
    pin: str = ""
    type: PinType = PinType.NONE
    version: Version | None = None
    range: Range | None = None
    revision: str = ""

    def __str__(self) -> str:
        return f"{self.name}@{self.pin}" if self.pin else self.name

    @property
    def floating(self) -> bool:
        """Whether tomorrow's releases can change what this resolves to."""
        return self.type in FLOATING

    @property
    def names_release(self) -> bool:
        """Whether it means a released version; a file on disk and a file at a commit are none."""
        return self.type not in {PinType.WORKTREE, PinType.REVISION}

    def at(self, pin: str) -> Ref:
        """Return the same artifact under another pin."""
        return parse_ref(f"{self.name}@{pin}")


def file_of(kind: Kind, id_: str) -> str:
    """Return where an artifact's file lies, relative to the store."""
    return f"{kind.folder}/{id_}.yaml"


def is_id(text: str) -> bool:
    """Whether `text` can be an artifact's id (and a file name on every system)."""
    return _ID.fullmatch(text) is not None and text not in _DEVICES


def parse_ref(text: str) -> Ref:
    """Read a reference, or raise `RefError` with what is wrong with it."""
    name, _, pin = text.partition("@")
    kind, slash, id_ = name.partition("/")
    if not slash or kind not in set(Kind):
        guess = nearest(kind, list(Kind)) or "rubric"
        raise RefError(
            f"'{excerpt(text)}' is not a reference", hint=f"write <kind>/<id>@<version>, as in {guess}/my_id@1.0.0"
        )
    if not is_id(id_):
        raise RefError(
            f"'{excerpt(id_)}' is not an id", hint="an id is a to z, digits and _, begins with a letter, at most 64"
        )
    if "@" in text and not pin:
        raise RefError(f"'{excerpt(text)}' has an empty pin", hint=f"write {name} or {name}@1.0.0")
    return _pinned(Kind(kind), id_, pin)


def _pinned(kind: Kind, id_: str, pin: str) -> Ref:
    if pin in {"", "latest", "worktree"}:
        return Ref(kind, id_, pin, PinType(pin or "none"))
    if pin.startswith("git:"):
        if not _REV.fullmatch(pin[4:]) or ".." in pin:
            raise RefError(
                f"'{excerpt(pin[4:])}' is not a revision that evalstore reads", hint="name a commit or a branch"
            )
        return Ref(kind, id_, pin, PinType.REVISION, revision=pin[4:])
    if version := find_version(pin):
        return Ref(kind, id_, pin, PinType.EXACT, version=version)
    if range_ := find_range(pin):
        return Ref(kind, id_, pin, PinType.RANGE, range=range_)
    raise RefError(
        f"'{excerpt(pin)}' is not a pin",
        hint="pins are 1.2.3, ^1.2, ~1.2, '>=1.2 <2', latest, worktree, git:<rev>",
    )
