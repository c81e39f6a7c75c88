"""Finds the artifacts of a run again in the store: by reference, proved by digest, with the releases in between."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from evalstore.audits.values import Origin
from evalstore.errors import EvalstoreError, RefError, RefusedError
from evalstore.model import MALFORMED_ERRORS, Kind, PinType, parse_ref, read_rubric
from evalstore.runs import UsedArtifact
from evalstore.store import ArtifactStore, Release, Resolved

_DIGEST_LENGTH = 12


@dataclass(frozen=True, slots=True)
class ArtifactVersion:
    """One version of an artifact with the content that a run recorded, and the release that holds it, if any."""

    resolved: Resolved
    release: Release | None

    @property
    def label(self) -> str:
        """The version number, or the whole pin where no release holds it."""
        return str(self.release.version) if self.release else self.resolved.ref.partition("@")[2]

    @property
    def commit(self) -> str | None:
        """The commit that holds this version."""
        return self.release.commit if self.release else self.resolved.commit


@dataclass(frozen=True, slots=True)
class VersionPath:
    """The versions from one content of an artifact to another, both included, and the origin of each step."""

    versions: tuple[ArtifactVersion, ...]
    origins: tuple[Origin, ...]


@dataclass(slots=True)
class VersionFinder:
    """Finds the artifacts that runs were graded with in one store; `notes` lists what was found elsewhere."""

    store: ArtifactStore
    notes: list[str] = field(default_factory=list)

    def locate_pin(self, pinned: UsedArtifact) -> ArtifactVersion:
        """Return the artifact with exactly the recorded content; raises `RefusedError` where the store has none."""
        reasons: list[EvalstoreError] = []
        for ref in self._list_candidates(pinned):
            try:
                resolved = self.store.resolve(ref)
            except EvalstoreError as error:
                reasons.append(error)
                continue
            # The digest is the proof: a tag may have moved, and a working file may have been released.
            if resolved.digest == pinned.digest:
                self._note_move(pinned, ref)
                return ArtifactVersion(resolved, self._find_release(resolved))
        raise _make_missing_error(pinned, reasons)

    def find_path(self, old: ArtifactVersion, new: ArtifactVersion) -> VersionPath:
        """Return the released versions from `old` to `new`, in that order, and the origin of each step."""
        versions = (old, *self._find_between(old, new), new)
        return VersionPath(versions, tuple(self._find_origin(before, after) for before, after in pairwise(versions)))

    def _list_candidates(self, pinned: UsedArtifact) -> Iterator[str]:
        ref = parse_ref(pinned.ref)
        releases = (f"{ref.name}@{release.version}" for release in reversed(self.store.releases(ref.kind, ref.id)))
        # What is recorded of a floating or working reference is most likely in a later release, so look there first.
        if ref.type is not PinType.EXACT:
            yield from releases
            yield pinned.ref
            return
        yield pinned.ref
        if pinned.commit:
            yield f"{ref.name}@git:{pinned.commit}"
        yield from releases

    def _note_move(self, pinned: UsedArtifact, found: str) -> None:
        if found == pinned.ref:
            return
        what = "now holds other content than the run recorded"
        if parse_ref(pinned.ref).type is PinType.WORKTREE:
            what = "was a file on disk"
        self.notes.append(f"{pinned.ref} {what}; the same content was found as {found}")

    def _find_release(self, resolved: Resolved) -> Release | None:
        releases = self.store.releases(resolved.kind, resolved.id)
        return next((release for release in releases if release.tag == resolved.tag), None)

    def _find_between(self, old: ArtifactVersion, new: ArtifactVersion) -> Iterator[ArtifactVersion]:
        if not (old.release and new.release) or old.resolved.name != new.resolved.name:
            return
        # Versions are walked by number; going back walks them in reverse.
        low, high = sorted((old.release.version, new.release.version))
        releases = self.store.releases(old.release.kind, old.release.id)
        inside = [release for release in releases if low < release.version < high]
        for release in inside if low == old.release.version else reversed(inside):
            try:
                resolved = self.store.resolve(f"{release.name}@{release.version}")
                _check_readable(resolved)
            except (EvalstoreError, *MALFORMED_ERRORS) as error:
                self.notes.append(f"{release.tag} was passed over, because it cannot be read: {error}")
            else:
                yield ArtifactVersion(resolved, release)

    def _find_origin(self, old: ArtifactVersion, new: ArtifactVersion) -> Origin:
        # A step back from 2.0.0 to 1.0.0 undoes the commit of 2.0.0.
        back = old.release and new.release and old.release.version > new.release.version
        oid = (old if back else new).commit
        names = (new.resolved.name, old.label, new.label)
        if old.resolved.name != new.resolved.name:
            names = (new.resolved.name, old.resolved.ref, new.resolved.ref)
        if oid is None:
            return Origin(*names)
        commit = self.store.commit(oid)
        return Origin(*names, commit.oid, commit.author, commit.date)


def _check_readable(resolved: Resolved) -> None:
    """Raise what a broken rubric raises: a version that cannot grade is no step of the path."""
    if resolved.kind is Kind.RUBRIC:
        read_rubric(resolved.artifact.value)


def _make_missing_error(pinned: UsedArtifact, reasons: list[EvalstoreError]) -> RefusedError:
    ref = parse_ref(pinned.ref)
    digest = pinned.digest[:_DIGEST_LENGTH]
    if reasons and isinstance(reasons[0], RefError) and ref.type is PinType.EXACT:
        message = f"the run was graded with {pinned.ref}, and {reasons[0].message}"
    elif ref.type is PinType.EXACT:
        message = f"{pinned.ref}: the tag now holds other content than the run recorded (digest {digest})"
    else:
        message = f"no release and no file holds {pinned.ref} as the run used it (digest {digest})"
    what = "outputs" if ref.kind is Kind.DATASET else "outputs with a released version"
    return RefusedError(message, hint=f"bring back the file with that digest, or score the {what} again")
