"""Checks that the tags of releases are signed by allowed signers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import accumulate

from evalstore.errors import EvalstoreError, Place
from evalstore.model import Finding
from evalstore.places import LEDGER_FOLDER
from evalstore.release.changes.base_store import BaseStore
from evalstore.release.changes.signers_file import check_signers_file, make_unread_finding
from evalstore.release.integrity_rules import make_finding
from evalstore.release.records.ledger_records import ReleaseRecords
from evalstore.release.records.release_tags import ReleaseTag
from evalstore.store import ArtifactStore
from evalstore.store.ledger import parse_ledger, split_ledger
from evalstore.store.revisions import find_head, list_first_parents
from evalstore.store.signers import (
    is_signature_required,
    open_signature_check,
    read_signers,
)
from evalstore.store.store_moves import read_changes
from evalstore.store.tags import TAG_REFS

_LIGHTWEIGHT = "it is a lightweight tag"
_LAST_SECOND = 253_402_300_799  # of the year 9999


@dataclass(frozen=True, slots=True)
class SignatureSettings:
    """What signatures are judged by: signers, the base and the time.

    `signers` is a file from elsewhere; without it the store's own counts. Without `now`, a release
    that has not arrived anywhere is judged by the day in its tag.
    """

    signers: bytes | None = None
    base: BaseStore | None = None
    now: datetime | None = None


def check_signatures(
    records: ReleaseRecords, tags: Iterable[ReleaseTag], settings: SignatureSettings
) -> Iterator[Finding]:
    """Yield the releases that no allowed signer has signed.

    They include releases that the ledger lists as signed but that are not. Signers are required by
    the settings of the store or of the base, or by a file from elsewhere, which comes first; if two
    differ, a release needs a signer from each.
    """
    store, found = records.store, list(tags)
    files: list[tuple[bytes, list[ReleaseTag]]] = []
    unread = [*check_signers_file(store)]
    try:
        files += _list_signer_files(records, found, settings)
    except EvalstoreError as error:
        unread.append(make_unread_finding(error))
    yield from dict.fromkeys(unread)
    if files:
        arrivals = find_arrivals(
            store, settings.base.commit if settings.base else find_head(store.git)
        )
        moments = {
            tag.name: arrivals.get((tag.ref.name, tag.ref.pin), settings.now) for tag in found
        }
        for signers, some in files:
            yield from _check_tags(store, some, signers, moments)
        return
    promised = [tag for tag in found if (line := records.find_line(tag.ref)) and line.is_signed]
    if promised:  # which any key may have signed: what counts is that nobody has
        yield from _check_tags(store, promised, None, {})


def _list_signer_files(
    records: ReleaseRecords, tags: list[ReleaseTag], settings: SignatureSettings
) -> Iterator[tuple[bytes, list[ReleaseTag]]]:
    """Yield each file of signers with the tags that need one of them."""
    if settings.signers is not None:
        yield settings.signers, tags
        return
    store, base = records.store, settings.base
    own = read_signers(store) if is_signature_required(store.settings) else None
    if base and is_signature_required(base.settings):
        theirs = base.read_signers()
        yield theirs, tags
        own = None if own == theirs else own
    if own is not None:  # a branch that is behind its base need not know who has signed there since
        yield own, [tag for tag in tags if not (base and _is_ahead(records, base, tag))]


def _is_ahead(records: ReleaseRecords, base: BaseStore, tag: ReleaseTag) -> bool:
    """Whether the base has a release that no ledger at HEAD lists."""
    return not records.find_line(tag.ref) and base.releases.has(tag.ref.name, tag.ref.pin, tag.name)


def _check_tags(
    store: ArtifactStore,
    tags: Iterable[ReleaseTag],
    signers: bytes | None,
    moments: Mapping[str, datetime | None],
) -> Iterator[Finding]:
    with open_signature_check(store.git, store.repository.hex_digits, signers) as find_flaw:
        for tag in tags:
            try:
                object_ = store.objects.read(tag.oid)
            except EvalstoreError:  # `check_release` reports it
                continue
            flaw = (
                find_flaw(tag.oid, object_.data, moments.get(tag.name))
                if object_.type == "tag"
                else _LIGHTWEIGHT
            )
            if flaw:
                yield make_finding(
                    "release-unsigned",
                    Place(TAG_REFS + tag.name),
                    ref=tag.ref,
                    what=flaw,
                    tag=tag.name,
                )


def find_arrivals(store: ArtifactStore, tip: str | None) -> dict[tuple[str, str], datetime]:
    """Return when each release was first listed, by first parents of a commit.

    Releases are `<kind>/<id>` and version. That is the day of the merge, not of the merged commit;
    and no commit is older than its predecessor, so one that claims to be arrived with that.
    """
    if tip is None:
        return {}
    line = list(reversed(list_first_parents(store.git, tip)))
    latest = accumulate((seconds for _, seconds in line), max)
    commits = (commit for commit, _ in line)
    moments = dict(zip(commits, map(_read_time, latest), strict=True))
    folders = [f"{prefix}{LEDGER_FOLDER}/" for prefix in store.moves.list_prefixes()]
    arrivals: dict[tuple[str, str], datetime] = {}
    for change in read_changes(store.git, tip, folders, "AM", ["--first-parent"]):
        name = store.moves.strip_prefix(change.path).removeprefix(f"{LEDGER_FOLDER}/")
        blobs = (change.old, change.new)
        old, new = (split_ledger(store.objects.read(one).data) if one else () for one in blobs)
        known = frozenset(old)
        # Newest first, so the oldest commit that lists a release comes last.
        for version in parse_ledger(b"\n".join(one for one in new if one not in known)).by_version:
            arrivals[name, version] = moments[change.commit]
    return arrivals


def _read_time(seconds: int) -> datetime:
    return datetime.fromtimestamp(min(max(seconds, 0), _LAST_SECOND), UTC)
