"""What depends on an artifact: follows references backwards, the nearest first; the room's one door."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from evalstore.errors import EvalstoreError, Place, RefError, RefusedError
from evalstore.model import Kind, PinType, Ref, parse_ref
from evalstore.references.graph import ReferenceGraph, build_full_graph, build_working_graph
from evalstore.references.reading import ArtifactReference
from evalstore.store import ArtifactStore, Release
from evalstore.store.releases import find_last_release, group_releases
from evalstore.store.resolve import build_unknown_error, can_mean
from evalstore.versions import Bump, Version, bump_version, find_version


@dataclass(frozen=True, slots=True)
class ReferencePin:
    """One reference between two artifacts: who has it, what it names as it is written, and where it stands first.

    `user` and `target` are `<kind>/<id>`; `release` is the version of who has it, None for a working file. `means` is
    the version that it has today, None where there is none; `follows` are the next releases of its target that it would
    move to by itself, and `locked` says that evalstore.lock keeps it from that.
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
    """One artifact that is reached: its working file's version (None: only releases are), and its releases, ascending.

    `distance` counts references on the shortest way; `questions` of `asked` are graded by what is reached.
    """

    name: str
    kind: Kind
    distance: int
    working: str | None
    releases: tuple[str, ...] = ()
    through: tuple[str, ...] = ()
    questions: int = 0
    asked: int = 0


@dataclass(frozen=True, slots=True)
class Impact:
    """What depends on an artifact; `version` None: whatever version of it, as the working files say.

    `pins` are the references between the artifacts that are reached, the nearest first; `notes` say what is not known.
    """

    name: str
    version: str | None
    latest: str | None
    dependents: tuple[Dependent, ...]
    pins: tuple[ReferencePin, ...]
    notes: tuple[str, ...] = ()

    def list_of_kind(self, kind: Kind) -> tuple[Dependent, ...]:
        """Return the dependents of one kind."""
        return tuple(one for one in self.dependents if one.kind is kind)

    @property
    def questions(self) -> int:
        """How many questions are graded by it, near or far."""
        return sum(one.questions for one in self.dependents)


_STEPS = (Bump.PATCH, Bump.MINOR, Bump.MAJOR)
_WORKTREE = "worktree"
_ANY = frozenset({PinType.NONE, PinType.WORKTREE})

# An artifact, and what is asked of it: "" any version, else one version, or `worktree`.
_Node = tuple[str, str]


def find_impact(store: ArtifactStore, ref: str) -> Impact:
    """Return what depends on an artifact.

    Without a pin: whatever working files refer to it, in any version. With one: the working files and the releases that
    mean exactly the version which that pin means today. Raises `RefError` for what does not exist.
    """
    asked = parse_ref(ref)
    if asked.type is PinType.REVISION:
        raise RefError(f"{ref} is no release, so nothing can hold it", hint=f"evalstore impact {asked.name}")
    version = None if asked.type in _ANY else store.resolve(asked).version
    releases = group_releases(store)
    _check_known(store, asked, releases)
    walk = _ImpactWalk(store, build_working_graph(store) if version is None else build_full_graph(store), releases)
    walk.follow_references((asked.name, version or ""))
    latest = find_last_release(releases.get(asked.name, ()))
    return Impact(
        name=asked.name,
        version=version,
        latest=str(latest.version) if latest else None,
        dependents=tuple(walk.dependents()),
        pins=tuple(walk.pins),
        notes=tuple(_describe_unread(key, error) for key, error in walk.graph.unread.items()),
    )


@dataclass(slots=True)
class _ImpactWalk:
    """One way through the references; `distances` by node, in the order in which they were found."""

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
            for use in self.graph.find_references_to(target[0]):
                # What a judge was measured on is worth a word, and leads to no score.
                if self._matches_target(use.ref, target) and (use.scores or target == start):
                    self.pins.append(self._make_pin(use))
                    waiting += self._step_to_user(use, target)

    def dependents(self) -> Iterator[Dependent]:
        """Yield what was found, the nearest first, then by name."""
        found: defaultdict[str, list[ReferencePin]] = defaultdict(list)
        start = next(iter(self.distances))[0]
        for held in self.pins:
            if held.user != start:  # as in a circle, which validation finds
                found[held.user].append(held)
        nearest: dict[str, int] = {}
        for (name, _), distance in self.distances.items():
            nearest.setdefault(name, distance)
        for name in sorted(found, key=lambda name: (nearest.get(name, 1), name)):
            yield self._make_dependent(name, found[name], nearest.get(name, 1))

    def _step_to_user(self, use: ArtifactReference, target: _Node) -> Iterator[_Node]:
        node = use.name, (use.user.partition("@")[2] if target[1] else "")
        if use.scores and node not in self.distances:
            self.distances[node] = self.distances[target] + 1
            yield node

    def _matches_target(self, ref: Ref, target: _Node) -> bool:
        wanted = target[1]
        if wanted == _WORKTREE:
            return ref.type is PinType.WORKTREE
        return not wanted or self._find_meaning(ref) == wanted

    def _find_meaning(self, ref: Ref) -> str | None:
        """Return the version that a reference means today; None where it means no release."""
        if ref.version is not None:
            known = self.store.tags.find(self.store.tags.grammar.format_name(ref.kind, ref.id, ref.version))
            return str(ref.version) if known else None
        if not ref.is_floating:
            return None
        if held := self.store.lock.refs.get(str(ref)):
            return held.version
        meant = (one.version for one in reversed(self.releases.get(ref.name, ())) if can_mean(ref, one.version))
        return str(found) if (found := next(meant, None)) else None

    def _make_pin(self, use: ArtifactReference) -> ReferencePin:
        release = use.user.partition("@")[2]
        locked = str(use.ref) in self.store.lock.refs
        return ReferencePin(
            user=use.name,
            target=use.ref.name,
            ref=use.ref,
            place=use.place,
            places=use.places,
            questions=use.questions,
            release=None if release == _WORKTREE else release,
            means=self._find_meaning(use.ref),
            follows=() if locked or not use.ref.is_floating else tuple(self._list_followed_bumps(use.ref)),
            locked=locked,
            scores=use.scores,
        )

    def _list_followed_bumps(self, ref: Ref) -> Iterator[Bump]:
        last = find_last_release(self.releases.get(ref.name, ()))
        return (bump for bump in _STEPS if last and can_mean(ref, bump_version(last.version, bump)))

    def _make_dependent(self, name: str, pins: Sequence[ReferencePin], distance: int) -> Dependent:
        versions = sorted({held.release for held in pins if held.release}, key=_version_key)
        working = any(held.release is None for held in pins)
        shown = None if working else versions[-1]
        uses = self.graph.read_references(f"{name}@{shown or _WORKTREE}")
        return Dependent(
            name=name,
            kind=parse_ref(name).kind,
            distance=distance,
            working=uses.version if working else None,
            releases=tuple(versions),
            through=tuple(dict.fromkeys(held.target for held in pins)),
            questions=sum(held.questions for held in pins if held.release == shown),
            asked=uses.questions,
        )


def _version_key(version: str) -> Version:
    return find_version(version) or Version(0, 0, 0)


def _check_known(store: ArtifactStore, asked: Ref, releases: Mapping[str, Sequence[Release]]) -> None:
    if store.root is None and asked.type in _ANY:
        raise RefusedError(
            "a bare repository has no working files to look through", hint=f"name a release: {asked.name}@1.0.0"
        )
    if asked.name not in releases and asked.name not in {ref.name for ref in store.list_working_refs()}:
        raise build_unknown_error(store, asked)


def _describe_unread(key: str, error: EvalstoreError) -> str:
    return f"{key} cannot be read, so what it refers to is not known: {error}"
