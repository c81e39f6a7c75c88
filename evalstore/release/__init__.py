"""Releases: versions, commits and tags written, all or nothing; and accepted changes."""

from __future__ import annotations

from evalstore.release.bump import bump
from evalstore.release.commit_files import VARIABLES
from evalstore.release.journal import PinMove, ReleasedVersion
from evalstore.release.values import FollowedVersion, LoweredVersion, PinnedVersion, Push, PushOutcome, Released

__all__ = [
    "VARIABLES",
    "FollowedVersion",
    "LoweredVersion",
    "PinMove",
    "PinnedVersion",
    "Push",
    "PushOutcome",
    "Released",
    "ReleasedVersion",
    "bump",
]
