"""What a bump would release: which files, at which versions, and why not; reads only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from evalstore.documents import encode, replace_scalar
from evalstore.errors import RefError, RefusedError
from evalstore.model import Artifact, Kind, PinType, Ref, parse_ref, pins_of
from evalstore.release.policy import choose_version
from evalstore.release.references import check_pins, loader, references
from evalstore.release.standing import Load, base_release, differing, last_release, releases_by_name, required_bump
from evalstore.release.validity import check_shape, check_tag_name, version_of
from evalstore.store import Release, Resolved, Store
from evalstore.text import nearest
from evalstore.versions import Bump, Version

_ORDER = (Kind.JUDGE, Kind.RUBRIC, Kind.DATASET)  # what is pinned comes before what pins it


@dataclass(frozen=True, slots=True)
class Step:
    """One artifact to release: as it stands in the working tree, and as it will be released."""

    found: Resolved
    artifact: Artifact
    version: Version
    previous: str | None
    bump: Bump

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
        return f"{self.found.kind.folder}/{self.found.id}.yaml"

    @property
    def content(self) -> bytes:
        """The bytes of the file as it will be released."""
        return encode(self.artifact.document)

    @property
    def edited(self) -> bool:
        """Whether the version in the file changes."""
        return self.artifact is not self.found.artifact

    @property
    def words(self) -> str:
        """The step in one line."""
        return (
            f"{self.name} {self.previous} -> {self.version} ({self.bump})"
            if self.previous
            else f"{self.ref} (first release)"
        )


@dataclass(frozen=True, slots=True)
class Plan:
    """The steps of a bump, and the names of what stays as it was released."""

    steps: tuple[Step, ...]
    unchanged: tuple[str, ...]


def choose(store: Store, refs: Sequence[str], *, all_: bool) -> list[Ref]:
    """Return the working files that a bump is asked for; raises `RefError` for a name that is not among them."""
    working = {ref.name: ref for ref in store.working()}
    return list(working.values()) if all_ else [_chosen(working, name) for name in dict.fromkeys(refs)]


def make_plan(store: Store, refs: Sequence[Ref], level: Bump | None) -> Plan:
    """Decide every version; raises `RefusedError`, `LoadError` or `RefError` for the first that cannot be released."""
    releases = releases_by_name(store)
    last = {name: release for name, all_ in releases.items() if (release := last_release(all_))}
    steps: dict[str, Step] = {}
    drafts: dict[str, Artifact] = {}
    load = loader(store, drafts)
    for found in _ordered(store.resolve(ref) for ref in differing(store, refs, last)):
        step = _step(store, found, releases.get(found.name, ()), level, load)
        if step is not None:
            steps[step.name], drafts[step.ref] = step, step.artifact
    _check_steps(store, steps, releases)
    ordered = tuple(steps[ref.name] for ref in refs if ref.name in steps)
    return Plan(ordered, tuple(ref.name for ref in refs if ref.name not in steps))


def _chosen(working: Mapping[str, Ref], text: str) -> Ref:
    ref = parse_ref(text)
    if ref.type not in {PinType.NONE, PinType.WORKTREE}:
        raise RefError(f"{ref} has a pin, but a bump releases the working file", hint=f"evalstore bump {ref.name}")
    if ref.name not in working:
        guess = nearest(ref.name, working)
        hint = f"did you mean {guess}?" if guess else "evalstore list shows what there is"
        raise RefError(f"there is no {ref.name} in the working tree", hint=hint)
    return working[ref.name]


def _ordered(found: Iterable[Resolved]) -> list[Resolved]:
    def place(resolved: Resolved) -> tuple[int, bool]:
        composite = any(pointer[-1] == "rubric_ref" for pointer, _ in pins_of(resolved.kind, resolved.artifact.value))
        return _ORDER.index(resolved.kind), composite

    return sorted(found, key=place)


def _step(store: Store, found: Resolved, releases: Sequence[Release], level: Bump | None, load: Load) -> Step | None:
    check_shape(found)
    working = version_of(found)
    last = base_release(store, releases, working)
    prepared = next((one for one in releases if one.version == working and working.prerelease), None)
    if prepared and store.resolve(f"{found.name}@{working}").blob == found.blob:
        return None
    if last is None:
        return Step(found, found.artifact, working, None, Bump.NONE)
    required = required_bump(store, last, found, load)
    if required is Bump.NONE and working <= last.version:
        _check_not_lower(found, working, last.version)
        return None
    version, bump = choose_version(last.version, working, required, level if required else None)
    return Step(found, _at(found.artifact, version), version, str(last.version), bump)


def _check_not_lower(found: Resolved, working: Version, released: Version) -> None:
    if working < released:
        raise RefusedError(
            f"the version {working} is below the released {released}, and nothing else changed",
            place=found.artifact.document.place(("version",)),
            hint=f"write {released} there again",
        )


def _at(artifact: Artifact, version: Version) -> Artifact:
    if artifact.version == str(version):
        return artifact
    edited = replace_scalar(artifact.document, ("version",), str(version))
    return replace(artifact, version=str(version), document=edited)


def _check_steps(store: Store, steps: Mapping[str, Step], releases: Mapping[str, Sequence[Release]]) -> None:
    known = {name: [release.version for release in all_] for name, all_ in releases.items()}
    for name, step in steps.items():
        check_tag_name(f"{store.tag_prefix}{step.ref}")
        _check_free(step, known.get(name, []))
    planned = {name: [*known.get(name, ()), step.version] for name, step in steps.items()}
    for step in steps.values():
        check_pins(references(store, step.found), known | planned)


def _check_free(step: Step, known: Iterable[Version]) -> None:
    for version in known:
        if version == step.version:
            raise RefusedError(
                f"{step.ref} is released already, with other content",
                place=step.artifact.document.place(("version",)),
                hint="write the next version there, or say --level",
            )
        if replace(version, build="") == replace(step.version, build=""):
            raise RefusedError(
                f"{step.ref} has the same precedence as the released {version}",
                place=step.artifact.document.place(("version",)),
                hint="versions that differ only after the + cannot be told apart by a range; choose a higher one",
            )
