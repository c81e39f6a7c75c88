"""TODO: one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter

from evalstore.errors import RefError
from evalstore.store import ArtifactStore, Release
from evalstore.store.git import Git
from evalstore.store.revisions import resolve_head


def group_releases(store: ArtifactStore) -> dict[str, tuple[Release, ...]]:
    """Return all releases by `<kind>/<id>`, each ascending, from one listing."""
    grouped = groupby(store.list_releases(), key=attrgetter("name"))
    return {name: tuple(group) for name, group in grouped}


def find_last_release(releases: Sequence[Release]) -> Release | None:
    """Return the highest release that is no pre-release."""
    return next((release for release in reversed(releases) if not release.version.prerelease), None)


def find_head(git: Git) -> str | None:
    """Return the commit that is checked out, or None before the first one."""
    try:
        return resolve_head(git)
    except RefError:
        return None


def is_ancestor(store: ArtifactStore, commit: str, tip: str) -> bool:
    """Whether a commit is in the history of another, or that one itself."""
    return store.git.run_or_none("merge-base", "--is-ancestor", commit, tip) is not None
