"""Drift: floating references that mean another version than they did at a release.

They are references of artifacts that have not changed since.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from evalstore.diff import ComparisonSettings, Detail
from evalstore.errors import EvalstoreError, LoadError, RefusedError
from evalstore.files import read_below
from evalstore.lint import VALIDATION_RULES
from evalstore.lint.context import read_policy
from evalstore.model import Finding, Kind, PinType, Ref, parse_ref
from evalstore.model.artifact import read_origin
from evalstore.model.lock import LIMIT as LOCK_LIMIT
from evalstore.model.lock import LOCK_FILE, NO_LOCK, Lock, read_lock
from evalstore.release.changes.acceptances import ChangePolicy
from evalstore.release.changes.comparison import compare_versions
from evalstore.release.changes.values import ArtifactState, ArtifactStatus, MovedReference
from evalstore.release.changes.version_rules import VersionRule
from evalstore.release.dependencies.mentions import scan_working_file
from evalstore.release.dependencies.reference_graph import ReferenceGraph
from evalstore.release.dependencies.references import ArtifactReference, read_references
from evalstore.store import ArtifactStore, Release, Resolved
from evalstore.store.artifacts import ARTIFACT_LIMIT
from evalstore.store.repository.shallow import describe_missing_history
from evalstore.store.resolve import can_mean, find_locked_version
from evalstore.store.revisions import is_ancestor
from evalstore.store.tags import find_last_release
from evalstore.store.working_files import read_working_files
from evalstore.versions import Bump, Version

_BEHIND = VALIDATION_RULES["pin-behind"]
_UNKNOWN = "what its references meant at its release is unknown"


@dataclass(slots=True)
class MovedReferenceFinder:
    """Finds floating references that moved.

    Each pair of versions is compared once, and each lock is read once.
    """

    store: ArtifactStore
    releases: Mapping[str, Sequence[Release]]
    settings: ComparisonSettings
    _levels: dict[tuple[str, Version, Version], Bump] = field(default_factory=dict)
    _locks: dict[str, Lock] = field(default_factory=dict)

    def find_moved(
        self, base: Release, references: Sequence[ArtifactReference]
    ) -> Iterator[MovedReference]:
        """Yield the references that meant another version when `base` was released.

        `base` is the release that contains them.
        """
        for reference in references:
            if not reference.ref.is_floating or not reference.scores:
                continue
            known = self.releases.get(reference.ref.name, ())
            meant = [one for one in known if can_mean(reference.ref, one.version)]
            # What it meant then: by the lock of that commit, else the newest release at the time.
            before = (release for release in reversed(meant) if self._was_released(release, base))
            was = self._resolve_in_lock(reference.ref, self._read_lock_at(base.commit), before)
            now = self._resolve_in_lock(reference.ref, self.store.lock, reversed(meant))
            if was and now and was != now:
                yield MovedReference(
                    str(reference.ref),
                    was,
                    now,
                    self._measure_step(reference.ref, was, now),
                    reference.place,
                )

    @staticmethod
    def _resolve_in_lock(ref: Ref, lock: Lock, newest: Iterator[Release]) -> Version | None:
        """Return the version at which a lock holds a reference.

        If the lock does not have it, that is the `newest` one that it could mean.
        """
        entry = lock.refs.get(str(ref))
        return (
            find_locked_version(ref, entry)
            if entry
            else next((release.version for release in newest), None)
        )

    def _read_lock_at(self, commit: str) -> Lock:
        blob = self.store.find_file_at(commit, LOCK_FILE)
        if blob and blob not in self._locks:
            self._locks[blob] = read_lock(self.store.objects.read(blob, LOCK_LIMIT).data)
        return self._locks[blob] if blob else NO_LOCK

    def _was_released(self, release: Release, base: Release) -> bool:
        """Whether a version was already released when `base` was.

        Its ledger decides, or, without one, git's history.
        """
        if release.commit == base.commit:
            return True
        # A ledger at that commit lists every release up to then; older stores have none and use the
        # history.
        if known := self.store.ledgers.read_at(base.commit, release.name).by_version:
            return str(release.version) in known
        if self.store.repository.shallow:
            hint = describe_missing_history(self.store.git)
            raise RefusedError("this shallow clone does not have that history", hint=hint)
        return is_ancestor(self.store.git, release.commit, base.commit)

    def _measure_step(self, ref: Ref, was: Version, now: Version) -> Bump:
        key = (ref.name, was, now)
        if key not in self._levels:
            self._levels[key] = self._compare_versions(
                *(f"{ref.name}@{version}" for version in (was, now))
            )
        return self._levels[key]

    def _compare_versions(self, was: str, now: str) -> Bump:
        policy, resolve = ChangePolicy(self.settings, (), None), self.store.resolve
        try:
            return compare_versions(
                self.store,
                resolve(was),
                resolve(now),
                policy,
                load=self.store.read_artifact,
                detail=Detail.LEVELS,
            ).required_bump
        except EvalstoreError:
            return Bump.MAJOR  # what cannot be compared counts as major


def find_moved_artifacts(
    finder: MovedReferenceFinder, graph: ReferenceGraph, unchanged: Iterable[Release]
) -> Iterator[ArtifactStatus]:
    """Yield the status of each unchanged artifact with a moved reference.

    `unchanged` are the last releases of these artifacts.
    """
    for base in unchanged:
        if graph.mentions[f"{base.name}@worktree"].floating and (
            moves := _describe_moves(finder, graph, base)
        ):
            description, moved = moves
            version = str(base.version)
            message = f"unchanged, but {description}"
            # What is unknown may be a major change: fail closed.
            is_ok = bool(moved) and find_moved_level(moved) is not Bump.MAJOR
            rule = None if is_ok else VersionRule.REFERENCE_MOVED
            yield ArtifactStatus(
                base.name,
                ArtifactState.MOVED,
                is_ok,
                message,
                version,
                version,
                rule=rule,
                moved=moved,
            )


def find_moved_level(moved: Iterable[MovedReference]) -> Bump:
    """Return the bump needed by references that mean other versions than at the release."""
    return max((move.level for move in moved), default=Bump.NONE)


def find_kept_moves(
    finder: MovedReferenceFinder, base: Release, name: str
) -> tuple[MovedReference, ...]:
    """Return the references of a release and its working file that mean another version now."""
    store = finder.store
    if not _is_floating(store, name):
        return ()
    refs = f"{base.name}@{base.version}", f"{name}@worktree"
    then, now = (read_references(store, store.resolve(ref), name).references for ref in refs)
    old_refs = {str(reference.ref) for reference in then}
    return tuple(
        finder.find_moved(base, [reference for reference in now if str(reference.ref) in old_refs])
    )


def _is_floating(store: ArtifactStore, name: str) -> bool:
    """Whether a working file has a reference that a later release can change."""
    files = read_working_files(store, [parse_ref(f"{name}@worktree")])
    return any(scan_working_file(store, ref, data).floating for ref, data in files)


def describe_moved_references(
    store: ArtifactStore, old: Resolved, new: Resolved, settings: ComparisonSettings
) -> tuple[str, ...]:
    """Say which floating references of a release and its working file mean another version now."""
    # Most files have no such reference, and need no list of all releases.
    if not _is_floating(store, new.name):
        return ()
    releases = store.group_releases()
    base = next(release for release in releases[old.name] if release.tag == old.tag)
    try:
        moved = find_kept_moves(MovedReferenceFinder(store, releases, settings), base, new.name)
        return tuple(move.sentence for move in moved)
    # In a shallow clone, or with an old lock that cannot be read, the diff itself is still worth
    # showing.
    except EvalstoreError as error:
        return (f"{_UNKNOWN}: {error}",)


def _describe_moves(
    finder: MovedReferenceFinder, graph: ReferenceGraph, base: Release
) -> tuple[str, tuple[MovedReference, ...]] | None:
    try:
        moved = tuple(
            finder.find_moved(base, graph.read_references(f"{base.name}@worktree").references)
        )
    except EvalstoreError as error:
        return f"{_UNKNOWN}: {error}", ()
    return (_summarize_moves(moved), moved) if moved else None


def _summarize_moves(moved: Sequence[MovedReference]) -> str:
    first = max(moved, key=lambda move: move.level)
    more = f", and {len(moved) - 1} more" if moved[1:] else ""
    return f"{first.ref} now means {first.now}, was {first.was} ({first.level}){more}"


def find_lagging_pins(
    store: ArtifactStore, graph: ReferenceGraph, releases: Mapping[str, Sequence[Release]]
) -> Iterator[tuple[ArtifactReference, Version]]:
    """Yield the pins of working datasets that lag behind rubrics from the same source.

    Each comes with the last release of its rubric.
    """
    last: dict[str, Version] = {}
    for name, all_ in releases.items():
        if name.startswith(f"{Kind.RUBRIC}/") and all_[1:] and (one := find_last_release(all_)):
            last[name] = one.version
    for key, mentions in graph.mentions.items():
        if (
            not key.startswith(f"{Kind.DATASET}/")
            or not mentions.names & last.keys()
            or not _is_migrated(store, key)
        ):
            continue
        for reference in graph.read_references(key).references:
            ref, version = reference.ref, last.get(reference.ref.name)
            is_below = (
                version and ref.type is PinType.EXACT and ref.version and ref.version < version
            )
            origin = _read_origin(store, key) if is_below else None
            if version and origin and origin == _read_origin(store, f"{ref.name}@worktree"):
                yield reference, version


def make_lagging_findings(
    store: ArtifactStore, pins: Iterable[tuple[ArtifactReference, Version]]
) -> Iterator[Finding]:
    """Yield the findings of pins that lag behind their source, as severe as the settings say."""
    severity = read_policy(store.settings, strict=False).find_severity(_BEHIND.id)
    for reference, version in pins:
        if severity is None:
            return
        facts = {"found": str(reference.ref), "name": reference.ref.name, "version": version}
        yield _BEHIND.make_finding(reference.place, facts, severity=severity)


def _is_migrated(store: ArtifactStore, key: str) -> bool:
    """Whether a dataset may be a migrated one: its bytes tell, so that no other is parsed."""
    try:
        return store.root is not None and b"x_source" in read_below(
            store.root, parse_ref(key).path, ARTIFACT_LIMIT
        )
    except LoadError:
        return False


def _read_origin(store: ArtifactStore, key: str) -> tuple[object, object] | None:
    try:
        return read_origin(store.resolve(key).artifact.value)
    except EvalstoreError:  # what cannot be read is a separate finding
        return None
