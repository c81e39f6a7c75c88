"""Status: what differs from its last release, and which acceptances of changes have ended or are needed by none."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

from evalstore.diff import Profile
from evalstore.errors import EvalstoreError, LoadError, RefusedError
from evalstore.files import read_below
from evalstore.model import Finding, PinType, Ref
from evalstore.references.graph import ReferenceGraph, build_working_graph
from evalstore.references.reading import ArtifactReference
from evalstore.status.acceptances import Acceptance, ChangePolicy, read_change_policy
from evalstore.status.comparison import (
    Load,
    compare_with_release,
    find_base_release,
    find_changed_files,
    make_working_loader,
)
from evalstore.status.drift import MovedReferenceFinder, find_moved_artifacts
from evalstore.status.validity import LEDGER_LIMIT, check_ledger_complete, check_shape, require_version
from evalstore.status.values import ArtifactState, ArtifactStatus, ReachCounts, StalePin, Status
from evalstore.status.version_rules import judge_version
from evalstore.store import ArtifactStore, Release
from evalstore.store.ledger import locate_ledger
from evalstore.store.listing import group_releases
from evalstore.store.object_reader import find_committed_blobs
from evalstore.store.resolve import can_mean
from evalstore.store.revisions import find_head
from evalstore.store.tags import find_last_release
from evalstore.transactions.journal import find_interrupted_bump
from evalstore.validation import ACCEPTED, Known, Pending, file_source, validate
from evalstore.versions import Bump, Version, bump_version, find_version, parse_version


def read_status(store: ArtifactStore, *, today: date | None = None, profile: Profile | None = None) -> Status:
    """Compare every working file with its last release; raises `RefusedError` in a bare repository.

    `today` is the day by which acceptances end: without one, those that end at all do not hold. `profile` wins over
    the one that evalstore.yaml names.
    """
    store_terms = read_change_policy(store, today, profile)
    found = survey_store(store, store_terms)
    pending = dict(_match_acceptances(store_terms.acceptances, found))
    findings = _validate_acceptances(store, pending, today) if pending else ()
    profile_ = str(store_terms.terms.profile)
    return Status(found.artifacts, found.total, findings, pending, profile_, find_interrupted_bump(store))


def _match_acceptances(
    acceptances: Iterable[Acceptance], found: StoreSurvey
) -> Iterator[tuple[tuple[str, str, str], bool]]:
    standings = {standing.ref: standing for standing in found.artifacts}
    for one in acceptances:
        standing = standings.get(one.artifact)
        if standing and standing.state is ArtifactState.BROKEN:
            continue  # whatever changed there, nobody can tell
        base = found.last.get(one.artifact)
        if standing and standing.released:
            base = parse_version(standing.released)
        if base is None or one.since >= base:
            prints = {finding.fingerprint for finding in standing.findings} if standing else ()
            yield (one.artifact, str(one.since), one.fingerprint), one.since == base and one.fingerprint in prints


def _validate_acceptances(store: ArtifactStore, pending: Pending, today: date | None) -> tuple[Finding, ...]:
    if store.root is None:
        return ()
    sources = [file_source(store.root / ACCEPTED, ACCEPTED)]
    known = Known(pending=pending)
    return validate(sources, load=None, settings=store.settings, today=today or date.min, known=known).findings


@dataclass(frozen=True, slots=True)
class StoreSurvey:
    """Every artifact that differs, how many there are, and the last release of each that has one, by name."""

    artifacts: tuple[ArtifactStatus, ...]
    total: int
    last: Mapping[str, Version]


@dataclass(frozen=True, slots=True)
class _SurveyContext:
    """How each file is looked at: in which store, how references are loaded, and how changes are ruled on."""

    store: ArtifactStore
    load: Load
    store_terms: ChangePolicy


def survey_store(store: ArtifactStore, store_terms: ChangePolicy) -> StoreSurvey:
    """Compare every working file with its last release, as a ruling has it."""
    if store.root is None:
        raise RefusedError("a bare repository has no working files to compare", hint="run it in a clone")
    releases, refs = group_releases(store), store.list_working_refs()
    last = {name: release for name, all_ in releases.items() if (release := find_last_release(all_))}
    changed = find_changed_files(store, refs, last)
    context = _SurveyContext(store, make_working_loader(store), store_terms)
    standings = [_survey_artifact(context, ref, releases.get(ref.name, ())) for ref in changed]
    removed = list(_find_removed(store, {ref.name for ref in refs}, last))
    standings += removed
    graph = build_working_graph(store)
    differ = {ref.name for ref in changed}
    unchanged = [last[ref.name] for ref in refs if ref.name in last and ref.name not in differ]
    standings += find_moved_artifacts(
        MovedReferenceFinder(store, releases, store_terms.terms.without_opinions), graph, unchanged
    )
    artifacts = tuple(sorted((add_dependents(one, graph) for one in standings), key=lambda standing: standing.ref))
    return StoreSurvey(artifacts, len(refs) + len(removed), {name: one.version for name, one in last.items()})


def _survey_artifact(context: _SurveyContext, ref: Ref, releases: Sequence[Release]) -> ArtifactStatus:
    try:
        return _compare_artifact(context, ref, releases)
    except EvalstoreError as error:
        # What cannot be read or compared counts as major: fail closed.
        last = find_last_release(releases)
        broken = ArtifactStatus(
            ref.name, ArtifactState.BROKEN, False, str(error), required_bump=Bump.MAJOR, place=error.place
        )
        return replace(broken, released=str(last.version)) if last else broken


def _compare_artifact(context: _SurveyContext, ref: Ref, releases: Sequence[Release]) -> ArtifactStatus:
    store = context.store
    new = store.resolve(ref)
    check_shape(new)
    check_ledger_complete(ref.name, _read_working_ledger(store, ref), [release.version for release in releases])
    working = require_version(new)
    last = find_base_release(store, releases, working)
    if last is None:
        return ArtifactStatus(ref.name, ArtifactState.NEW, True, "new, never released", working=str(working))
    diff = compare_with_release(store, last, new, context.load, store_terms=context.store_terms)
    required = diff.required_bump if diff else Bump.NONE
    judgement = judge_version(last.version, working, required)
    return ArtifactStatus(
        ref.name,
        ArtifactState.CHANGED if required or last == find_last_release(releases) else ArtifactState.BEHIND,
        judgement.ok,
        judgement.message + ("" if last == find_last_release(releases) else "; another branch has released since"),
        released=str(last.version),
        working=str(working),
        required_bump=required,
        next_version=str(bump_version(last.version, required)) if required else None,
        rule=judgement.rule,
        findings=diff.findings if diff else (),
        place=new.artifact.document.locate(("version",)),
    )


def _read_working_ledger(store: ArtifactStore, ref: Ref) -> bytes:
    try:
        return read_below(store.root, locate_ledger(ref.name), LEDGER_LIMIT) if store.root else b""
    except LoadError:
        return b""


def _find_removed(store: ArtifactStore, present: set[str], last: Mapping[str, Release]) -> Iterator[ArtifactStatus]:
    gone = {name: release for name, release in last.items() if name not in present}
    tip = find_head(store.git) if gone else None
    if tip is None:
        return
    # Once its removal is committed it is history, and what HEAD never held belongs to another store or branch.
    paths = [(tip, store.prefix + release.path) for release in gone.values()]
    for (name, release), blob in zip(gone.items(), find_committed_blobs(store.git, paths), strict=True):
        if blob is not None:
            yield _describe_removed(store.root, name, release)


def _describe_removed(root: Path | None, name: str, release: Release) -> ArtifactStatus:
    if root and os.path.lexists(root / release.path):
        said, state, required = (
            f"{release.path} is no regular file, and no link is followed",
            ArtifactState.BROKEN,
            Bump.MAJOR,
        )
    else:
        said, state, required = "removed from the working tree; its releases stay", ArtifactState.REMOVED, Bump.NONE
    released = str(release.version)
    return ArtifactStatus(name, state, state is ArtifactState.REMOVED, said, released=released, required_bump=required)


_PINNED = frozenset({PinType.EXACT, PinType.RANGE})


def add_dependents(standing: ArtifactStatus, graph: ReferenceGraph) -> ArtifactStatus:
    """Return a standing with what refers to its artifact, near and far."""
    users, reach = graph.find_references_to(standing.ref), graph.find_reached(standing.ref)
    return replace(
        standing,
        dependents=tuple(sorted({reference.name for reference in users})),
        reached=ReachCounts(len(reach.rubrics), len(reach.questions), sum(reach.questions.values())),
        pins=tuple(_find_stale_pins(standing, users)),
    )


def _find_stale_pins(standing: ArtifactStatus, users: Iterable[ArtifactReference]) -> Iterator[StalePin]:
    versions = [find_version(text) for text in (standing.working, standing.next_version) if text]
    if standing.released is None or standing.state is not ArtifactState.CHANGED or not standing.required_bump:
        return
    new = max(version for version in versions if version)
    for reference in users:
        # What a judge was measured on is a record of the past.
        if reference.scores and reference.ref.type in _PINNED and not _will_match(reference.ref, new):
            yield StalePin(reference.name, str(reference.ref), reference.place)


def _will_match(ref: Ref, version: Version) -> bool:
    return version == ref.version if ref.version else can_mean(ref, version)
