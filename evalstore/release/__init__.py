"""Releases: versions, commits and tags written, all or nothing; and accepted changes."""

from evalstore.release.bump import bump
from evalstore.release.git_state import VARIABLES
from evalstore.release.values import FollowedVersion, LoweredVersion, PinnedVersion, Push, PushOutcome, Released
from evalstore.transactions.journal import PinMove, ReleasedVersion

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
