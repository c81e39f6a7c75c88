"""Compares two sides as people ask for it, or everything that changed in a store.

It also reports what moves scores apart from the two sides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from typing import TYPE_CHECKING, Any

from evalstore.diff import Diff, Profile, Side
from evalstore.errors import EvalstoreError, Place, RefusedError, UnreleasedError
from evalstore.model import Artifact, Ref, parse_ref
from evalstore.progress import Watch
from evalstore.release.changes.acceptances import (
    ChangePolicy,
    read_base_settings,
    read_change_policy,
    read_settings_at,
)
from evalstore.release.changes.comparison import (
    ComparedArtifact,
    Load,
    compare_versions,
    find_base_release,
    make_loader,
    name_line,
)
from evalstore.release.changes.drift import describe_moved_references
from evalstore.release.changes.store_changes import StoreChanges, find_store_changes
from evalstore.release.changes.values import ArtifactState
from evalstore.release.changes.version_choice import find_free_version, find_taken_release
from evalstore.release.dependencies.renames import propose_renames
from evalstore.release.dependencies.validity import check_gradable, check_tags_complete
from evalstore.store import ArtifactStore, Resolved
from evalstore.versions import Bump, find_version, parse_version

if TYPE_CHECKING:
    from evalstore.checks import CheckContext
    from evalstore.diff.changes.by_kind import DatasetRows
    from evalstore.diff.findings import SettingChange

RowWatch = Callable[[Iterable[Any]], Iterable[Any]]


@dataclass(frozen=True, slots=True)
class BrokenComparison:
    """An artifact (`<kind>/<id>`) that could not be compared, why, and where."""

    ref: str
    message: str
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class StoreDiff:
    """Each changed artifact against its last release.

    It also has the names that were never released, and those that are gone. `renames` are the names
    of deleted artifacts by those of new ones with the same content, although nothing declares a
    rename. `total` counts the existing artifacts. What is `broken` could not be compared.
    """

    total: int
    diffs: tuple[Diff, ...] = ()
    new: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    broken: tuple[BrokenComparison, ...] = ()
    renames: Mapping[str, str] = field(default_factory=dict)

    @property
    def required_bump(self) -> Bump:
        """The highest bump that a change needs."""
        return max((diff.required_bump for diff in self.diffs), default=Bump.NONE)

    @property
    def has_settings(self) -> bool:
        """Whether a setting that moves scores changed."""
        return any(diff.settings for diff in self.diffs)

    @property
    def is_shown(self) -> bool:
        """Whether an output shows that an artifact's edits move a score or a verdict.

        All edits of one artifact are taken together.
        """
        return any(diff.is_shown for diff in self.diffs)

    @property
    def certain(self) -> int:
        """How many findings are certain."""
        return sum(diff.certain for diff in self.diffs)

    @property
    def possible(self) -> int:
        """How many findings only a judge's replies can decide."""
        return sum(diff.possible for diff in self.diffs)


def resolve_side(store: ArtifactStore, ref: str | Ref) -> Resolved:
    """Return the version that a side of a comparison means.

    Without a pin that is the last release, whatever a lock holds. If the artifact was renamed
    since, it is a release of its former id.
    """
    parsed = parse_ref(ref) if isinstance(ref, str) else ref
    if parsed.pin:
        return store.resolve(parsed)
    try:
        return store.without_lock().resolve(parsed)
    except UnreleasedError:
        former = store.resolve(parsed.with_pin("worktree")).artifact.former_name
        if not former:
            raise
        return store.without_lock().resolve(former)


def name_side(side: Resolved) -> str:
    """Return how a side is named: by its version, or as it was requested.

    The latter is for the working tree and for a commit.
    """
    ref = parse_ref(side.ref)
    return f"{side.name}@{side.version}" if ref.names_release else f"{side.name}@{ref.pin}"


def compare_sides(  # noqa: PLR0913  # both sides, what they refer to, and by what they are judged
    store: ArtifactStore,
    old: ComparedArtifact,
    new: ComparedArtifact,
    policy: ChangePolicy,
    *,
    load: Load | None = None,
    rows: DatasetRows | None = None,
    watch: RowWatch = iter,
    replies: CheckContext | None = None,
) -> Diff:
    """Return what changed between two sides, and what else moves scores.

    The latter are references and settings. `watch` wraps the iteration over the rows of the new
    side (a progress bar). `replies` says how judges answer about examples.
    """
    load = load or make_loader(store, new)
    if not (isinstance(old, Resolved) and isinstance(new, Resolved)):
        diff = compare_versions(store, old, new, policy, load=load, rows=rows, replies=replies)
        return _name_sides(diff, old, new)
    if rows is None and "rows" in {*old.artifact.value, *new.artifact.value}:
        rows = store.pair_rows(old, new, watch)
    diff = compare_versions(store, old, new, policy, load=load, rows=rows, replies=replies)
    settings = tuple(_find_setting_changes(store, old, new, load))
    notes, refused = _describe_moves(store, old, new), _explain_refusal(diff, new, load)
    return _name_sides(replace(diff, notes=notes, settings=settings, refused=refused), old, new)


def _explain_refusal(diff: Diff, new: Resolved, load: Load) -> str:
    """Return why a working file that no rule understands cannot be released; else ""."""
    from evalstore.diff.change import UNCLASSIFIED

    is_read = all(finding.rule != UNCLASSIFIED for finding in diff.findings)
    if new.commit or is_read:
        return ""
    try:
        check_gradable(new, load)
    except RefusedError as error:
        return str(error)
    return ""


def skip_released_version(
    store: ArtifactStore, diff: Diff, old: ComparedArtifact, new: ComparedArtifact
) -> Diff:
    """Return a comparison whose next version is still free, or None if a later one is released.

    For a working file, `later_release` is also the release whose number a bump would take. Between
    two releases, it is the later one; if that is the version that follows from the comparison, it
    stays.
    """
    following = find_version(diff.next_version or "")
    if not (isinstance(old, Resolved) and isinstance(new, Resolved)) or following is None:
        return diff
    working = find_version(new.version)
    if working is None:
        return diff
    if parse_ref(new.ref).names_release:
        is_later = working > following
        return replace(diff, next_version=None, later_release=new.version) if is_later else diff
    refs = {name: parse_ref(name) for name in (old.name, new.name)}
    releases = {name: store.releases(ref.kind, ref.id) for name, ref in refs.items()}
    base = find_base_release(store, releases[old.name], working)
    if base and base.version >= following:
        return replace(diff, next_version=None, later_release=str(base.version))
    line = [release for all_ in releases.values() for release in all_]
    versions = [release.version for release in line]
    free = find_free_version(parse_version(old.version), diff.required_bump, versions)
    taken = find_taken_release(base.version, working, diff.required_bump, line) if base else None
    later = str(taken.version) if taken else None
    return replace(diff, next_version=str(free), later_release=later)


def compare_all(
    store: ArtifactStore,
    today: date,
    profile: Profile | None = None,
    watches: tuple[Watch[Any], RowWatch] = (iter, iter),
    replies: CheckContext | None = None,
) -> StoreDiff:
    """Return what changed in the working tree of a store.

    A file that cannot be compared hides no other. `watches` wrap the iteration over the artifacts,
    and, if only one changed, over its rows. `replies` says how judges answer about examples.
    """
    watch, watch_rows = watches
    changes, policy = (
        find_store_changes(store, watch=watch),
        read_change_policy(store, today, profile),
    )
    changed = changes.scan.changed
    watch_rows = watch_rows if len(changed) == 1 else iter  # one bar at a time

    def compare_pair(old: Resolved, new: Resolved) -> Diff:
        diff = compare_sides(store, old, new, policy, watch=watch_rows, replies=replies)
        return skip_released_version(store, diff, old, new)

    diffs: list[Diff] = []
    new: list[str] = []
    broken = [BrokenComparison(gone.ref, gone.message) for gone in changes.removed if not gone.ok]
    for ref in watch(changed):
        try:
            diff = _compare_working_file(store, ref, changes, compare_pair)
        except EvalstoreError as error:
            broken.append(BrokenComparison(ref.name, error.message, error.place))
            continue
        if diff is None:
            new.append(ref.name)
        else:
            # On a branch that has not seen the last release, the file may well be the one that it
            # began from.
            diffs += [diff] if diff.findings or _is_last(changes, diff) else []
    renamed = {
        (diff.old.ref or "").partition("@")[0] for diff in diffs
    }  # among them, each other file as itself
    gone_refs = (gone.ref for gone in changes.removed if gone.state is ArtifactState.REMOVED)
    removed = tuple(ref for ref in gone_refs if ref not in renamed)
    renames = propose_renames(store, new, changes.gone)
    return StoreDiff(changes.total, tuple(diffs), tuple(new), removed, tuple(broken), renames)


def _compare_working_file(
    store: ArtifactStore,
    ref: Ref,
    changes: StoreChanges,
    compare_pair: Callable[[Resolved, Resolved], Diff],
) -> Diff | None:
    """Compare a file with the release that it was edited from; None if there is none."""
    # In a clone without tags everything would be new.
    check_tags_complete(store, ref.name, changes.releases)
    working = store.resolve(ref.with_pin("worktree"))
    name = name_line(changes.releases, working.artifact)
    if name != ref.name:
        check_tags_complete(store, name, changes.releases)
    if (last := changes.last.get(name)) is None:
        return None
    version = find_version(working.version)
    base = (find_base_release(store, changes.releases[name], version) if version else None) or last
    return compare_pair(store.resolve(f"{name}@{base.version}"), working)


def _is_last(changes: StoreChanges, diff: Diff) -> bool:
    last = changes.last.get((diff.old.ref or "").partition("@")[0])
    return last is not None and diff.old.ref == f"{last.name}@{last.version}"


def _name_sides(diff: Diff, old: ComparedArtifact, new: ComparedArtifact) -> Diff:
    before, after = _rename_side(diff.old, old), _rename_side(diff.new, new)
    return replace(diff, old=before, new=after)


def _rename_side(side: Side, compared: ComparedArtifact) -> Side:
    return replace(side, ref=name_side(compared)) if isinstance(compared, Resolved) else side


def _describe_moves(store: ArtifactStore, old: Resolved, new: Resolved) -> tuple[str, ...]:
    """Return a sentence for each reference that means another version than at the release.

    Its text is the same.
    """
    if not old.tag or new.commit or old.name not in {new.name, new.artifact.former_name}:
        return ()
    return describe_moved_references(store, old, new, read_base_settings(store).without_opinions)


def _find_setting_changes(
    store: ArtifactStore, old: Resolved, new: Resolved, load: Callable[[str], Artifact]
) -> Iterator[SettingChange]:
    from evalstore.diff.setting_changes import find_setting_changes

    commits = (old.commit, new.commit)
    was, now = (read_settings_at(store, one) if one else store.settings for one in commits)
    return find_setting_changes(was, now, new.artifact, load)
