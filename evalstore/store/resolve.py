"""A reference to the one file it means: pins by exact tag name, ranges among the releases, nothing guessed."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from evalstore.errors import LoadError, Place, RefError, RefusedError
from evalstore.files import read_below
from evalstore.model import Artifact, Kind, PinType, Ref
from evalstore.model.refs import Named
from evalstore.store.artifacts import ARTIFACT_LIMIT, read_artifact
from evalstore.store.batch import compute_blob_id
from evalstore.store.ledger import ledger_path
from evalstore.store.objects import find_file, read_tag
from evalstore.store.revisions import find_commit
from evalstore.store.tags import Release, TagRef
from evalstore.text import nearest
from evalstore.versions import Version

if TYPE_CHECKING:
    from evalstore.store.store import ArtifactStore

_SHOWN = 12


@dataclass(frozen=True, slots=True)
class Resolved(Named):
    """What a reference means: the artifact, and the tag, commit and blob that it was read from where there are any.

    `floating`: a later release can change it; `locked`: evalstore.lock holds it.
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
    """What several references mean, in the order asked."""

    resolved: tuple[Resolved, ...]


def resolve_unlocked(store: ArtifactStore, ref: Ref) -> Resolved:
    """Resolve one reference, whatever a lock holds; raises `RefError`, `RefusedError`, `LoadError` or `GitError`."""
    if ref.type is PinType.WORKTREE:
        return _on_disk(store, ref)
    if ref.type is PinType.REVISION:
        return resolve_at_commit(store, ref, find_commit(store.git, store.objects, ref.revision))
    return resolve_release(store, ref, _version(store, ref))


def resolve_at_commit(store: ArtifactStore, ref: Ref, commit: str) -> Resolved:
    """Resolve a reference as of a commit."""
    file = read_committed(store, ref, commit, label=f"git:{commit[:12]}")
    return _resolved(ref, file.artifact, commit=commit, blob=file.blob)


def resolve_release(store: ArtifactStore, ref: Ref, version: Version) -> Resolved:
    """Resolve a reference at one released version; refused when its file is not the one that was released."""
    name = store.tags.grammar.format_name(ref.kind, ref.id, version)
    tag = store.tags.find(name)
    if tag is None:
        raise build_unknown_error(store, ref)
    commit = _commit_of(store, tag)
    try:
        file = read_committed(store, ref, commit, label=name)
    except (LoadError, RefError) as error:
        raise RefusedError(f"the tag {name} is not valid: {error.message}", place=error.place, hint=_MOVED) from None
    if file.artifact.version != str(version):
        raise RefusedError(
            f"the tag {name} is not valid: the file at its commit has version {file.artifact.version or '(none)'}",
            place=file.artifact.document.place(("version",)),
            hint=_MOVED,
        )
    _check_ledger(store, ref, name, file)
    return _resolved(ref, file.artifact, tag=name, commit=commit, blob=file.blob)


class CommittedArtifact(NamedTuple):
    """An artifact's file as git has it."""

    artifact: Artifact
    blob: str
    sha256: str


def read_committed(store: ArtifactStore, ref: Ref, commit: str, *, label: str) -> CommittedArtifact:
    """Read the file that should hold `ref` at a commit; `label` is what places within it begin with."""
    path = store.prefix + ref.path
    blob = find_file(store.objects, commit, path)
    if blob is None:
        raise RefError(
            f"there is no {path} at {commit[:12]}", hint=f"git show --stat {commit[:12]} lists what it holds"
        )
    data = store.objects.read(blob).data
    return CommittedArtifact(read_artifact(ref, data, f"{label}:{path}"), blob, hashlib.sha256(data).hexdigest())


def _on_disk(store: ArtifactStore, ref: Ref) -> Resolved:
    if store.root is None:
        raise RefError("a bare repository has no working tree", hint=f"pin a release, or {ref.name}@git:HEAD")
    data = read_below(store.root, ref.path, ARTIFACT_LIMIT)
    return _resolved(ref, read_artifact(ref, data, ref.path), blob=compute_blob_id(data, store.repository.hex_digits))


def _check_ledger(store: ArtifactStore, ref: Ref, tag: str, file: CommittedArtifact) -> None:
    line = store.ledgers.read(ref.name).by_version.get(file.artifact.version)
    if line is not None and line.sha256 != file.sha256:
        raise RefusedError(
            f"the tag {tag} is not valid: its file is not the one that was released",
            place=Place(ledger_path(ref.name), line.number),
            hint=f"{_MOVED}: evalstore verify {ref.name}",
        )


_MOVED = "a tag names the commit that set this version; somebody moved it or made it by hand"


def _commit_of(store: ArtifactStore, tag: TagRef) -> str:
    """Return the commit of a tag, after the tag object itself, hashed, has said the same as git's listing."""
    flaw = tag.flaw
    if flaw is None and tag.target:
        said = read_tag(store.objects, tag.oid)
        if (said.target, said.type, said.name) != (tag.target, tag.target_type, tag.inner_name):
            flaw = "is listed as something else than it holds"
    if flaw:
        raise RefusedError(f"the tag {tag.name} is not valid: it {flaw}", hint=_MOVED)
    return tag.commit


def _version(store: ArtifactStore, ref: Ref) -> Version:
    if ref.version is not None:
        return ref.version
    releases = store.list_releases(ref.kind, ref.id)
    if not releases:
        raise build_unknown_error(store, ref)
    wanted = [release.version for release in releases if can_mean(ref, release.version)]
    if not wanted:
        what = f"in the range {ref.pin}" if ref.range else "that is no pre-release"
        raise RefError(f"{ref.name} has no release {what}", hint=_versions(releases))
    return max(wanted)


def can_mean(ref: Ref, version: Version) -> bool:
    """Whether a floating reference can mean a version."""
    return version in ref.range if ref.range else not version.prerelease


def _resolved(
    ref: Ref, artifact: Artifact, *, tag: str | None = None, commit: str | None = None, blob: str
) -> Resolved:
    return Resolved(str(ref), ref.kind, ref.id, artifact.version, tag, commit, blob, ref.floating, artifact)


def build_unknown_error(store: ArtifactStore, ref: Ref) -> RefError:
    """Return the error for an id or version that is not there: the versions there are, and the nearest id."""
    releases = store.list_releases(ref.kind, ref.id)
    if releases:
        message = f"{ref.name} has no version {ref.version or ref.pin}"
        return RefError(message, hint=_and_shallow(store, _versions(releases)))
    return _unknown_id(store, ref)


def _unknown_id(store: ArtifactStore, ref: Ref) -> RefError:
    if store.root is not None and (store.root / ref.path).is_file():  # listing all files for each would be quadratic
        hint = f"evalstore bump {ref.name} releases it; @worktree reads the file as it is"
        return RefError(f"{ref.name} has no release yet", hint=_and_shallow(store, hint))
    everything = store.list_releases()
    ids = {release.id for release in everything if release.kind == ref.kind}
    working = {found.id for found in store.list_working_refs() if found.kind == ref.kind}
    near = nearest(ref.id, sorted(ids | working))
    if near is None:
        return RefError(f"there is no {ref.name}", hint=_and_shallow(store, "evalstore list shows what there is"))
    of_near = [release for release in everything if (release.kind, release.id) == (ref.kind, near)]
    known = _versions(of_near) if of_near else "not released yet"
    return RefError(f"there is no {ref.name}", hint=_and_shallow(store, f"did you mean {ref.kind}/{near}? {known}"))


def _versions(releases: Sequence[Release]) -> str:
    newest = [str(release.version) for release in reversed(releases)]
    more = f" and {len(newest) - _SHOWN} older" if len(newest) > _SHOWN else ""
    return f"released: {', '.join(newest[:_SHOWN])}{more}"


def _and_shallow(store: ArtifactStore, hint: str) -> str:
    if store.repository.shallow:
        return f"{hint}; this clone is shallow and may lack tags: git fetch --unshallow --tags"
    return hint if store.list_releases() else f"{hint}; no release is tagged in this clone: git fetch --tags"
