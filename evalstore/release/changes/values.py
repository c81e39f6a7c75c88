"""The results of a bump and a status.

These are released versions, the outcome of their push, and the state of each artifact.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from evalstore.diff.settings import RULE_SETS
from evalstore.errors import Place
from evalstore.model import Finding
from evalstore.notebook import ReportValue, format_repr
from evalstore.release.changes.version_rules import VersionRule
from evalstore.versions import Bump, Version

if TYPE_CHECKING:
    from evalstore.diff import DiffFinding
    from evalstore.release.transactions.journal import ReleasedVersion


class PinnedVersion(NamedTuple):
    """A version that is no longer the last one, and the artifacts that still pin it."""

    ref: str
    by: tuple[str, ...]


class FollowedVersion(NamedTuple):
    """A version that artifacts follow by a floating reference, and its bump.

    These artifacts get no release themselves.
    """

    ref: str
    bump: Bump
    by: tuple[str, ...]


class LoweredVersion(NamedTuple):
    """A version, and what allowed more when it was judged, a sentence each.

    Overrides and acceptances lowered its level; settings that were only loosened may not have.
    """

    ref: str
    by: tuple[str, ...]


class PushOutcome(StrEnum):
    """The outcome of a push; `ready`: none was requested, and the command is shown."""

    READY = "ready"
    PUSHED = "pushed"
    UP_TO_DATE = "up-to-date"
    REJECTED = "rejected"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Push:
    """A branch and tags to push to a remote, all or nothing.

    `sent` are those that the remote did not have. `message` says why they did not arrive, `hint`
    what to do. `atomic` is False if the remote cannot take all at once.
    """

    remote: str
    branch: str
    tags: tuple[str, ...]
    outcome: PushOutcome
    message: str | None = None
    hint: str | None = None
    atomic: bool = True
    sent: tuple[str, ...] = ()

    @property
    def command(self) -> str:
        """The same push as a git command, quoted for a shell."""
        how = ["--atomic"] if self.atomic else []
        tags = (f"refs/tags/{tag}" for tag in self.tags)
        return shlex.join(["git", "push", *how, self.remote, self.branch, *tags])


@dataclass(frozen=True, slots=True)
class Released(ReportValue):
    """What one bump did.

    Attributes:
        released: The requested releases, each with `.ref`, `.tag`, `.previous` and `.bump`.
        unchanged: The artifacts that had nothing to release.
        recovered: The releases that a killed bump had begun and this one finished.
        branch: The branch of the commit.
        committed: Whether there is a commit.
        dry_run: Whether nothing was written.
        signed: Whether commit and tags are signed.
        pinned: Earlier versions that somebody still pins.
        followed: Whether all other pins were moved.
        followers: Versions that floating references mean from now on.
        lowered: Versions judged with overrides, acceptances or loosened settings.
        unreviewed: Versions that rest on an uncommitted acceptance.
        findings: Validation findings about the files, a line each.
        bypassed: Hooks of the repository that did not run.
        push: The outcome of the push; None if there was none.
        renumbered: Releases whose versions others had taken; only for `bump --again`.

    Examples:
        >>> store.release(dry_run=True).unchanged[:2]
        ('rubric/answer_style', 'rubric/reviewed_answer')
    """

    released: tuple[ReleasedVersion, ...]
    unchanged: tuple[str, ...]
    recovered: tuple[ReleasedVersion, ...] = ()
    branch: str | None = None
    committed: bool = True
    dry_run: bool = False
    signed: bool = False
    pinned: tuple[PinnedVersion, ...] = ()
    followed: bool = False
    followers: tuple[FollowedVersion, ...] = ()
    lowered: tuple[LoweredVersion, ...] = ()
    unreviewed: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    bypassed: tuple[str, ...] = ()
    push: Push | None = None
    renumbered: tuple[str, ...] | None = None

    def __repr__(self) -> str:
        return format_repr(
            self, *(item.tag for item in self.released), *(["dry run"] if self.dry_run else [])
        )

    @property
    def done(self) -> tuple[ReleasedVersion, ...]:
        """Everything that this run released, the interrupted bump's first."""
        return (*self.recovered, *self.released)


class ArtifactState(StrEnum):
    """How an artifact stands against its last release.

    Two states are of unchanged files: `behind`, if it was released again where this branch has not
    been; `moved`, if a floating reference means another version now.
    """

    NEW = "new"
    CHANGED = "changed"
    BEHIND = "behind"
    MOVED = "moved"
    REMOVED = "removed"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class MovedReference:
    """A floating reference of an unchanged artifact that has moved.

    It has the version at the artifact's release, the present one, and the bump between them.
    """

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
    """A pin in a working file (`user`) that will not follow the next release by itself.

    `place` is its first place.
    """

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
    """One artifact: its last release, its working file, and whether its version is high enough.

    `ok` says whether it is. `dependents` refer to it directly, `reached` counts everything that
    depends on it; `pins` would stay behind its next release. `place` is where its version is in the
    working file, or what is wrong there; `hint` is what to do about one that cannot be compared, or
    that looks like a rename. `asked` is what judges said about its change, if somebody asked them.
    `is_released`: its version was released since the base. `renamed_from` is the name of its last
    release, if that differs.
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
    asked: str | None = None
    is_released: bool = False
    renamed_from: str | None = None

    @property
    def adjusted(self) -> tuple[DiffFinding, ...]:
        """The findings that count at another level than their rule's.

        They were overridden in the settings, or accepted.
        """
        return tuple(finding for finding in self.findings if finding.adjusted)


@dataclass(frozen=True, slots=True)
class Status:
    """Every artifact that differs from its last release, by kind and id.

    `total` is how many artifacts there are. `findings` are about acceptances that ended or that
    nothing needs. `pending` are the acceptances of changes since the last releases (artifact,
    release, fingerprint), and whether there is such a change. `rule_set` is the number of the rules
    that judged: the newest, if evalstore.yaml names none. `interrupted` says how to finish a killed
    bump, None if there is none.
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
        """Whether every change has a high enough version."""
        return all(artifact.ok for artifact in self.artifacts)
