"""One artifact of a bump: at which version it is released, with which pins moved; reads only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from evalstore.documents import encode_document, replace_scalar
from evalstore.errors import RefusedError
from evalstore.model import Artifact
from evalstore.release.pins import PinMoves, move_artifact_pins, move_row_pin
from evalstore.release.versions import choose_prerelease, choose_version
from evalstore.status.acceptances import ChangePolicy
from evalstore.status.comparison import Load, compute_required_bump, find_base_release
from evalstore.status.validity import check_shape, require_version
from evalstore.store import ArtifactStore, Release, Resolved
from evalstore.versions import Bump, Version


class BumpOptions(NamedTuple):
    """What a bump is asked for: at least this bump, as a pre-release of this label, with the dependents."""

    level: Bump | None = None
    pre: str | None = None
    dependents: bool = False


@dataclass(frozen=True, slots=True)
class BumpContext:
    """Where steps are decided: the store, its releases by name, how references load, what is wished, who rules."""

    store: ArtifactStore
    releases: Mapping[str, Sequence[Release]]
    load: Load
    options: BumpOptions
    policy: ChangePolicy

    def list_releases(self, name: str) -> Sequence[Release]:
        """Return the releases of an artifact, ascending."""
        return self.releases.get(name, ())


@dataclass(frozen=True, slots=True)
class ReleaseStep:
    """One artifact to release: as it stands in the working tree, and as it will be released."""

    found: Resolved
    artifact: Artifact
    version: Version
    previous: str | None
    bump: Bump
    moves: PinMoves

    @property
    def name(self) -> str:
        """`<kind>/<id>`."""
        return self.found.name

    @property
    def ref(self) -> str:
        """`<kind>/<id>@<version>`."""
        return f"{self.name}@{self.version}"

    @property
    def path(self) -> str:
        """The artifact's file, relative to the store."""
        return self.found.path

    @property
    def content(self) -> bytes:
        """The bytes of the file as it will be released."""
        return encode_document(self.artifact.document)

    @property
    def edited(self) -> bool:
        """Whether the file changes."""
        return self.artifact is not self.found.artifact

    @property
    def words(self) -> str:
        """The step in one line, with what it followed."""
        step = f"{self.name} {self.previous} -> {self.version} ({self.bump})"
        followed = ", ".join(sorted(set(self.moves.values())))
        return (step if self.previous else f"{self.ref} (first release)") + (f", with {followed}" if followed else "")


def plan_step(context: BumpContext, found: Resolved, moves: PinMoves, *, named: bool) -> ReleaseStep | None:
    """Return the step of a working file once `moves` are made in it; None when that is as it was released."""
    check_shape(found)
    options, working = context.options, require_version(found)
    asked = options.level if named else None
    if not moves and not (asked and working.prerelease) and is_released_prerelease(context, found, working):
        return None
    moved = replace(found, artifact=move_artifact_pins(found.artifact, moves))
    last = find_base_release(context.store, context.list_releases(found.name), working)
    # A pre-release in the file is taken as it is written, unless the version is asked for in another way.
    written = replace(working, prerelease="") if options.pre or asked or not named else working
    version, bump = written, Bump.NONE
    if last is not None:
        rows = (move_row_pin(row, moves) for row in context.store.read_rows(found)) if moves else None
        required = compute_required_bump(
            context.store, last, moved, context.load, rows=rows, policy=context.policy
        )
        if required is Bump.NONE and working <= last.version:
            _check_not_lower(found, working, last.version)
            return None
        version, bump = choose_version(last.version, written, required, asked if required else None)
    if options.pre:
        version = choose_prerelease(
            version, options.pre, [one.version for one in context.list_releases(found.name)], working
        )
    return ReleaseStep(
        found, _set_version(moved.artifact, version), version, str(last.version) if last else None, bump, moves
    )


def check_no_other_changes(context: BumpContext, found: Resolved, moves: PinMoves) -> None:
    """Refuse to move the pins of a file that nobody named and that has other changes, which would be released too."""
    working = require_version(found)
    if is_released_prerelease(context, found, working):
        return
    last = find_base_release(context.store, context.list_releases(found.name), working)
    if last is None or working.prerelease or compute_required_bump(context.store, last, found, context.load):
        raise RefusedError(
            f"{found.name} pins {' and '.join(sorted(moves))}, and has changes of its own that are not released",
            place=found.artifact.document.locate(),
            hint=f"name {found.name} too, and they are released with it; or leave --dependents out",
        )


def is_released_prerelease(context: BumpContext, found: Resolved, working: Version) -> bool:
    """Whether a working file is the pre-release that its version says."""
    same = [one for one in context.list_releases(found.name) if one.version == working and working.prerelease]
    return bool(same) and not compute_required_bump(context.store, same[0], found, context.load)


def _check_not_lower(found: Resolved, working: Version, released: Version) -> None:
    if working < released:
        raise RefusedError(
            f"the version {working} is below the released {released}, and nothing else changed",
            place=found.artifact.document.locate(("version",)),
            hint=f"write {released} there again",
        )


def _set_version(artifact: Artifact, version: Version) -> Artifact:
    if artifact.version == str(version):
        return artifact
    edited = replace_scalar(artifact.document, ("version",), str(version))
    return replace(artifact, version=str(version), document=edited)
