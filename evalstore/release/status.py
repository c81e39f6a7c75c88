"""Status: every artifact that differs from its last release, the bump it needs, and whether its version says so."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from evalstore.errors import EvalstoreError, LoadError, RefusedError
from evalstore.files import read_below
from evalstore.model import Artifact, Ref
from evalstore.release.ledger import LIMIT, check_complete, ledger_path
from evalstore.release.policy import judge_version
from evalstore.release.references import dependents, loader
from evalstore.release.standing import Load, differing, last_release, releases_by_name, required_bump
from evalstore.release.validity import check_shape, version_of
from evalstore.release.values import Standing, State, Status
from evalstore.store import Release, Store
from evalstore.store.blobs import committed_blobs
from evalstore.versions import Bump, next_version

Releases = Mapping[str, Sequence[Release]]


def status(store: Store) -> Status:
    """Compare every working file with its last release; raises `RefusedError` in a bare repository."""
    if store.root is None:
        raise RefusedError("a bare repository has no working files to compare", hint="run it in a clone")
    releases, refs = releases_by_name(store), store.working()
    last = {name: release for name, all_ in releases.items() if (release := last_release(all_))}
    changed = differing(store, refs, last)
    load = loader(store, _drafts(store, changed))
    standings = [_stand(store, ref, releases.get(ref.name, ()), load) for ref in changed]
    standings += _removed(store, {ref.name for ref in refs}, last.values())
    users = dependents(store) if standings else {}
    named = (replace(standing, dependents=users.get(standing.ref, ())) for standing in standings)
    return Status(tuple(sorted(named, key=lambda standing: standing.ref)), len(refs))


def _drafts(store: Store, changed: Iterable[Ref]) -> dict[str, Artifact]:
    # A rubric may pin a judge's next version before it is released: then the working file is what it means.
    found: dict[str, Artifact] = {}
    for ref in changed:
        with suppress(EvalstoreError):
            artifact = store.load(ref)
            found[f"{ref.name}@{artifact.version}"] = artifact
    return found


def _stand(store: Store, ref: Ref, releases: Sequence[Release], load: Load) -> Standing:
    last = last_release(releases)
    released = str(last.version) if last else None
    try:
        return _judged(store, ref, releases, load)
    except EvalstoreError as error:
        # What cannot be read or compared counts as major: fail closed.
        return Standing(ref.name, State.BROKEN, released, None, Bump.MAJOR, None, ok=False, message=str(error))


def _judged(store: Store, ref: Ref, releases: Sequence[Release], load: Load) -> Standing:
    new = store.resolve(ref)
    check_shape(new)
    check_complete(ref.name, _ledger(store, ref), [release.version for release in releases])
    working = version_of(new)
    last = last_release(releases)
    if last is None:
        return Standing(
            ref.name, State.NEW, None, str(working), Bump.NONE, None, ok=True, message="new, never released"
        )
    required = required_bump(store, last, new, load)
    needed = str(next_version(last.version, required)) if required else None
    rule, ok, message = judge_version(last.version, working, required)
    return Standing(
        ref.name,
        State.CHANGED,
        str(last.version),
        str(working),
        required,
        needed,
        ok=ok,
        message=message,
        rule=rule,
    )


def _ledger(store: Store, ref: Ref) -> bytes:
    try:
        return read_below(store.root, ledger_path(ref.name), LIMIT) if store.root else b""
    except LoadError:
        return b""


def _removed(store: Store, present: set[str], last: Iterable[Release]) -> Iterator[Standing]:
    gone = [release for release in last if f"{release.kind}/{release.id}" not in present]
    paths = [(release.commit, f"{store.prefix}{release.kind.folder}/{release.id}.yaml") for release in gone]
    for release, blob in zip(gone, committed_blobs(store.git, paths), strict=True):
        if blob is not None:  # else it belongs to another store of this repository
            name, version = f"{release.kind}/{release.id}", str(release.version)
            message = "removed from the working tree; its releases stay"
            yield Standing(name, State.REMOVED, version, None, Bump.NONE, None, ok=True, message=message)
