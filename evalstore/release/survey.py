"""The survey: every artifact that differs from its last release, the bump it needs, and if its version says so."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from evalstore.errors import EvalstoreError, LoadError, RefusedError
from evalstore.files import read_below
from evalstore.model import Ref
from evalstore.release.acceptances import StoreTerms
from evalstore.release.drift import MovedReferenceFinder, find_moved_artifacts
from evalstore.release.ledger import LIMIT, check_ledger_complete
from evalstore.release.policy import judge_version
from evalstore.release.references import working_loader
from evalstore.release.spread import spread
from evalstore.release.standing import (
    Load,
    base_release,
    difference,
    differing,
    find_head,
    last_release,
    releases_by_name,
)
from evalstore.release.validity import check_shape, version_of
from evalstore.release.values import ArtifactState, ArtifactStatus
from evalstore.release.web import working_web
from evalstore.store import ArtifactStore, Release
from evalstore.store.blobs import find_committed_blobs
from evalstore.store.ledger import ledger_path
from evalstore.versions import Bump, Version, next_version


@dataclass(frozen=True, slots=True)
class Survey:
    """Every artifact that differs, how many there are, and the last release of each that has one, by name."""

    artifacts: tuple[ArtifactStatus, ...]
    total: int
    last: Mapping[str, Version]


@dataclass(frozen=True, slots=True)
class _Look:
    """How each file is looked at: in which store, how references are loaded, and how changes are ruled on."""

    store: ArtifactStore
    load: Load
    ruling: StoreTerms


def survey(store: ArtifactStore, ruling: StoreTerms) -> Survey:
    """Compare every working file with its last release, as a ruling has it."""
    if store.root is None:
        raise RefusedError("a bare repository has no working files to compare", hint="run it in a clone")
    releases, refs = releases_by_name(store), store.list_working_refs()
    last = {name: release for name, all_ in releases.items() if (release := last_release(all_))}
    changed = differing(store, refs, last)
    look = _Look(store, working_loader(store), ruling)
    standings = [_stand(look, ref, releases.get(ref.name, ())) for ref in changed]
    removed = list(_removed(store, {ref.name for ref in refs}, last))
    standings += removed
    web = working_web(store)
    differ = {ref.name for ref in changed}
    unchanged = [last[ref.name] for ref in refs if ref.name in last and ref.name not in differ]
    standings += find_moved_artifacts(MovedReferenceFinder(store, releases, ruling.terms.without_opinions), web, unchanged)
    artifacts = tuple(sorted((spread(one, web) for one in standings), key=lambda standing: standing.ref))
    return Survey(artifacts, len(refs) + len(removed), {name: one.version for name, one in last.items()})


def _stand(look: _Look, ref: Ref, releases: Sequence[Release]) -> ArtifactStatus:
    try:
        return _judged(look, ref, releases)
    except EvalstoreError as error:
        # What cannot be read or compared counts as major: fail closed.
        last = last_release(releases)
        broken = ArtifactStatus(ref.name, ArtifactState.BROKEN, False, str(error), required_bump=Bump.MAJOR, place=error.place)
        return replace(broken, released=str(last.version)) if last else broken


def _judged(look: _Look, ref: Ref, releases: Sequence[Release]) -> ArtifactStatus:
    store = look.store
    new = store.resolve(ref)
    check_shape(new)
    check_ledger_complete(ref.name, _ledger(store, ref), [release.version for release in releases])
    working = version_of(new)
    last = base_release(store, releases, working)
    if last is None:
        return ArtifactStatus(ref.name, ArtifactState.NEW, True, "new, never released", working=str(working))
    diff = difference(store, last, new, look.load, ruling=look.ruling)
    required = diff.required_bump if diff else Bump.NONE
    judgement = judge_version(last.version, working, required)
    return ArtifactStatus(
        ref.name,
        ArtifactState.CHANGED if required or last == last_release(releases) else ArtifactState.BEHIND,
        judgement.ok,
        judgement.message + ("" if last == last_release(releases) else "; another branch has released since"),
        released=str(last.version),
        working=str(working),
        required_bump=required,
        next_version=str(next_version(last.version, required)) if required else None,
        rule=judgement.rule,
        findings=diff.findings if diff else (),
        place=new.artifact.document.place(("version",)),
    )


def _ledger(store: ArtifactStore, ref: Ref) -> bytes:
    try:
        return read_below(store.root, ledger_path(ref.name), LIMIT) if store.root else b""
    except LoadError:
        return b""


def _removed(store: ArtifactStore, present: set[str], last: Mapping[str, Release]) -> Iterator[ArtifactStatus]:
    gone = {name: release for name, release in last.items() if name not in present}
    tip = find_head(store.git) if gone else None
    if tip is None:
        return
    # Once its removal is committed it is history, and what HEAD never held belongs to another store or branch.
    paths = [(tip, store.prefix + release.path) for release in gone.values()]
    for (name, release), blob in zip(gone.items(), find_committed_blobs(store.git, paths), strict=True):
        if blob is not None:
            yield _gone(store.root, name, release)


def _gone(root: Path | None, name: str, release: Release) -> ArtifactStatus:
    if root and os.path.lexists(root / release.path):
        said, state, required = f"{release.path} is no regular file, and no link is followed", ArtifactState.BROKEN, Bump.MAJOR
    else:
        said, state, required = "removed from the working tree; its releases stay", ArtifactState.REMOVED, Bump.NONE
    released = str(release.version)
    return ArtifactStatus(name, state, state is ArtifactState.REMOVED, said, released=released, required_bump=required)
