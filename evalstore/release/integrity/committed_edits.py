"""Finds files that a commit has under the version of a release, but with other content."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from evalstore.diff import Detail
from evalstore.errors import LoadError, Place
from evalstore.model import Finding, parse_ref
from evalstore.release.changes.acceptances import read_rules_policy
from evalstore.release.changes.status import survey_store
from evalstore.release.changes.version_rules import VersionRule
from evalstore.release.integrity_rules import make_finding
from evalstore.release.publishing.release_parts import list_artifact_files
from evalstore.store import ArtifactStore
from evalstore.store.revisions import find_head
from evalstore.store.working_files import is_blob


def check_committed_edits(
    store: ArtifactStore, is_wanted: Callable[[str], bool]
) -> Iterator[Finding]:
    """Yield committed files with a release's version and other content, as status judges them.

    Yields nothing about files whose settings cannot be read, or about an edit that is not committed
    yet: status reports both.
    """
    head = find_head(store.git)
    if store.root is None or head is None:
        return
    try:
        survey = survey_store(store, read_rules_policy(store), detail=Detail.LEVELS)
    except LoadError:
        return
    for status in survey.artifacts:
        is_named = status.rule is VersionRule.NOT_BUMPED and is_wanted(status.ref)
        if is_named and _holds_files(store, store.root, head, status.ref):
            path = parse_ref(status.ref).path
            facts = {"ref": f"{status.ref}@{status.working}", "path": path, "name": status.ref}
            facts["next"] = status.next_version or "the next version"
            yield make_finding(
                "release-content-differs", status.place or Place(path), "/version", **facts
            )


def _holds_files(store: ArtifactStore, root: Path, commit: str, name: str) -> bool:
    """Whether a commit has the file of an artifact, and its rows, as they are on disk."""
    with suppress(LoadError):  # a file that cannot be opened is not as it was committed
        blobs = {
            path: store.find_file_at(commit, path) for path in list_artifact_files(store, [name])
        }
        return all(blob is not None and is_blob(root, path, blob) for path, blob in blobs.items())
    return False
