"""Verify: all releases against their files, the ledgers and a lock; and a lock against the store that it is of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain

from evalstore.errors import EvalstoreError, LoadError, Place, RefError
from evalstore.integrity import ledgers, locked
from evalstore.integrity.books import Books
from evalstore.integrity.locked import Block
from evalstore.integrity.references import all_references
from evalstore.integrity.releases import release_findings
from evalstore.integrity.rules import found
from evalstore.integrity.tags import Names, list_names
from evalstore.integrity.values import Verified
from evalstore.model import Finding, Ref, parse_ref
from evalstore.model.lock import LOCK_FILE, NO_LOCK, Lock
from evalstore.store import ArtifactStore, Resolved
from evalstore.store.resolve import build_unknown_error
from evalstore.store.tags import TAG_REFS
from evalstore.versions import Version, find_version

Wants = Callable[[str, Version | None], bool]
Gone = Mapping[str, Callable[[], Finding]]  # by the name of the tag that should be there

_TOLD_AS_ONE = 2  # from here on, of a clone that never fetched its tags
_NAMED = "its name is not <kind>/<id>@<MAJOR.MINOR.PATCH>"


def verify(store: ArtifactStore, refs: Sequence[str] = (), *, lock: Lock | None = None, file: str = LOCK_FILE) -> Verified:
    """Look whether all releases, or those that `refs` name (an artifact, a version, a range), are what was released.

    `lock` is one that is kept elsewhere, as `file`; by default the store's own. Reads only.
    """
    own, unread = _own_lock(store) if lock is None else (lock, [])
    books, names = Books(store, own), list_names(store)
    chosen = [_chosen(text) for text in refs]
    wants = partial(_wanted, chosen)
    releases = [named for named in names.releases.values() if wants(named.ref.name, named.version)]
    booked = [name for name in sorted({*store.ledgers.list_names(), *books.lock.ledgers}) if wants(name, None)]
    blocks, odd = locked.read_blocks(books, file)
    blocks = [block for block in blocks if wants(block.ref.name, find_version(block.held.version))]
    gone = _of_blocks(books, blocks) | _of_ledgers(books, booked, wants)
    _check_known(store, chosen, [*names.releases, *gone])
    findings = chain(
        chain.from_iterable(release_findings(books, named) for named in releases),
        chain.from_iterable(ledgers.ledger_findings(books, name) for name in booked),
        ledgers.rewritten_findings(books, booked, file),
        chain.from_iterable(locked.block_findings(books, block, names.releases) for block in blocks),
        _missing(store, gone, names),
        unread,
        () if chosen else odd,
        () if chosen else (found("tag-ignored", Place(TAG_REFS + tag), tag=tag, why=_NAMED) for tag in names.others),
    )
    return Verified(len(releases), len(booked), len(blocks), _ordered(findings))


def check_lock(store: ArtifactStore) -> Verified:
    """Look whether the store's lock holds every reference, and whether all is still as it holds it. Reads only."""
    lock, unread = _own_lock(store)
    if unread or not lock.exists:
        return Verified(0, 0, 0, tuple(unread or [found("lock-missing", Place(LOCK_FILE))]), "lock")
    books, names = Books(store, lock), list_names(store)
    blocks, odd = locked.read_blocks(books, LOCK_FILE)
    expected = _of_blocks(books, blocks)
    findings = chain(
        odd,
        chain.from_iterable(locked.block_findings(books, block, names.releases) for block in blocks),
        ledgers.rewritten_findings(books, lock.ledgers, LOCK_FILE),
        _missing(store, expected, names),
        _stale(store),
    )
    return Verified(len(expected), len(lock.ledgers), len(blocks), _ordered(findings), "lock")


def _own_lock(store: ArtifactStore) -> tuple[Lock, list[Finding]]:
    try:
        return store.lock, []
    except LoadError as error:
        place = error.place or Place(LOCK_FILE)
        return NO_LOCK, [found("lock-unreadable", place, message=error.message, hint=error.hint or "")]


def _chosen(text: str) -> Ref:
    ref = parse_ref(text)
    if not ref.names_release:
        raise RefError(f"{ref} names no release", hint=f"evalstore verify {ref.name}")
    return ref


def _wanted(chosen: Sequence[Ref], name: str, version: Version | None) -> bool:
    return not chosen or any(one.name == name and (version is None or _covers(one, version)) for one in chosen)


def _covers(one: Ref, version: Version) -> bool:
    if one.version is not None:
        return one.version == version
    return one.range is None or version in one.range


def _check_known(store: ArtifactStore, chosen: Sequence[Ref], tags: Iterable[str]) -> None:
    known = [store.tags.grammar.parse_name(tag) for tag in tags] if chosen else []
    for one in chosen:
        if not any(named and f"{named[0]}/{named[1]}" == one.name and _covers(one, named[2]) for named in known):
            raise build_unknown_error(store, one)


def _of_ledgers(books: Books, names: Iterable[str], wants: Wants) -> dict[str, Callable[[], Finding]]:
    prefix = books.store.tag_prefix
    lines = ((name, line) for name in names if (ledger := books.ledger(name)) for line in ledger.by_version.values())
    return {
        f"{prefix}{name}@{line.version}": partial(ledgers.untagged, books, name, line)
        for name, line in lines
        if wants(name, line.version)
    }


def _of_blocks(books: Books, blocks: Iterable[Block]) -> dict[str, Callable[[], Finding]]:
    tags = ((locked.expected(books, block), block) for block in blocks)
    return {tag: partial(locked.untagged, block, tag) for tag, block in tags if tag}


def _missing(store: ArtifactStore, expected: Gone, names: Names) -> Iterator[Finding]:
    gone = [make for tag, make in expected.items() if tag not in names.releases]
    shallow = store.repository.shallow
    if len(gone) < _TOLD_AS_ONE or (names.releases and not shallow):
        yield from (make() for make in gone)
        return
    clone, fetch = ("shallow", "--unshallow --tags") if shallow else ("tag-less", "--tags")
    yield found("tags-missing", Place(TAG_REFS), count=len(gone), all=len(expected), clone=clone, fetch=fetch)


def _stale(store: ArtifactStore) -> Iterator[Finding]:
    seen = set()
    for place, ref, _ in all_references(store, partial(_held, store)):
        seen.add(str(ref))
        if str(ref) not in store.lock.refs:
            yield found("reference-unlocked", place, ref=ref)
    for text, held in store.lock.refs.items():
        if text not in seen:
            yield found("lock-unused", Place(LOCK_FILE, held.line), ref=text)


def _held(store: ArtifactStore, _: Place, ref: Ref) -> Resolved | None:
    """Return what a reference means, to be followed; why it means nothing is a finding of its block, or of none."""
    try:
        return store.resolve(ref)
    except EvalstoreError:
        return None


def _ordered(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    once = dict.fromkeys(findings)
    return tuple(sorted(once, key=lambda one: (one.file, one.line or 0, one.column or 0, one.rule, one.message)))
