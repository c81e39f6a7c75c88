"""Status: every artifact that differs from its last release, the bump it needs, and whether its version says so."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from evalstore.errors import EvalstoreError, LoadError, RefusedError
from evalstore.files import read_below
from evalstore.model import Artifact, Ref
from evalstore.release.ledger import LIMIT, check_complete, ledger_path
from evalstore.release.policy import judge_version
from evalstore.release.references import dependents, loader
from evalstore.release.standing import (
    Load,
    base_release,
    differing,
    find_head,
    last_release,
    releases_by_name,
    required_bump,
)
from evalstore.release.validity import check_shape, version_of
from evalstore.release.values import Standing, State, Status
from evalstore.store import Release, Store
from evalstore.store.blobs import committed_blobs
from evalstore.versions import Bump, next_version


def status(store: Store) -> Status:
    """Compare every working file with its last release; raises `RefusedError` in a bare repository."""
    if store.root is None:
        raise RefusedError("a bare repository has no working files to compare", hint="run it in a clone")
    releases, refs = releases_by_name(store), store.working()
    last = {name: release for name, all_ in releases.items() if (release := last_release(all_))}
    changed = differing(store, refs, last)
    load = loader(store, _drafts(store, changed))
    standings = [_stand(store, ref, releases.get(ref.name, ()), load) for ref in changed]
    removed = list(_removed(store, {ref.name for ref in refs}, last))
    standings += removed
    users = dependents(store) if standings else {}
    named = (replace(standing, dependents=users.get(standing.ref, ())) for standing in standings)
    return Status(tuple(sorted(named, key=lambda standing: standing.ref)), len(refs) + len(removed))


def _drafts(store: Store, changed: Iterable[Ref]) -> dict[str, Artifact]:
    # A rubric may pin a judge's next version before it is released: then the working file is what it means.
    found: dict[str, Artifact] = {}
    for ref in changed:
        with suppress(EvalstoreError):
            artifact = store.load(ref)
            found[f"{ref.name}@{artifact.version}"] = artifact
    return found


def _stand(store: Store, ref: Ref, releases: Sequence[Release], load: Load) -> Standing:
    try:
        return _judged(store, ref, releases, load)
    except EvalstoreError as error:
        # What cannot be read or compared counts as major: fail closed.
        last = last_release(releases)
        broken = Standing(ref.name, State.BROKEN, False, str(error), required_bump=Bump.MAJOR)
        return replace(broken, released=str(last.version)) if last else broken


def _judged(store: Store, ref: Ref, releases: Sequence[Release], load: Load) -> Standing:
    new = store.resolve(ref)
    check_shape(new)
    check_complete(ref.name, _ledger(store, ref), [release.version for release in releases])
    working = version_of(new)
    last = base_release(store, releases, working)
    if last is None:
        return Standing(ref.name, State.NEW, True, "new, never released", working=str(working))
    required = required_bump(store, last, new, load)
    judgement = judge_version(last.version, working, required)
    return Standing(
        ref.name,
        State.CHANGED if required or last == last_release(releases) else State.BEHIND,
        judgement.ok,
        judgement.message + ("" if last == last_release(releases) else "; another branch has released since"),
        released=str(last.version),
        working=str(working),
        required_bump=required,
        next_version=str(next_version(last.version, required)) if required else None,
        rule=judgement.rule,
    )


def _ledger(store: Store, ref: Ref) -> bytes:
    try:
        return read_below(store.root, ledger_path(ref.name), LIMIT) if store.root else b""
    except LoadError:
        return b""


def _removed(store: Store, present: set[str], last: Mapping[str, Release]) -> Iterator[Standing]:
    gone = {name: release for name, release in last.items() if name not in present}
    tip = find_head(store.git) if gone else None
    if tip is None:
        return
    # Once its removal is committed it is history, and what HEAD never held belongs to another store or branch.
    paths = [(tip, f"{store.prefix}{release.kind.folder}/{release.id}.yaml") for release in gone.values()]
    for (name, release), blob in zip(gone.items(), committed_blobs(store.git, paths), strict=True):
        if blob is not None:
            yield _gone(store.root, name, release)


def _gone(root: Path | None, name: str, release: Release) -> Standing:
    path = f"{release.kind.folder}/{release.id}.yaml"
    if root and os.path.lexists(root / path):
        said, state, required = f"{path} is no regular file, and no link is followed", State.BROKEN, Bump.MAJOR
    else:
        said, state, required = "removed from the working tree; its releases stay", State.REMOVED, Bump.NONE
    released = str(release.version)
    return Standing(name, state, state is State.REMOVED, said, released=released, required_bump=required)
