"""What a status answers: where each artifact stands against its last release."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from evalstore.errors import Place
from evalstore.model import Finding
from evalstore.status.version_rules import VersionRule
from evalstore.versions import Bump, Version

if TYPE_CHECKING:
    from evalstore.diff import DiffFinding


class ArtifactState(StrEnum):
    """Where an artifact stands against its last release.

    Unchanged are two of them: behind was released again on another branch; moved refers to something without an exact
    version, and that means another one now.
    """

    NEW = "new"
    CHANGED = "changed"
    BEHIND = "behind"
    MOVED = "moved"
    REMOVED = "removed"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class MovedReference:
    """A floating reference: what it meant when its holder was released, what now, and how large that step is."""

    ref: str
    was: Version
    now: Version
    level: Bump
    place: Place

    @property
    def sentence(self) -> str:
        """What people are told of it."""
        where = f"{self.place.file}:{self.place.line}"
        return f"{self.ref} now means {self.now}, was {self.was} ({self.level}), {where}"


@dataclass(frozen=True, slots=True)
class StalePin:
    """A reference of a working file (`user`) that will not follow the next release by itself, and its first place."""

    user: str
    ref: str
    place: Place


@dataclass(frozen=True, slots=True)
class ReachCounts:
    """What the scores of an artifact reach through any number of references: how many of each."""

    rubrics: int = 0
    datasets: int = 0
    questions: int = 0


@dataclass(frozen=True, slots=True)
class ArtifactStatus:
    """One artifact: its last release, its working file, and whether the step between them has its version.

    `dependents` refer to it, `reached` counts what they lead to, too; `pins` would stay behind its next release.
    `place` is where its version stands in the working file, or what is wrong there.
    """

    ref: str
    state: ArtifactState
    ok: bool
    message: str
    released: str | None = None
    working: str | None = None
    required_bump: Bump = Bump.NONE
    next_version: str | None = None
    rule: VersionRule | None = None
    dependents: tuple[str, ...] = ()
    reached: ReachCounts = ReachCounts()
    pins: tuple[StalePin, ...] = ()
    moved: tuple[MovedReference, ...] = ()
    findings: tuple[DiffFinding, ...] = ()
    place: Place | None = None

    @property
    def adjusted(self) -> tuple[DiffFinding, ...]:
        """What counts at another level than its rule's: by the settings, or because people accepted it."""
        return tuple(finding for finding in self.findings if finding.adjusted)


@dataclass(frozen=True, slots=True)
class Status:
    """Every artifact that differs from its last release, in the order of kind and id, and how many there are.

    `findings` are of acceptances that ended or that nothing needs; `pending` are those of changes since the last
    releases (artifact, release, fingerprint), and whether a change needs them. `interrupted` says how a killed bump is
    finished, None where none was.
    """

    artifacts: tuple[ArtifactStatus, ...]
    total: int
    findings: tuple[Finding, ...] = ()
    pending: Mapping[tuple[str, str, str], bool] = field(default_factory=dict)
    profile: str = "score"
    interrupted: str | None = None

    @property
    def ok(self) -> bool:
        """Whether every change has a version that says enough."""
        return all(standing.ok for standing in self.artifacts)
