"""What depends on an artifact: follows references backwards, breadth first, nearest first."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from evalstore.errors import EvalstoreError, Place, RefError, RefusedError
from evalstore.model import Kind, PinType, Ref, parse_ref
from evalstore.release.dependencies.reference_graph import (
    ReferenceGraph,
    build_full_graph,
    build_working_graph,
)
from evalstore.release.dependencies.references import ArtifactReference
from evalstore.store import ArtifactStore, Release
from evalstore.store.resolve import build_unknown_error, can_mean
from evalstore.store.tags import find_last_release
from evalstore.versions import Bump, bump_version, parse_version

_NEXT_BUMPS = (Bump.PATCH, Bump.MINOR, Bump.MAJOR)
_WORKTREE = "worktree"
_WORKING_PINS = frozenset({PinType.NONE, PinType.WORKTREE})

# A node of the walk: an artifact's name, and its version: "" for any, else one version, or
# `worktree`.
_Node = tuple[str, str]


@dataclass(frozen=True, slots=True)
class ReferencePin:
    """One reference from `user` to `target`, as written, and its first place.

    Both are `<kind>/<id>`. `release` is the user's version, None for a working file. `means` is the
    version that the reference resolves to today, None if there is none. `follows` are the next
    bumps of the target that it would move to by itself; `locked` says that evalstore.lock keeps it
    from that. `scores` is False if it only records what a judge was measured on.
    """

    user: str
    target: str
    ref: Ref
    place: Place
    places: int
    questions: int
    release: str | None = None
    means: str | None = None
    follows: tuple[Bump, ...] = ()
    locked: bool = False
    scores: bool = True


@dataclass(frozen=True, slots=True)
class Dependent:
    """One artifact that depends on the target: its working version and its releases.

    `working` is None if there is no file. `releases` ascend. `distance` counts references on the
    shortest path, `through` names the next artifacts on it. `questions` of its `asked` questions in
    total are graded by what leads to the target.
    """

    name: str
    kind: Kind
    distance: int
    working: str | None
    releases: tuple[str, ...] = ()
    through: tuple[str, ...] = ()
    questions: int = 0
    total_questions: int = 0


@dataclass(frozen=True, slots=True)
class Impact:
    """What depends on an artifact, or on one `version` of it.

    Without a version (None) it is what depends on any, according to the working files. `pins` are
    the references on the way, nearest first; `notes` say what could not be read.
    """

    name: str
    version: str | None
    latest: str | None
    dependents: tuple[Dependent, ...]
    pins: tuple[ReferencePin, ...]
    notes: tuple[str, ...] = ()

    def list_of_kind(self, kind: Kind) -> tuple[Dependent, ...]:
        """Return the dependents of one kind."""
        return tuple(dependent for dependent in self.dependents if dependent.kind is kind)

    @property
    def questions(self) -> int:
        """How many questions it grades, directly or not."""
        return sum(dependent.questions for dependent in self.dependents)


def find_impact(store: ArtifactStore, ref: str) -> Impact:
    """Return what depends on an artifact.

    Without a pin: whatever working files refer to it, in any version. With one: the working files
    and releases that mean exactly the version that the pin means today. Raises `RefError` for what
    does not exist.
    """
    target_ref = parse_ref(ref)
    if target_ref.type is PinType.REVISION:
        raise RefError(
            f"{ref} is not a release, so nothing can refer to it",
            hint=f"evalstore impact {target_ref.name}",
        )
    version = None if target_ref.type in _WORKING_PINS else store.resolve(target_ref).version
    releases = store.group_releases()
    _check_known(store, target_ref, releases)
    walk = _ImpactWalk(
        store, build_working_graph(store) if version is None else build_full_graph(store), releases
    )
    walk.follow_references((target_ref.name, version or ""))
    latest = find_last_release(releases.get(target_ref.name, ()))
    return Impact(
        name=target_ref.name,
        version=version,
        latest=str(latest.version) if latest else None,
        dependents=tuple(walk.list_dependents()),
        pins=tuple(walk.pins),
        notes=tuple(_describe_unread(key, error) for key, error in walk.graph.unread.items()),
    )


@dataclass(slots=True)
class _ImpactWalk:
    """The walk from a target to everything that refers to it.

    `distances` are by node, in the order of discovery.
    """

    store: ArtifactStore
    graph: ReferenceGraph
    releases: Mapping[str, Sequence[Release]]
    pins: list[ReferencePin] = field(default_factory=list)
    distances: dict[_Node, int] = field(default_factory=dict)

    def follow_references(self, start: _Node) -> None:
        """Find every artifact that leads to `start`."""
        self.distances[start] = 0
        waiting = deque([start])
        while waiting:
            target = waiting.popleft()
            for reference in self.graph.find_references_to(target[0]):
                # What a judge was measured on is listed for the target itself but never followed:
                # no score depends on it.
                if self._matches_target(reference.ref, target) and (
                    reference.scores or target == start
                ):
                    self.pins.append(self._make_pin(reference))
                    waiting += self._step_to_user(reference, target)

    def list_dependents(self) -> Iterator[Dependent]:
        """Yield the artifacts found, nearest first, then by name."""
        pins_by_user: defaultdict[str, list[ReferencePin]] = defaultdict(list)
        start = next(iter(self.distances))[0]
        for pin in self.pins:
            if pin.user != start:  # a cycle, which validation reports
                pins_by_user[pin.user].append(pin)
        # An artifact is found once for each of its releases; its distance is the shortest path to
        # any of them.
        nearest: dict[str, int] = {}
        for (name, _), distance in self.distances.items():
            nearest.setdefault(name, distance)
        for name in sorted(pins_by_user, key=lambda name: (nearest.get(name, 1), name)):
            yield self._make_dependent(name, pins_by_user[name], nearest.get(name, 1))

    def _step_to_user(self, reference: ArtifactReference, target: _Node) -> Iterator[_Node]:
        """Yield the node of a reference's owner, the first time.

        Versions matter only if one was requested.
        """
        node = reference.name, (reference.user.partition("@")[2] if target[1] else "")
        if reference.scores and node not in self.distances:
            self.distances[node] = self.distances[target] + 1
            yield node

    def _matches_target(self, ref: Ref, target: _Node) -> bool:
        wanted = target[1]
        if wanted == _WORKTREE:
            return ref.type is PinType.WORKTREE
        return not wanted or self._find_meaning(ref) == wanted

    def _find_meaning(self, ref: Ref) -> str | None:
        """Return the version that a reference means today; None if it means no release."""
        if ref.version is not None:
            tags = self.store.tags
            known = tags.find(tags.grammar.format_name(ref.kind, ref.id, ref.version))
            return str(ref.version) if known else None
        if not ref.is_floating:
            return None
        if pin := self.store.lock.refs.get(str(ref)):
            return pin.version
        for release in reversed(self.releases.get(ref.name, ())):
            if can_mean(ref, release.version):
                return str(release.version)
        return None

    def _make_pin(self, reference: ArtifactReference) -> ReferencePin:
        release = reference.user.partition("@")[2]
        locked = str(reference.ref) in self.store.lock.refs
        return ReferencePin(
            user=reference.name,
            target=reference.ref.name,
            ref=reference.ref,
            place=reference.place,
            places=reference.places,
            questions=reference.questions,
            release=None if release == _WORKTREE else release,
            means=self._find_meaning(reference.ref),
            follows=()
            if locked or not reference.ref.is_floating
            else tuple(self._list_followed_bumps(reference.ref)),
            locked=locked,
            scores=reference.scores,
        )

    def _list_followed_bumps(self, ref: Ref) -> Iterator[Bump]:
        last = find_last_release(self.releases.get(ref.name, ()))
        return (
            bump for bump in _NEXT_BUMPS if last and can_mean(ref, bump_version(last.version, bump))
        )

    def _make_dependent(self, name: str, pins: Sequence[ReferencePin], distance: int) -> Dependent:
        # Counts are those of the working file; if only releases refer, those of the newest of them.
        versions = sorted({pin.release for pin in pins if pin.release}, key=parse_version)
        working = any(pin.release is None for pin in pins)
        newest = None if working else versions[-1]
        references = self.graph.read_references(f"{name}@{newest or _WORKTREE}")
        return Dependent(
            name=name,
            kind=parse_ref(name).kind,
            distance=distance,
            working=references.version if working else None,
            releases=tuple(versions),
            through=tuple(dict.fromkeys(pin.target for pin in pins)),
            questions=sum(pin.questions for pin in pins if pin.release == newest),
            total_questions=references.questions,
        )


def _check_known(
    store: ArtifactStore, target_ref: Ref, releases: Mapping[str, Sequence[Release]]
) -> None:
    if store.root is None and target_ref.type in _WORKING_PINS:
        raise RefusedError(
            "a bare repository has no working files to look through",
            hint=f"name a release: {target_ref.name}@1.0.0",
        )
    if target_ref.name not in releases and target_ref.name not in {
        ref.name for ref in store.working()
    }:
        raise build_unknown_error(store, target_ref)


def _describe_unread(key: str, error: EvalstoreError) -> str:
    return f"{key} cannot be read, so its references are unknown: {error}"
