"""Status: what differs from its last release, and which acceptances of changes have ended or are needed by none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date

from evalstore.diff import Profile
from evalstore.model import Finding
from evalstore.release.acceptances import Acceptance, read_store_terms
from evalstore.release.survey import StoreSurvey, survey_store
from evalstore.release.values import ArtifactState, Status
from evalstore.store import ArtifactStore
from evalstore.transactions.journal import find_interrupted_bump
from evalstore.validation import ACCEPTED, Known, Pending, file_source, validate
from evalstore.versions import parse_version


def read_status(store: ArtifactStore, *, today: date | None = None, profile: Profile | None = None) -> Status:
    """Compare every working file with its last release; raises `RefusedError` in a bare repository.

    `today` is the day by which acceptances end: without one, those that end at all do not hold. `profile` wins over
    the one that evalstore.yaml names.
    """
    store_terms = read_store_terms(store, today, profile)
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
