"""What depends on an artifact: follows references backwards, the nearest first; the room's one door."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from evalstore.errors import EvalstoreError, RefError, RefusedError
from evalstore.impact.values import Dependent, Held, Impact
from evalstore.impact.webs import whole_web
from evalstore.model import PinType, Ref, parse_ref
from evalstore.release.standing import last_release, releases_by_name
from evalstore.release.uses import Use
from evalstore.release.web import Web, working_web
from evalstore.store import ArtifactStore, Release
from evalstore.store.resolve import can_mean, build_unknown_error
from evalstore.versions import Bump, Version, find_version, next_version

_STEPS = (Bump.PATCH, Bump.MINOR, Bump.MAJOR)
_WORKTREE = "worktree"
_ANY = frozenset({PinType.NONE, PinType.WORKTREE})

# An artifact, and what is asked of it: "" any version, else one version, or `worktree`.
_Node = tuple[str, str]


def impact(store: ArtifactStore, ref: str) -> Impact:
    """Return what depends on an artifact.

    Without a pin: whatever working files refer to it, in any version. With one: the working files and the releases that
    mean exactly the version which that pin means today. Raises `RefError` for what does not exist.
    """
    asked = parse_ref(ref)
    if asked.type is PinType.REVISION:
        raise RefError(f"{ref} is no release, so nothing can hold it", hint=f"evalstore impact {asked.name}")
    version = None if asked.type in _ANY else store.resolve(asked).version
    releases = releases_by_name(store)
    _check_known(store, asked, releases)
    walk = _Walk(store, working_web(store) if version is None else whole_web(store), releases)
    walk.follow((asked.name, version or ""))
    latest = last_release(releases.get(asked.name, ()))
    return Impact(
        name=asked.name,
        version=version,
        latest=str(latest.version) if latest else None,
        dependents=tuple(walk.dependents()),
        pins=tuple(walk.pins),
        notes=tuple(_unread(key, error) for key, error in walk.web.unread.items()),
    )


@dataclass(slots=True)
class _Walk:
    """One way through the references; `distances` by node, in the order in which they were found."""

    store: ArtifactStore
    web: Web
    releases: Mapping[str, Sequence[Release]]
    pins: list[Held] = field(default_factory=list)
    distances: dict[_Node, int] = field(default_factory=dict)

    def follow(self, start: _Node) -> None:
        """Find every artifact that leads to `start`."""
        self.distances[start] = 0
        waiting = deque([start])
        while waiting:
            target = waiting.popleft()
            for use in self.web.users(target[0]):
                # What a judge was measured on is worth a word, and leads to no score.
                if self._holds(use.ref, target) and (use.scores or target == start):
                    self.pins.append(self._held(use))
                    waiting += self._reached(use, target)

    def dependents(self) -> Iterator[Dependent]:
        """Yield what was found, the nearest first, then by name."""
        found: defaultdict[str, list[Held]] = defaultdict(list)
        start = next(iter(self.distances))[0]
        for held in self.pins:
            if held.user != start:  # as in a circle, which validation finds
                found[held.user].append(held)
        nearest: dict[str, int] = {}
        for (name, _), distance in self.distances.items():
            nearest.setdefault(name, distance)
        for name in sorted(found, key=lambda name: (nearest.get(name, 1), name)):
            yield self._dependent(name, found[name], nearest.get(name, 1))

    def _reached(self, use: Use, target: _Node) -> Iterator[_Node]:
        node = use.name, (use.user.partition("@")[2] if target[1] else "")
        if use.scores and node not in self.distances:
            self.distances[node] = self.distances[target] + 1
            yield node

    def _holds(self, ref: Ref, target: _Node) -> bool:
        wanted = target[1]
        if wanted == _WORKTREE:
            return ref.type is PinType.WORKTREE
        return not wanted or self._means(ref) == wanted

    def _means(self, ref: Ref) -> str | None:
        """Return the version that a reference means today; None where it means no release."""
        if ref.version is not None:
            known = self.store.tags.find(self.store.tags.grammar.format_name(ref.kind, ref.id, ref.version))
            return str(ref.version) if known else None
        if not ref.floating:
            return None
        if held := self.store.lock.refs.get(str(ref)):
            return held.version
        meant = (one.version for one in reversed(self.releases.get(ref.name, ())) if can_mean(ref, one.version))
        return str(found) if (found := next(meant, None)) else None

    def _held(self, use: Use) -> Held:
        release = use.user.partition("@")[2]
        locked = str(use.ref) in self.store.lock.refs
        return Held(
            user=use.name,
            target=use.ref.name,
            ref=use.ref,
            place=use.place,
            places=use.places,
            questions=use.questions,
            release=None if release == _WORKTREE else release,
            means=self._means(use.ref),
            follows=() if locked or not use.ref.floating else tuple(self._follows(use.ref)),
            locked=locked,
            scores=use.scores,
        )

    def _follows(self, ref: Ref) -> Iterator[Bump]:
        last = last_release(self.releases.get(ref.name, ()))
        return (bump for bump in _STEPS if last and can_mean(ref, next_version(last.version, bump)))

    def _dependent(self, name: str, pins: Sequence[Held], distance: int) -> Dependent:
        versions = sorted({held.release for held in pins if held.release}, key=_order)
        working = any(held.release is None for held in pins)
        shown = None if working else versions[-1]
        uses = self.web.read(f"{name}@{shown or _WORKTREE}")
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


def _order(version: str) -> Version:
    return find_version(version) or Version(0, 0, 0)


def _check_known(store: ArtifactStore, asked: Ref, releases: Mapping[str, Sequence[Release]]) -> None:
    if store.root is None and asked.type in _ANY:
        raise RefusedError(
            "a bare repository has no working files to look through", hint=f"name a release: {asked.name}@1.0.0"
        )
    if asked.name not in releases and asked.name not in {ref.name for ref in store.list_working_refs()}:
        raise build_unknown_error(store, asked)


def _unread(key: str, error: EvalstoreError) -> str:
    return f"{key} cannot be read, so what it refers to is not known: {error}"
