"""What a bump answers: the versions that it released, and what became of their push."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from evalstore.notebook import ReportValue, format_repr
from evalstore.release.journal import ReleasedVersion
from evalstore.versions import Bump


class PinnedVersion(NamedTuple):
    """A version that is not the last one any more, and the artifacts that still pin it."""

    ref: str
    by: tuple[str, ...]


class FollowedVersion(NamedTuple):
    """A version that artifacts follow by a floating reference, without a release of their own, and its bump."""

    ref: str
    bump: Bump
    by: tuple[str, ...]


class LoweredVersion(NamedTuple):
    """A version that says less than its change would need: what lowered it, a sentence each."""

    ref: str
    by: tuple[str, ...]


class PushOutcome(StrEnum):
    """What became of a push; `ready`: it was not asked for, and the command is shown."""

    READY = "ready"
    PUSHED = "pushed"
    UP_TO_DATE = "up-to-date"
    REJECTED = "rejected"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Push:
    """A branch and tags to push to a remote, all or nothing; `message` says why they did not arrive, `hint` what to do.

    `atomic` is False where the remote cannot take all at once.
    """

    remote: str
    branch: str
    tags: tuple[str, ...]
    outcome: PushOutcome
    message: str | None = None
    hint: str | None = None
    atomic: bool = True

    @property
    def command(self) -> str:
        """The same push as a command of git, quoted for a shell."""
        how = ["--atomic"] if self.atomic else []
        tags = (f"refs/tags/{tag}" for tag in self.tags)
        return shlex.join(["git", "push", *how, self.remote, self.branch, *tags])


@dataclass(frozen=True, slots=True)
class Released(ReportValue):
    """What one bump did: `recovered` is what a killed bump had begun, `released` what this one was asked for.

    `pinned` are earlier versions that somebody still pins; `followed` says that all other pins have moved. `followers`
    are the released versions that others mean from now on, although nothing in them changed. `lowered` are versions
    whose change was overridden or accepted, or that come with loosened settings; `unreviewed` rest on acceptances which
    are not committed. `findings` are what validation says of the files, a line each. `bypassed` are the hooks of the
    repository that git would have run. `push` is None where there is nothing to push.
    `renumbered` are the releases whose numbers others had, of `bump --again` only.
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
        return format_repr(self, *(item.tag for item in self.released), *(["dry run"] if self.dry_run else []))

    @property
    def done(self) -> tuple[ReleasedVersion, ...]:
        """Everything that this run released, the interrupted bump's first."""
        return (*self.recovered, *self.released)
