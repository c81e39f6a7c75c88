"""Compares stored artifacts: first by their bytes, then by meaning if the bytes differ."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from evalstore.diff import ComparisonSettings, Detail, Diff, Direction, Side, TotalEffect
from evalstore.model import Artifact, find_kind
from evalstore.release.changes.acceptances import ChangePolicy, read_rules_policy
from evalstore.release.changes.asked_changes import add_asked
from evalstore.store import ArtifactStore, Release, Resolved
from evalstore.store.revisions import find_head, is_ancestor
from evalstore.store.tags import find_last_release
from evalstore.versions import Bump, Version, find_version

if TYPE_CHECKING:
    from evalstore.checks import CheckContext
    from evalstore.diff.changes.by_kind import DatasetRows

Load = Callable[[str], Artifact]
Rows = Iterable[Mapping[str, Any]]
# What can be compared: a version in a store, or an artifact or its mapping from anywhere.
ComparedArtifact = Resolved | Artifact | Mapping[str, Any]


def name_line(known: Mapping[str, Sequence[Release]], artifact: Artifact) -> str:
    """Return the name whose releases a file continues.

    `known` are the releases by name. It is the file's own name, or, before that has a release, its
    former one.
    """
    has_own = find_last_release(known.get(artifact.name, ())) is not None
    return artifact.name if has_own else artifact.former_name or artifact.name


def list_line_releases(
    known: Mapping[str, Sequence[Release]], artifact: Artifact
) -> Sequence[Release]:
    """Return the releases whose numbers a file cannot have: its own, and those that it continues.

    `known` are the releases by name.
    """
    name, own = name_line(known, artifact), known.get(artifact.name, ())
    return own if name == artifact.name else (*known.get(name, ()), *own)


def find_base_release(
    store: ArtifactStore, releases: Sequence[Release], working: Version
) -> Release | None:
    """Return the release that a file was edited from: the last one on its branch."""
    last = find_last_release(releases)
    # A shallow clone cannot tell what a branch has seen; there a lower version counts as a step
    # back.
    if last is None or working == last.version or store.repository.shallow:
        return last
    tip = find_head(store.git)
    if tip is None:
        return last
    # The newest final release in the history of this branch.
    finals = (release for release in reversed(releases) if not release.version.prerelease)
    return next(
        (release for release in finals if is_ancestor(store.git, release.commit, tip)), last
    )


def compare_versions(  # noqa: PLR0913  # both sides, what they refer to, and what judges them
    store: ArtifactStore,
    old: ComparedArtifact,
    new: ComparedArtifact,
    policy: ChangePolicy,
    *,
    load: Load | None = None,
    rows: DatasetRows | None = None,
    detail: Detail = Detail.WITNESSES,
    replies: CheckContext | None = None,
) -> Diff:
    """Return what changed between two versions, judged by a store.

    This is the only way in which stored artifacts are compared. A side that is not a version of the
    store has no rows, and its changes cannot be accepted. `load` reads references, by default as
    the new side does: a working file may name versions that are not released yet. `rows` are both
    sides' rows if they are not those in the store. `replies` says how judges answer about examples.
    """
    settings = _find_settings(policy, old, new)
    if isinstance(old, Resolved) and isinstance(new, Resolved):
        has_rows = "rows" in {*old.artifact.value, *new.artifact.value}
        # Rows are not part of the digest, so datasets with rows are always compared.
        if old.digest == new.digest and not has_rows:
            return _build_empty_diff(old, new, settings)
        rows = store.pair_rows(old, new) if rows is None and has_rows else rows
    from evalstore.diff import compare

    load = load or make_loader(store, new)
    sides = get_artifact(old), get_artifact(new)
    diff = compare(*sides, load=load, rows=rows, settings=settings, detail=detail, replies=replies)
    if rows or not (isinstance(old, Resolved) and isinstance(new, Resolved)):
        return diff  # rows are not part of the digests that identify it
    return add_asked(store, diff, old.artifact, new.artifact)


def compare_by_rules(
    store: ArtifactStore,
    old: ComparedArtifact,
    new: ComparedArtifact,
    *,
    detail: Detail = Detail.WITNESSES,
) -> Diff:
    """Return what changed between two versions by the rules alone.

    Overrides and acceptances do not count.
    """
    return compare_versions(
        store, old, new, read_rules_policy(store), load=store.read_artifact, detail=detail
    )


def compare_with_release(  # noqa: PLR0913  # as above
    store: ArtifactStore,
    release: Release,
    new: Resolved,
    policy: ChangePolicy,
    *,
    load: Load,
    rows: Rows | None = None,
    detail: Detail = Detail.WITNESSES,
) -> Diff:
    """Return the difference from a release to a working file; `rows` replace those on disk."""
    old = store.resolve(f"{release.name}@{release.version}")
    pair = (
        None
        if rows is None or "rows" not in {*old.artifact.value, *new.artifact.value}
        else (store.rows(old), rows)
    )
    return compare_versions(store, old, new, policy, load=load, rows=pair, detail=detail)


def get_artifact(side: ComparedArtifact) -> Artifact | Mapping[str, Any]:
    """Return the artifact of a version, and anything else as it is."""
    return side.artifact if isinstance(side, Resolved) else side


def _find_settings(
    policy: ChangePolicy, old: ComparedArtifact, new: ComparedArtifact
) -> ComparisonSettings:
    """Return the settings for a change.

    They include what was accepted since `old`, if `new` continues it.
    """
    since = find_version(old.version) if isinstance(old, Resolved) and old.tag else None
    name = _find_name(new)
    names = {name, new.artifact.former_name if isinstance(new, Resolved) else name}
    return (
        policy.restrict_to_change(name, since)
        if since and _find_name(old) in names
        else policy.settings
    )


def _find_name(side: ComparedArtifact) -> str:
    if isinstance(side, Artifact | Resolved):
        return side.name
    return f"{find_kind(side)}/{side.get('id')}"


def _build_empty_diff(old: Resolved, new: Resolved, settings: ComparisonSettings) -> Diff:
    before, after = (Side(f"{one.name}@{one.version}", one.digest) for one in (old, new))
    still = TotalEffect(Direction.NONE, Direction.NONE, Fraction(0), Fraction(0))
    return Diff(before, after, Bump.NONE, None, (), still, settings.rule_set, settings.profile)


def make_loader(store: ArtifactStore, side: ComparedArtifact) -> Load:
    """Return a function that loads what a side refers to: from working files, or from releases."""
    is_working = isinstance(side, Resolved) and side.commit is None
    return store.with_worktree().read_artifact if is_working else store.read_artifact
