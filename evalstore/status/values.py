"""What a status answers: where each artifact stands against its last release."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from evalstore.diff.rule_sets import RULE_SETS
from evalstore.errors import Place
from evalstore.model import Finding
from evalstore.status.version_rules import VersionRule
from evalstore.versions import Bump, Version

if TYPE_CHECKING:
    from evalstore.diff import DiffFinding


class ArtifactState(StrEnum):
    """Where an artifact stands against its last release.

    Two are of unchanged files: `behind`, released again where this branch has not been; `moved`, with a floating
    reference that means another version now.
    """

    NEW = "new"
    CHANGED = "changed"
    BEHIND = "behind"
    MOVED = "moved"
    REMOVED = "removed"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class MovedReference:
    """A floating reference of an unchanged artifact: its version at the artifact's release, and now, and their bump."""

    ref: str
    was: Version
    now: Version
    level: Bump
    place: Place

    @property
    def sentence(self) -> str:
        """The move in one sentence, with file and line."""
        where = f"{self.place.file}:{self.place.line}"
        return f"{self.ref} now means {self.now}, was {self.was} ({self.level}), {where}"


@dataclass(frozen=True, slots=True)
class StalePin:
    """A pin in a working file (`user`) that will not follow the next release by itself, and its first place."""

    user: str
    ref: str
    place: Place


@dataclass(frozen=True, slots=True)
class ReachCounts:
    """How many rubrics, datasets and questions depend on an artifact, directly or not."""

    rubrics: int = 0
    datasets: int = 0
    questions: int = 0


@dataclass(frozen=True, slots=True)
class ArtifactStatus:
    """One artifact: its last release, its working file, and whether the version there says enough (`ok`).

    `dependents` refer to it directly, `reached` counts everything that depends on it; `pins` would stay behind its next
    release. `place` is where its version stands in the working file, or what is wrong there; `hint` is what to do about
    one that cannot be compared.
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
    hint: str = ""

    @property
    def adjusted(self) -> tuple[DiffFinding, ...]:
        """The findings that count at another level than their rule's: overridden in the settings, or accepted."""
        return tuple(finding for finding in self.findings if finding.adjusted)


@dataclass(frozen=True, slots=True)
class Status:
    """Every artifact that differs from its last release, by kind and id, and how many artifacts there are.

    `findings` are of acceptances that ended or that nothing needs. `pending` are the acceptances of changes since the
    last releases (artifact, release, fingerprint), and whether there is such a change. `rule_set` is the number of the
    rules that judged: the newest, where evalstore.yaml names none. `interrupted` says how a killed
    bump is finished, None without one.
    """

    artifacts: tuple[ArtifactStatus, ...]
    total: int
    findings: tuple[Finding, ...] = ()
    pending: Mapping[tuple[str, str, str], bool] = field(default_factory=dict)
    profile: str = "score"
    rule_set: int = RULE_SETS[-1]
    interrupted: str | None = None

    @property
    def ok(self) -> bool:
        """Whether every change has a version that says enough."""
        return all(artifact.ok for artifact in self.artifacts)
