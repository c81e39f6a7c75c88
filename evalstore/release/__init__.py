"""Releases: what changed and which version it needs, and the commit and the tags that say so, all or nothing."""

from evalstore.release.bump import bump
from evalstore.release.identity import VARIABLES
from evalstore.release.status import status
from evalstore.release.values import (
    ArtifactState,
    ArtifactStatus,
    PinMove,
    PinnedVersion,
    Push,
    PushOutcome,
    Released,
    ReleasedVersion,
    Status,
    VersionRule,
)

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
    "status",
]
