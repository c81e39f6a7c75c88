"""Floating references of unchanged files that mean another version than at the release of who holds them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from evalstore.diff import Terms, compare
from evalstore.errors import EvalstoreError, RefusedError
from evalstore.model import Ref
from evalstore.release.standing import is_within
from evalstore.release.uses import Use
from evalstore.release.values import Moved, Standing, State
from evalstore.release.web import Web
from evalstore.store import Release, Store
from evalstore.store.resolve import meets
from evalstore.versions import Bump, Version


@dataclass(slots=True)
class Drifts:
    """Finds what moved under files that did not change; every pair of versions is compared once."""

    store: Store
    releases: Mapping[str, Sequence[Release]]
    terms: Terms
    _levels: dict[tuple[str, Version, Version], Bump] = field(default_factory=dict)

    def of(self, base: Release, uses: Sequence[Use]) -> Iterator[Moved]:
        """Yield each reference that a later release than `base`, its holder's own, made mean another version."""
        for use in uses:
            if not use.ref.floating or not use.scores or str(use.ref) in self.store.lock.refs:
                continue
            meant = [one for one in self.releases.get(use.ref.name, ()) if meets(use.ref, one.version)]
            then = next((one for one in reversed(meant) if self._known(one, base)), None)
            if then and then is not meant[-1]:
                was, now = then.version, meant[-1].version
                yield Moved(str(use.ref), was, now, self._level(use.ref, was, now), use.place)

    def _known(self, release: Release, base: Release) -> bool:
        """Whether a version had been released when `base` was: by its ledger, or without one by the history."""
        if release.commit == base.commit:
            return True
        if known := self.store.ledgers.at(base.commit, release.name).by_version:
            return str(release.version) in known
        if self.store.repository.shallow:
            raise RefusedError("a shallow clone does not have that history")
        return is_within(self.store, release.commit, base.commit)

    def _level(self, ref: Ref, was: Version, now: Version) -> Bump:
        key = (ref.name, was, now)
        if key not in self._levels:
            self._levels[key] = self._compared(*(f"{ref.name}@{version}" for version in (was, now)))
        return self._levels[key]

    def _compared(self, was: str, now: str) -> Bump:
        load = self.store.load
        try:
            return compare(load(was), load(now), load=load, terms=self.terms).required_bump
        except EvalstoreError:
            return Bump.MAJOR  # fail closed


def drifted(drifts: Drifts, web: Web, unchanged: Iterable[Release]) -> Iterator[Standing]:
    """Yield the standing of each unchanged artifact, by its last release, under which a reference has moved."""
    for base in unchanged:
        if web.mentions[f"{base.name}@worktree"].floating and (found := _drifted(drifts, web, base)):
            said, moved = found
            version = str(base.version)
            message = f"unchanged, but {said}"
            yield Standing(base.name, State.MOVED, True, message, released=version, working=version, moved=moved)


def _drifted(drifts: Drifts, web: Web, base: Release) -> tuple[str, tuple[Moved, ...]] | None:
    try:
        moved = tuple(drifts.of(base, web.read(f"{base.name}@worktree").uses))
    except EvalstoreError as error:
        return f"what its references meant when it was released cannot be told: {error}", ()
    if not moved:
        return None
    more = f", and {len(moved) - 1} more" if moved[1:] else ""
    return f"{moved[0].ref} now means {moved[0].now}, was {moved[0].was} ({moved[0].level}){more}", moved
