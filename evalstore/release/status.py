"""Status: what differs from its last release, and which acceptances of changes have ended or are needed by none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date

from evalstore.diff import Profile
from evalstore.model import Finding
from evalstore.release.acceptances import Acceptance, read_store_terms
from evalstore.release.interrupted import find_interrupted_bump
from evalstore.release.survey import Survey, survey
from evalstore.release.values import ArtifactState, Status
from evalstore.store import ArtifactStore
from evalstore.validation import ACCEPTED, Known, Pending, file_source, validate
from evalstore.versions import parse_version


def status(store: ArtifactStore, *, today: date | None = None, profile: Profile | None = None) -> Status:
    """Compare every working file with its last release; raises `RefusedError` in a bare repository.

    `today` is the day by which acceptances end: without one, those that end at all do not hold. `profile` wins over
    the one that evalstore.yaml names.
    """
    ruling = read_store_terms(store, today, profile)
    found = survey(store, ruling)
    pending = dict(_pending(ruling.acceptances, found))
    findings = _findings(store, pending, today) if pending else ()
    profile_ = str(ruling.terms.profile)
    return Status(found.artifacts, found.total, findings, pending, profile_, find_interrupted_bump(store))


def _pending(acceptances: Iterable[Acceptance], found: Survey) -> Iterator[tuple[tuple[str, str, str], bool]]:
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


def _findings(store: ArtifactStore, pending: Pending, today: date | None) -> tuple[Finding, ...]:
    if store.root is None:
        return ()
    sources = [file_source(store.root / ACCEPTED, ACCEPTED)]
    known = Known(pending=pending)
    return validate(sources, load=None, settings=store.settings, today=today or date.min, known=known).findings
