"""Resolves references to artifacts.

They are resolved by evalstore.lock, else by exact tag name, or in ranges of releases. Nothing is
guessed, and nothing is taken from git unchecked: objects are hashed, and tags and ledgers must
agree.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from evalstore.errors import (
    EvalstoreError,
    LoadError,
    Place,
    RefError,
    RefusedError,
    UnreleasedError,
)
from evalstore.model import Artifact, Kind, PinType, Ref, WorktreePins, parse_ref
from evalstore.model.lock import LOCK_FILE, LockEntry
from evalstore.model.refs import ArtifactIdentity
from evalstore.notebook import ReportValue, format_repr
from evalstore.store.artifacts import ARTIFACT_LIMIT, find_rows_blob, make_artifact
from evalstore.store.contents import StoreReader
from evalstore.store.ledger import locate_ledger
from evalstore.store.repository.object_reader import compute_object_id
from evalstore.store.repository.objects import find_file, read_tag
from evalstore.store.revisions import resolve_revision
from evalstore.store.store_detection import find_elsewhere
from evalstore.store.tags import GitTag, Release
from evalstore.text import find_nearest
from evalstore.versions import Version, find_version

_MANY_REFS = 32  # references from which on reading ahead is worth a listing
_SHOWN_VERSIONS = 12  # of a message
ASKED_TAGS = 3  # to name the authors of more, git would walk through the history as many times
_MOVED_HINT = "the tag was moved or made by hand: it must name the commit that set this version"


@dataclass(frozen=True, slots=True)
class Resolved(ArtifactIdentity, ReportValue):
    """The meaning of a reference: an artifact, and where it was read from.

    Attributes:
        ref: The reference.
        kind: The kind of the artifact.
        id: Its id.
        version: Its version.
        tag: The tag of its release; None for a file or a commit.
        commit: The commit it was read from; None for a file on disk.
        blob: The id of its file in git; None for a file on disk.
        floating: Whether a later release can change what the reference means.
        artifact: The artifact itself.
        locked: Whether evalstore.lock has it.

    Examples:
        >>> print(store.resolve("rubric/answer_style@^1").floating)
        True
    """

    ref: str
    kind: Kind
    id: str
    version: str
    tag: str | None
    commit: str | None
    blob: str | None
    floating: bool
    artifact: Artifact
    locked: bool = False

    def __repr__(self) -> str:
        where = f"commit {self.commit[:12]}" if self.commit else "working file"
        return format_repr(self, self.ref, f"version {self.version}", where)

    @property
    def digest(self) -> str:
        """SHA-256 over everything but the version."""
        return self.artifact.digest

    @property
    def scoring_digest(self) -> str:
        """SHA-256 over the part that can move a score."""
        return self.artifact.scoring_digest


@dataclass(frozen=True, slots=True)
class Resolution:
    """The meanings of several references, in order."""

    resolved: tuple[Resolved, ...]


class CommittedArtifact(NamedTuple):
    """An artifact as read from a commit: its blob, and the SHA-256 of the file's bytes."""

    artifact: Artifact
    blob: str
    sha256: str


def resolve_ref(store: StoreReader, ref: Ref) -> Resolved:
    """Resolve a reference as in evalstore.lock, else as of today.

    It means its file if the store says so.
    """
    if ref.type is PinType.WORKTREE or store.worktree is WorktreePins.ALL:
        return _resolve_worktree(store, ref)
    try:
        return _resolve_released(store, ref)
    except UnreleasedError:
        if store.worktree is None:
            raise
        return _resolve_worktree(store, ref)


def _resolve_released(store: StoreReader, ref: Ref) -> Resolved:
    # An exact version is locked, too, if the lock has a range that means it.
    entry = store.lock.refs.get(str(ref)) or store.lock.releases.get(f"{ref.name}@{ref.version}")
    return resolve_unlocked(store, ref) if entry is None else _resolve_locked(store, ref, entry)


def resolve_unlocked(store: StoreReader, ref: Ref) -> Resolved:
    """Resolve one reference without the lock.

    Raises `RefError`, `RefusedError`, `LoadError` or `GitError`.
    """
    if ref.type is PinType.WORKTREE:
        return _resolve_worktree(store, ref)
    if ref.type is PinType.REVISION:
        return resolve_at_commit(
            store, ref, resolve_revision(store.git, store.objects, ref.revision)
        )
    return resolve_release(store, ref, _choose_version(store, ref))


def resolve_at_commit(
    store: StoreReader, ref: Ref, commit: str, *, locked: bool = False
) -> Resolved:
    """Resolve a reference as of a commit."""
    file = read_committed(store, ref, commit, label=f"git:{commit[:12]}")
    return build_resolved(ref, file.artifact, commit=commit, blob=file.blob, locked=locked)


def resolve_release(
    store: StoreReader, ref: Ref, version: Version, *, locked: bool = False
) -> Resolved:
    """Resolve a reference at one released version.

    Raises `RefusedError` if its file is not the released one.
    """
    name = store.tags.grammar.format_name(ref.kind, ref.id, version)
    commit = _find_release_commit(store, ref, name)
    try:
        file = read_tagged(store, ref, commit, tag=name)
    except (LoadError, RefError) as error:
        raise RefusedError(
            f"the tag {name} is not valid: {error.message}",
            place=error.place,
            hint=_find_store_elsewhere(store) or _MOVED_HINT,
        ) from None
    if file.artifact.version != str(version):
        raise RefusedError(
            (
                f"the tag {name} is not valid: the file at its commit has version "
                f"{file.artifact.version or '(none)'}"
            ),
            place=file.artifact.document.locate(("version",)),
            hint=_MOVED_HINT,
        )
    _check_ledger(store, ref, name, file)
    return build_resolved(
        ref, file.artifact, tag=name, commit=commit, blob=file.blob, locked=locked
    )


def expect_releases(store: StoreReader, refs: Iterable[Ref]) -> None:
    """Announce which exact references will be resolved, in order, so that git reads ahead.

    It never fails.
    """
    exact = [(ref, ref.version) for ref in refs if ref.version]
    if len(exact) < _MANY_REFS:
        return
    format_name = store.tags.grammar.format_name
    store.prefetch.expect(
        (format_name(ref.kind, ref.id, version), ref.path) for ref, version in exact
    )
    store.ledgers.expect(ref.name for ref, _ in exact)


def find_locked_version(ref: Ref, entry: LockEntry) -> Version | None:
    """Return the version of a lock's entry; None if the reference can never mean that version."""
    version = find_version(entry.version)
    if version is None or str(version) != entry.version:
        return None
    return version if may_mean(ref, version) else None


def _find_recorded_version(store: StoreReader, ref: Ref) -> Version | None:
    """Return the highest version in HEAD's ledger that a reference can mean."""
    versions = (line.version for line in store.ledgers.read(ref.name).lines)
    return max((version for version in versions if may_mean(ref, version)), default=None)


def may_mean(ref: Ref, version: Version) -> bool:
    """Whether a reference, exact or floating, can mean a version."""
    return version == ref.version if ref.version else can_mean(ref, version)


def is_covered(ref: Ref, version: Version) -> bool:
    """Whether a version is among those that a reference names; without a pin it names all."""
    if ref.version is not None:
        return version == ref.version
    return ref.range is None or version in ref.range


def can_mean(ref: Ref, version: Version) -> bool:
    """Whether a floating reference can mean a version."""
    return version in ref.range if ref.range else not version.prerelease


def read_committed(store: StoreReader, ref: Ref, commit: str, *, label: str) -> CommittedArtifact:
    """Read the artifact of `ref` at a commit; in error places, `label` precedes the path."""
    path = store.moves.find_prefix(commit) + ref.path
    blob = find_file(store.objects, commit, path)
    if blob is None:
        raise RefError(
            f"there is no {path} at {commit[:12]}",
            hint=f"see what it contains: git show --stat {commit[:12]}",
        )
    data = store.objects.read(blob).data
    document = store.documents.read(data, f"{label}:{path}")
    return CommittedArtifact(make_artifact(ref, document), blob, hashlib.sha256(data).hexdigest())


def read_tagged(store: StoreReader, ref: Ref, commit: str, *, tag: str) -> CommittedArtifact:
    """Read the artifact of `ref` at a tag's commit, or take it if it was read ahead.

    Raises like `read_committed`.
    """
    file = store.prefetch.find(tag)
    if file is None or file.tag.commit != commit:
        return read_committed(store, ref, commit, label=tag)
    document = store.documents.read(file.data, f"{tag}:{file.path}")
    return CommittedArtifact(make_artifact(ref, document), file.blob, file.sha256)


def build_unknown_error(store: StoreReader, ref: Ref) -> RefError:
    """Return the error for an unknown id or version, hinting at versions or the nearest id.

    A version in HEAD's ledger is known: what this clone lacks is its tag.
    """
    recorded = _find_recorded_version(store, ref)
    if recorded:
        return _build_untagged_error(store, ref, recorded)
    releases = store.releases(ref.kind, ref.id)
    if releases:
        message = f"{ref.name} has no version {ref.version or ref.pin}"
        return _build_unreleased_error(store, ref, message, releases)
    return _build_unknown_id_error(store, ref)


def _resolve_worktree(store: StoreReader, ref: Ref) -> Resolved:
    """Read the file of an artifact.

    It is recorded as `<kind>/<id>@worktree`, whatever the pin was.
    """
    if store.root is None:
        raise RefError(
            "a bare repository has no working tree", hint=f"pin a release, or {ref.name}@git:HEAD"
        )
    if not os.path.lexists(store.root / ref.path):
        if releases := store.releases(ref.kind, ref.id):
            raise _build_unreleased_error(store, ref, f"there is no {ref.path}", releases)
        raise _build_unknown_id_error(store, ref)
    data = store.folders.read(store.root, ref.path, ARTIFACT_LIMIT)
    artifact = make_artifact(ref, store.documents.read(data, ref.path))
    blob = compute_object_id("blob", data, store.repository.hex_digits)
    return build_resolved(ref.with_pin("worktree"), artifact, blob=blob)


def _resolve_locked(store: StoreReader, ref: Ref, entry: LockEntry) -> Resolved:
    if ref.type is PinType.REVISION:
        resolved = resolve_at_commit(store, ref, entry.commit, locked=True)
    else:
        resolved = _resolve_locked_release(store, ref, entry)
    if resolved.blob != entry.blob:
        raise _build_lock_error(f"the content of {ref} changed since it was locked", entry, ref)
    if entry.rows != find_rows_blob(store, resolved.artifact, resolved.commit):
        raise _build_lock_error(f"the rows of {ref} changed since it was locked", entry, ref)
    return resolved


def _resolve_locked_release(store: StoreReader, ref: Ref, entry: LockEntry) -> Resolved:
    version = find_locked_version(ref, entry)
    if version is None:
        raise _build_lock_error(
            f"{ref} is locked at {entry.version or 'no version'}, which its pin does not allow",
            entry,
            ref,
        )
    if store.tags.find_oid(store.tags.grammar.format_name(ref.kind, ref.id, version)) is None:
        raise _build_lock_error(
            f"{ref} is locked at {version}, but there is no such tag", entry, ref
        )
    return resolve_release(store, ref, version, locked=True)


def _build_lock_error(message: str, entry: LockEntry, ref: Ref) -> RefusedError:
    return RefusedError(
        message, place=Place(LOCK_FILE, entry.line or None), hint=f"evalstore verify {ref.name}"
    )


def _choose_version(store: StoreReader, ref: Ref) -> Version:
    if ref.version is not None:
        return ref.version
    releases = store.releases(ref.kind, ref.id)
    if not releases:
        raise build_unknown_error(store, ref)
    versions = [release.version for release in releases if can_mean(ref, release.version)]
    recorded = _find_recorded_version(store, ref)
    if recorded and (not versions or recorded > max(versions)):
        raise _build_untagged_error(store, ref, recorded)
    if not versions:
        what = f"in the range {ref.pin}" if ref.range else "that is not a pre-release"
        raise _build_unreleased_error(store, ref, f"{ref.name} has no release {what}", releases)
    return max(versions)


def build_resolved(  # noqa: PLR0913  # what was read, each by its name
    ref: Ref,
    artifact: Artifact,
    blob: str,
    *,
    tag: str | None = None,
    commit: str | None = None,
    locked: bool = False,
) -> Resolved:
    """Return what a reference means, from what was read."""
    floating = ref.is_floating and not locked
    return Resolved(
        str(ref), ref.kind, ref.id, artifact.version, tag, commit, blob, floating, artifact, locked
    )


def _check_ledger(store: StoreReader, ref: Ref, tag: str, file: CommittedArtifact) -> None:
    # The ledger in HEAD is a second record of each release: it exposes a moved tag.
    line = store.ledgers.read(ref.name).by_version.get(file.artifact.version)
    if line is not None and line.sha256 != file.sha256:
        raise RefusedError(
            f"the tag {tag} is not valid: its file differs from the released one",
            place=Place(locate_ledger(ref.name), line.number),
            hint=f"{_MOVED_HINT}: evalstore verify {ref.name}",
        )


def _find_release_commit(store: StoreReader, ref: Ref, name: str) -> str:
    if prefetched := store.prefetch.find(name):
        return prefetched.tag.commit
    tag = store.tags.find(name)
    if tag is None:
        raise build_unknown_error(store, ref)
    return _find_tag_commit(store, tag)


def _find_tag_commit(store: StoreReader, tag: GitTag) -> str:
    flaw = tag.flaw
    # git's listing is not hashed: the tag object itself must name the same commit.
    if flaw is None and tag.target:
        content = read_tag(store.objects, tag.oid)
        if (content.target, content.type, content.name) != (
            tag.target,
            tag.target_type,
            tag.inner_name,
        ):
            flaw = "is listed with other content than it has"
    if flaw:
        raise RefusedError(f"the tag {tag.name} is not valid: it {flaw}", hint=_MOVED_HINT)
    return tag.commit


def _build_untagged_error(store: StoreReader, ref: Ref, version: Version) -> RefError:
    message = f"{ref.name}@{version} was released, but its tag is not in this clone"
    return RefError(message, hint=describe_missing_tag(store, ref.name, version))


def describe_missing_tag(store: StoreReader, name: str, version: Version) -> str:
    """Say how this clone gets the tag of a release that a ledger lists."""
    how = describe_missing_tags(store, [f"{store.tag_prefix}{name}@{version}"])
    return (
        f"{how}; otherwise see evalstore verify {name}" if how else f"see evalstore verify {name}"
    )


def describe_missing_tags(store: StoreReader, tags: Sequence[str] = ()) -> str:
    """Say how this clone gets tags of releases, and who made the first few.

    It is "" if nothing is known.
    """
    from evalstore.store.remote import RecordedRelease, describe_fetch

    releases = []
    for tag in tags[:ASKED_TAGS]:
        name, _, version = tag.removeprefix(store.tag_prefix).rpartition("@")
        line = store.ledgers.read(name).by_version.get(version)
        recorded = (line.sha256, line.is_signed) if line else ("", False)
        releases.append(RecordedRelease(tag, store.ledgers.locate(name), *recorded))

    def holds_file(release: RecordedRelease, commit: str) -> bool:
        ref = parse_ref(release.tag.removeprefix(store.tag_prefix))
        try:
            return read_committed(store, ref, commit, label=release.tag).sha256 == release.sha256
        except EvalstoreError:
            return False

    return describe_fetch(store.git, store.repository, releases, holds_file=holds_file)


def _build_unreleased_error(
    store: StoreReader, ref: Ref, message: str, releases: Sequence[Release] = ()
) -> RefError:
    """Return the error for a reference to no release.

    It is an `UnreleasedError` if the reference means the file on disk.
    """
    hints = [_describe_versions(releases)] if releases else []
    if store.root is None or not (store.root / ref.path).is_file():
        return RefError(message, hint=_add_clone_hint(store, "; ".join(hints)))
    try:
        text = _resolve_worktree(store, ref).version
    except EvalstoreError:  # what is wrong with the file is reported where it is read
        text = None
    version = find_version(text or "")
    if text is None or (is_covered(ref, version) if version else not (ref.version or ref.range)):
        hints.append(f"release it: evalstore bump {ref.name}")
        hints.append(
            "to use the file as it is, pin @worktree, or score with `worktree` (--worktree)"
        )
        return UnreleasedError(message, hint=_add_clone_hint(store, "; ".join(hints)))
    if version is None or version not in {release.version for release in releases}:
        hints.append(f"{ref.path} has {f'version {version}' if version else 'no version'}")
    return RefError(message, hint=_add_clone_hint(store, "; ".join(hints)))


def suggest_refs(store: StoreReader, text: str) -> str:
    """Return as a question what a wrong reference may mean: others with its id, or the nearest.

    It is empty if the store has nothing similar, and if the name is right: then its pin is wrong.
    """
    name, at, pin = text.partition("@")
    known = (*store.releases(), *store.working())
    names = dict.fromkeys(f"{one.kind}/{one.id}" for one in known)
    if name in names:
        return ""
    ids = {one.rpartition("/")[2] for one in names}
    id_ = name.rpartition("/")[2]
    meant = id_ if id_ in ids else find_nearest(id_, sorted(ids))
    found = [f"{one}{at}{pin}" for one in names if one.rpartition("/")[2] == meant]
    return f"did you mean {' or '.join(found)}?" if found else ""


def _build_unknown_id_error(store: StoreReader, ref: Ref) -> RefError:
    # One file is looked up: listing all of them for each unknown id would be quadratic.
    if store.root is not None and (store.root / ref.path).is_file():
        return _build_unreleased_error(store, ref, f"{ref.name} has no release yet")
    if elsewhere := _find_store_elsewhere(store):
        return RefError(f"there is no {ref.name} in this folder", hint=elsewhere)
    all_releases = store.releases()
    ids = {release.id for release in all_releases if release.kind == ref.kind}
    working = {working_ref.id for working_ref in store.working() if working_ref.kind == ref.kind}
    near = find_nearest(ref.id, sorted(ids | working))
    if near is None:
        return RefError(
            f"there is no {ref.name}",
            hint=_add_clone_hint(store, "list the artifacts: evalstore list"),
        )
    near_releases = [
        release for release in all_releases if (release.kind, release.id) == (ref.kind, near)
    ]
    known = _describe_versions(near_releases) if near_releases else "not released yet"
    return RefError(
        f"there is no {ref.name}",
        hint=_add_clone_hint(store, f"did you mean {ref.kind}/{near}? {known}"),
    )


def _find_store_elsewhere(store: StoreReader) -> str:
    """Say where in the repository there is a store; empty if this folder has artifacts."""
    return "" if store.has_working_file() else find_elsewhere(store)


def _describe_versions(releases: Sequence[Release]) -> str:
    newest = [str(release.version) for release in reversed(releases)]
    more = f" and {len(newest) - _SHOWN_VERSIONS} older" if len(newest) > _SHOWN_VERSIONS else ""
    return f"released: {', '.join(newest[:_SHOWN_VERSIONS])}{more}"


def _add_clone_hint(store: StoreReader, hint: str) -> str:
    if not store.repository.shallow and store.releases():
        return hint
    lacks = "is shallow and may lack tags" if store.repository.shallow else "has no release tags"
    how = describe_missing_tags(store)
    return f"{hint}; this clone {lacks}: {how}" if how else hint
