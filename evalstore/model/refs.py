"""References `<kind>/<id>@<pin>`, the types of pins, and where artifacts hold references."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from evalstore.errors import RefError
from evalstore.text import find_nearest, is_device_name, make_excerpt
from evalstore.versions import Range, Version, find_range, find_version

ID_LENGTH = 64  # characters at most
ID_FORM = (
    "use a to z, digits and _; begin with a letter; at most 64 characters; no device name of "
    "Windows"
)
_ID = re.compile(r"[a-z][a-z0-9_]{0,63}")
_REV = re.compile(r"[0-9A-Za-z][0-9A-Za-z._/@{}~^+-]{0,255}")


class Kind(StrEnum):
    """The three kinds of artifact."""

    RUBRIC = "rubric"
    JUDGE = "judge"
    DATASET = "dataset"

    @property
    def folder(self) -> str:
        """The folder of a store that holds this kind."""
        return f"{self}s"


# Keys that only this kind of artifact has; a document has one of them.
KIND_KEYS: Mapping[Kind, tuple[str, ...]] = {
    Kind.RUBRIC: ("checks",),
    Kind.JUDGE: ("template",),
    Kind.DATASET: ("questions", "rows"),
}


def find_kind(value: Container[object]) -> Kind | None:
    """Return the kind of artifact that a mapping's keys indicate; None if they indicate none."""
    return next(
        (kind for kind, keys in KIND_KEYS.items() if any(key in value for key in keys)), None
    )


class PinType(StrEnum):
    """What a pin asks for."""

    EXACT = "exact"
    RANGE = "range"
    LATEST = "latest"
    NONE = "none"
    WORKTREE = "worktree"
    REVISION = "revision"


class WorktreePins(StrEnum):
    """Which pins mean the file on disk: those without a release, or all of them."""

    UNRELEASED = "unreleased"
    ALL = "all"


class ArtifactIdentity:
    """A base for what has a kind and an id: provides the artifact's name and file."""

    __slots__ = ()
    kind: Kind
    id: str

    @property
    def name(self) -> str:
        """`<kind>/<id>`, without a pin."""
        # Used ten times for each of thousands of artifacts: formatting an enum takes longer.
        return self.kind + "/" + self.id

    @property
    def path(self) -> str:
        """The artifact's file, relative to the store."""
        return build_artifact_path(self.kind, self.id)


FLOATING = frozenset({PinType.RANGE, PinType.LATEST, PinType.NONE})


@dataclass(frozen=True, slots=True)
class Ref(ArtifactIdentity):
    """A parsed reference; `version`, `range` and `revision` belong to their pin types."""

    kind: Kind
    id: str
    pin: str = ""
    type: PinType = PinType.NONE
    version: Version | None = None
    range: Range | None = None
    revision: str = ""

    def __str__(self) -> str:
        return self.name + "@" + self.pin if self.pin else self.name

    @property
    def is_floating(self) -> bool:
        """Whether a later release can change what this resolves to."""
        return self.type in FLOATING

    @property
    def names_release(self) -> bool:
        """Whether it means a released version, not a file on disk or at a commit."""
        return self.type not in {PinType.WORKTREE, PinType.REVISION}

    def with_pin(self, pin: str) -> Ref:
        """Return a reference to the same artifact with another pin."""
        return parse_ref(f"{self.name}@{pin}")


def build_artifact_path(kind: Kind, id_: str) -> str:
    """Return the path of an artifact's file, relative to the store."""
    return kind + "s/" + id_ + ".yaml"


def is_id(text: str) -> bool:
    """Whether `text` can be an artifact's id, and so a file name on every system."""
    return is_check_id(text) and not is_device_name(text)


def is_check_id(text: str) -> bool:
    """Whether `text` can be a check's id, which never becomes a file name."""
    return _ID.fullmatch(text) is not None


@lru_cache(1 << 14)  # each is parsed where it is found, looked up and resolved
def parse_ref(text: str) -> Ref:
    """Parse a reference; raises `RefError`, which says what is wrong with it."""
    name, _, pin = text.partition("@")
    kind, slash, id_ = name.partition("/")
    if not slash or kind not in set(Kind):
        guess = find_nearest(kind, list(Kind)) or Kind.RUBRIC
        raise RefError(
            f"'{make_excerpt(text)}' is not a reference",
            hint=f"write <kind>/<id>@<version>, as in {guess}/my_id@1.0.0",
        )
    if not is_id(id_):
        raise RefError(
            f"'{make_excerpt(id_)}' is not a valid id",
            hint=ID_FORM,
        )
    if "@" in text and not pin:
        raise RefError(
            f"'{make_excerpt(text)}' has an empty pin", hint=f"write {name} or {name}@1.0.0"
        )
    return _parse_pin(Kind(kind), id_, pin)


def _parse_pin(kind: Kind, id_: str, pin: str) -> Ref:
    if pin in {"", "latest", "worktree"}:
        return Ref(kind, id_, pin, PinType(pin or "none"))
    if pin.startswith("git:"):
        if not _REV.fullmatch(pin[4:]) or ".." in pin:
            raise RefError(
                f"'{make_excerpt(pin[4:])}' is not a revision that evalstore reads",
                hint="name a commit or a branch",
            )
        return Ref(kind, id_, pin, PinType.REVISION, revision=pin[4:])
    # `1.2` is the exact version 1.2.0; a range needs an operator.
    if version := find_version(pin):
        return Ref(kind, id_, pin, PinType.EXACT, version=version)
    if range_ := find_range(pin):
        return Ref(kind, id_, pin, PinType.RANGE, range=range_)
    raise RefError(
        f"'{make_excerpt(pin)}' is not a valid pin",
        hint="pins are 1.2.3, ^1.2, ~1.2, '>=1.2 <2', latest, worktree, git:<rev>",
    )
