"""What status and bump answer."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from evalstore.versions import Bump


class State(StrEnum):
    """Where an artifact stands against its last release; behind: unchanged, and released again on another branch."""

    NEW = "new"
    CHANGED = "changed"
    BEHIND = "behind"
    REMOVED = "removed"
    BROKEN = "broken"


class Policy(StrEnum):
    """The rules on versions (RULES, part J); each is computed after the diff."""

    NOT_BUMPED = "version-not-bumped"
    TOO_SMALL = "version-bump-too-small"
    DECREASED = "version-decreased"
    WITHOUT_CHANGE = "version-bump-without-change"


@dataclass(frozen=True, slots=True)
class Standing:
    """One artifact: its last release, its working file, and whether the step between them has its version."""

    ref: str
    state: State
    ok: bool
    message: str
    released: str | None = None
    working: str | None = None
    required_bump: Bump = Bump.NONE
    next_version: str | None = None
    rule: Policy | None = None
    dependents: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Status:
    """Every artifact that differs from its last release, in the order of kind and id, and how many there are."""

    artifacts: tuple[Standing, ...]
    total: int

    @property
    def ok(self) -> bool:
        """Whether every change has a version that says enough."""
        return all(standing.ok for standing in self.artifacts)


@dataclass(frozen=True, slots=True)
class Bumped:
    """One released version; tag and commit are None where none was made."""

    ref: str
    tag: str | None
    commit: str | None
    previous: str | None
    bump: Bump


@dataclass(frozen=True, slots=True)
class Released:
    """What one bump did: `recovered` first, what an earlier bump had begun, then `released`."""

    released: tuple[Bumped, ...]
    unchanged: tuple[str, ...]
    recovered: tuple[Bumped, ...] = ()
    branch: str | None = None
    committed: bool = True
    dry_run: bool = False
