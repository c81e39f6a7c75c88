"""Releases: what changed and which version it needs, and the commit and the tags that say so, all or nothing."""

from evalstore.release.bump import bump
from evalstore.release.identity import VARIABLES
from evalstore.release.status import read_status
from evalstore.release.values import (
    ArtifactState,
    ArtifactStatus,
    PinnedVersion,
    Push,
    PushOutcome,
    Released,
    Status,
    VersionRule,
)
from evalstore.transactions.journal import PinMove, ReleasedVersion

__all__ = [
    "VARIABLES",
    "ReleasedVersion",
    "PinMove",
    "PushOutcome",
    "PinnedVersion",
    "VersionRule",
    "Push",
    "Released",
    "ArtifactStatus",
    "ArtifactState",
    "Status",
    "bump",
    "read_status",
]
