"""Releases: versions, commits and tags written, all or nothing; and accepted changes."""

from typing import TYPE_CHECKING

from evalstore.lazy_names import import_lazily

if TYPE_CHECKING:
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
]

# What writes a release is nothing to those who only look.
__getattr__ = import_lazily(
    __name__,
    {
        ".commit_files": ("VARIABLES",),
        ".journal": ("PinMove", "ReleasedVersion"),
        ".values": ("FollowedVersion", "LoweredVersion", "PinnedVersion", "Push", "PushOutcome", "Released"),
    },
)
