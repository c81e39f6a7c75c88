"""Proposes what a new artifact was renamed from.

That is a release with the same content, whose file is gone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from evalstore.documents import compute_digest
from evalstore.errors import EvalstoreError
from evalstore.model import Artifact, Kind, parse_ref, select_scoring_part
from evalstore.model.artifact import RENAMED_FROM
from evalstore.store import ArtifactStore, Release
from evalstore.store.rows import compute_rows_sha256
from evalstore.store.tags import find_last_release

_MOST = 100  # deleted artifacts of a kind that are examined: nobody renames more at once


def propose_renames(
    store: ArtifactStore, new: Sequence[str], gone: Sequence[Release]
) -> dict[str, str]:
    """Return the names of deleted artifacts by those of new ones with the same content.

    The last release of the deleted one has everything that the new one scores by. If several are
    alike, nothing tells which was renamed.
    """
    proposed: dict[str, str] = {}
    for kind in Kind:
        names = [name for name in new if name.startswith(f"{kind}/")]
        releases = [one for one in gone if one.kind is kind][:_MOST] if names else []
        old = _group_by_content(store, (f"{one.name}@{one.version}" for one in releases))
        alike = _group_by_content(store, (f"{name}@worktree" for name in names)) if old else {}
        pairs = ((found, old.get(content, [])) for content, found in alike.items())
        proposed |= {
            found[0]: former[0] for found, former in pairs if len(found) == len(former) == 1
        }
    return proposed


def find_missing_renames(store: ArtifactStore) -> dict[str, str]:
    """Return what working files that were never released were renamed from.

    Those that say so themselves are left out.
    """
    if store.root is None:
        return {}
    releases, present = store.group_releases(), {ref.name for ref in store.working()}
    last = (find_last_release(all_) for name, all_ in releases.items() if name not in present)
    return propose_renames(
        store, sorted(present - releases.keys()), [release for release in last if release]
    )


def describe_proposal(name: str, former: str) -> str:
    """Say what to write if a new artifact is a deleted one under another id."""
    return (
        f"it is what {former} was; if that is a rename, write into {parse_ref(name).path}: "
        f"{RENAMED_FROM}: {former}"
    )


def _group_by_content(store: ArtifactStore, refs: Iterable[str]) -> Mapping[str, list[str]]:
    """Return the names of artifacts by everything that they score by.

    Those that another artifact continues are left out. What cannot be read matches nothing.
    """
    groups: defaultdict[str, list[Artifact]] = defaultdict(list)
    for ref in refs:
        try:
            found = store.resolve(ref)
            part = select_scoring_part(found.kind, found.artifact.value)
            rows = (
                compute_rows_sha256(store, found.artifact, commit=found.commit)
                if part.pop("rows", None)
                else ""
            )
            groups[compute_digest([found.kind, part, rows])].append(found.artifact)
        except EvalstoreError:
            continue
    former = {artifact.former_name for group in groups.values() for artifact in group}
    return {
        key: [one.name for one in group if one.name not in former] for key, group in groups.items()
    }
