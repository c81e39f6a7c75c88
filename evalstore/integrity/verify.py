"""Verify: all releases against their files, the ledgers and a lock; and a lock against the store that it is of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain

from evalstore.errors import EvalstoreError, LoadError, Place, RefError
from evalstore.integrity.lock_blocks import (
    LockBlock,
    check_block,
    find_expected_tag,
    read_lock_blocks,
    report_untagged_block,
)
from evalstore.integrity.records import ReleaseRecords, check_ledger, check_rewritten, report_untagged_line
from evalstore.integrity.rules import make_finding
from evalstore.integrity.tags import TagListing, check_release, list_tag_refs
from evalstore.model import Finding, Ref, Severity, parse_ref
from evalstore.model.lock import LOCK_FILE, NO_LOCK, Lock
from evalstore.references.reading import walk_references
from evalstore.store import ArtifactStore, Resolved
from evalstore.store.resolve import build_unknown_error
from evalstore.store.tags import TAG_REFS
from evalstore.versions import Version, find_version


@dataclass(frozen=True, slots=True)
class Verification:
    """What was looked at by which command, and every finding; a note (severity info) is nothing against it."""

    releases: int
    ledgers: int
    locked: int
    findings: tuple[Finding, ...]
    command: str = "verify"

    @property
    def ok(self) -> bool:
        """Whether all that was looked at is what was released."""
        return all(finding.severity is Severity.INFO for finding in self.findings)


ReleaseFilter = Callable[[str, Version | None], bool]
ExpectedTags = Mapping[str, Callable[[], Finding]]  # by the name of the tag that should be there

_MANY = 2  # from here on, of a clone that never fetched its tags
_BAD_NAME = "its name is not <kind>/<id>@<MAJOR.MINOR.PATCH>"


def verify(
    store: ArtifactStore, refs: Sequence[str] = (), *, lock: Lock | None = None, file: str = LOCK_FILE
) -> Verification:
    """Look whether all releases, or those that `refs` name (an artifact, a version, a range), are what was released.

    `lock` is one that is kept elsewhere, as `file`; by default the store's own. Reads only.
    """
    own, unread = _read_own_lock(store) if lock is None else (lock, [])
    records, names = ReleaseRecords(store, own), list_tag_refs(store)
    chosen = [_parse_release_ref(text) for text in refs]
    is_wanted = partial(_is_selected, chosen)
    releases = [named for named in names.releases.values() if is_wanted(named.ref.name, named.version)]
    booked = [name for name in sorted({*store.ledgers.list_names(), *records.lock.ledgers}) if is_wanted(name, None)]
    blocks, odd = read_lock_blocks(records, file)
    blocks = [block for block in blocks if is_wanted(block.ref.name, find_version(block.entry.version))]
    gone = _expect_block_tags(records, blocks) | _expect_ledger_tags(records, booked, is_wanted)
    _check_known(store, chosen, [*names.releases, *gone])
    findings = chain(
        chain.from_iterable(check_release(records, named) for named in releases),
        chain.from_iterable(check_ledger(records, name) for name in booked),
        check_rewritten(records, booked, file),
        chain.from_iterable(check_block(records, block, names.releases) for block in blocks),
        _report_missing_tags(store, gone, names),
        unread,
        () if chosen else odd,
        ()
        if chosen
        else (make_finding("tag-ignored", Place(TAG_REFS + tag), tag=tag, why=_BAD_NAME) for tag in names.others),
    )
    return Verification(len(releases), len(booked), len(blocks), _sort_findings(findings))


def check_lock(store: ArtifactStore) -> Verification:
    """Look whether the store's lock holds every reference, and whether all is still as it holds it. Reads only."""
    lock, unread = _read_own_lock(store)
    if unread or not lock.exists:
        return Verification(0, 0, 0, tuple(unread or [make_finding("lock-missing", Place(LOCK_FILE))]), "lock")
    records, names = ReleaseRecords(store, lock), list_tag_refs(store)
    blocks, odd = read_lock_blocks(records, LOCK_FILE)
    expected_tags = _expect_block_tags(records, blocks)
    findings = chain(
        odd,
        chain.from_iterable(check_block(records, block, names.releases) for block in blocks),
        check_rewritten(records, lock.ledgers, LOCK_FILE),
        _report_missing_tags(store, expected_tags, names),
        _check_references(store),
    )
    return Verification(len(expected_tags), len(lock.ledgers), len(blocks), _sort_findings(findings), "lock")


def _read_own_lock(store: ArtifactStore) -> tuple[Lock, list[Finding]]:
    try:
        return store.lock, []
    except LoadError as error:
        place = error.place or Place(LOCK_FILE)
        return NO_LOCK, [make_finding("lock-unreadable", place, message=error.message, hint=error.hint or "")]


def _parse_release_ref(text: str) -> Ref:
    ref = parse_ref(text)
    if not ref.names_release:
        raise RefError(f"{ref} names no release", hint=f"evalstore verify {ref.name}")
    return ref


def _is_selected(chosen: Sequence[Ref], name: str, version: Version | None) -> bool:
    return not chosen or any(one.name == name and (version is None or _covers_version(one, version)) for one in chosen)


def _covers_version(one: Ref, version: Version) -> bool:
    if one.version is not None:
        return one.version == version
    return one.range is None or version in one.range


def _check_known(store: ArtifactStore, chosen: Sequence[Ref], tags: Iterable[str]) -> None:
    known = [store.tags.grammar.parse_name(tag) for tag in tags] if chosen else []
    for one in chosen:
        if not any(
            named and f"{named[0]}/{named[1]}" == one.name and _covers_version(one, named[2]) for named in known
        ):
            raise build_unknown_error(store, one)


def _expect_ledger_tags(
    records: ReleaseRecords, names: Iterable[str], is_wanted: ReleaseFilter
) -> dict[str, Callable[[], Finding]]:
    prefix = records.store.tag_prefix
    lines = (
        (name, line) for name in names if (ledger := records.find_ledger(name)) for line in ledger.by_version.values()
    )
    return {
        f"{prefix}{name}@{line.version}": partial(report_untagged_line, records, name, line)
        for name, line in lines
        if is_wanted(name, line.version)
    }


def _expect_block_tags(records: ReleaseRecords, blocks: Iterable[LockBlock]) -> dict[str, Callable[[], Finding]]:
    tags = ((find_expected_tag(records, block), block) for block in blocks)
    return {tag: partial(report_untagged_block, block, tag) for tag, block in tags if tag}


def _report_missing_tags(store: ArtifactStore, expected_tags: ExpectedTags, names: TagListing) -> Iterator[Finding]:
    gone = [make for tag, make in expected_tags.items() if tag not in names.releases]
    shallow = store.repository.shallow
    if len(gone) < _MANY or (names.releases and not shallow):
        yield from (make() for make in gone)
        return
    clone, fetch = ("shallow", "--unshallow --tags") if shallow else ("tag-less", "--tags")
    yield make_finding(
        "tags-missing", Place(TAG_REFS), count=len(gone), all=len(expected_tags), clone=clone, fetch=fetch
    )


def _check_references(store: ArtifactStore) -> Iterator[Finding]:
    seen = set()
    for place, ref, _ in walk_references(store, partial(_resolve_or_none, store)):
        seen.add(str(ref))
        if str(ref) not in store.lock.refs:
            yield make_finding("reference-unlocked", place, ref=ref)
    for text, held in store.lock.refs.items():
        if text not in seen:
            yield make_finding("lock-unused", Place(LOCK_FILE, held.line), ref=text)


def _resolve_or_none(store: ArtifactStore, _: Place, ref: Ref) -> Resolved | None:
    """Return what a reference means, to be followed; why it means nothing is a finding of its block, or of none."""
    try:
        return store.resolve(ref)
    except EvalstoreError:
        return None


def _sort_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    once = dict.fromkeys(findings)
    return tuple(sorted(once, key=lambda one: (one.file, one.line or 0, one.column or 0, one.rule, one.message)))
