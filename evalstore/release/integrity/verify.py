"""Verifies all releases against their files, the ledgers and a lock.

It also verifies a lock against its store.
"""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from itertools import chain
from typing import Any

from evalstore.errors import EvalstoreError, LoadError, Place, RefError
from evalstore.model import Finding, Ref, Severity, parse_ref
from evalstore.model.lock import LOCK_FILE, NO_LOCK, Lock
from evalstore.progress import Watch
from evalstore.release.changes.base_store import BaseStore
from evalstore.release.dependencies.references import FindPlace, ReferenceResolver, walk_references
from evalstore.release.dependencies.working_scan import scan_working_files
from evalstore.release.integrity_rules import make_finding
from evalstore.release.records.ledger_history import check_depth, check_ledger_history
from evalstore.release.records.ledger_records import (
    ReleaseRecords,
    check_ledger,
    check_rewritten,
    report_untagged_line,
)
from evalstore.release.records.lock import (
    LockBlock,
    check_block,
    check_content,
    find_expected_tag,
    read_lock_blocks,
    report_untagged_block,
)
from evalstore.release.records.release_bumps import BumpChecker
from evalstore.release.records.release_tags import (
    ReleaseTag,
    TagListing,
    check_release,
    list_tag_refs,
)
from evalstore.release.records.tag_signatures import SignatureSettings, check_signatures
from evalstore.store import ArtifactStore, Resolved
from evalstore.store.repository.config import read_config
from evalstore.store.resolve import (
    ASKED_TAGS,
    build_unknown_error,
    describe_missing_tags,
    expect_releases,
    is_covered,
)
from evalstore.store.revisions import find_refs, read_head
from evalstore.store.tags import TAG_REFS, find_last_release
from evalstore.versions import Version, find_version

# Whether to verify a release: its `<kind>/<id>`, and its version (None: any).
ReleaseFilter = Callable[[str, Version | None], bool]
# The name of a tag that should exist -> the finding to report if it does not, given where to fetch
# it from.
ExpectedTags = Mapping[str, Callable[[str], Finding]]

_SHOWN_IGNORED = 10  # ignored tags that get a finding each
_BAD_NAME = "its name is not <kind>/<id>@<MAJOR.MINOR.PATCH>"


@dataclass(frozen=True, slots=True)
class Verification:
    """How many releases, ledgers and lock entries a command verified, and every finding."""

    releases: int
    ledgers: int
    locked: int
    findings: tuple[Finding, ...]
    command: str = "verify"

    @property
    def ok(self) -> bool:
        """Whether everything verified is what was released.

        Notes (severity info) do not count.
        """
        return all(finding.severity is Severity.INFO for finding in self.findings)


def verify(  # noqa: PLR0913  # what is verified against what, each by its name
    store: ArtifactStore,
    refs: Sequence[str] = (),
    *,
    lock: Lock | None = None,
    file: str = LOCK_FILE,
    watch: Watch[ReleaseTag] = iter,
    remote: bool | str = False,
    signers: bytes | None = None,
    base: BaseStore | None = None,
    now: datetime | None = None,
) -> Verification:
    """Verify that all releases, or those that `refs` name, are what was released.

    A ref names an artifact, a version or a range. `lock` is one from elsewhere, named `file` in
    findings; by default the store's own. `watch` wraps the iteration over the releases (a progress
    bar). `remote` names the one whose tags are compared, too; True is the branch's own. `signers`
    are the bytes of a file of allowed signers from elsewhere, by default the store's own. With
    `base`, the signers, the lock and the acceptances of that commit count as well, and later
    releases are judged by its settings. `now` is when a release arrives that no commit has yet. It
    only reads. Raises `RefError` for a reference that names no release.
    """
    own, unread = _read_own_lock(store) if lock is None else (lock, [])
    records, listing = ReleaseRecords(store, own), list_tag_refs(store)
    settings = SignatureSettings(signers, base, now)
    selected = [_parse_release_ref(text) for text in refs]
    is_wanted = partial(_is_selected, selected)
    of_artifacts = [tag for tag in listing.releases.values() if is_wanted(tag.ref.name, None)]
    bumps = BumpChecker(store, of_artifacts, base, now.date() if now else None)
    releases = [tag for tag in bumps.releases if is_wanted(tag.ref.name, tag.version)]
    names = sorted({*store.ledgers.list_names(), *own.ledgers})
    ledgers = [name for name in names if is_wanted(name, None)]
    blocks, malformed = read_lock_blocks(records.lock, file)
    blocks += _read_base_blocks(base, own) if base else []
    versions = [find_version(block.entry.version) for block in blocks]
    pairs = zip(blocks, versions, strict=True)
    blocks = [block for block, version in pairs if is_wanted(block.ref.name, version)]
    bumps.expect(releases)
    store.ledgers.expect(ledgers)
    tagged_blocks = [(find_expected_tag(store, block), block) for block in blocks]
    expected_tags = _expect_block_tags(tagged_blocks) | _expect_ledger_tags(
        records, ledgers, is_wanted
    )
    _check_known(store, selected, [*listing.releases, *expected_tags])
    unchecked: defaultdict[str | None, list[LockBlock]] = defaultdict(list)
    for tag_name, block in tagged_blocks:
        unchecked[tag_name].append(block)
    of_releases: list[Finding] = []
    for tag in watch(releases):
        of_releases += _check_release(records, tag, bumps, unchecked)
    findings = chain(
        of_releases,
        check_signatures(records, releases, settings),
        chain.from_iterable(check_ledger(records, name) for name in ledgers),
        check_ledger_history(records, lambda name: is_wanted(name, None)),
        check_rewritten(records, ledgers, file),
        _check_blocks(store, list(chain.from_iterable(unchecked.values())), listing),
        _check_missing(store, expected_tags, listing),
        unread,
        _check_remote(store, name=remote) if remote else (),
        () if selected else chain(malformed, _report_ignored_tags(listing)),
    )
    found = list(findings)
    # Files are compared with sound releases only; with a base, status reports that.
    if base is None and all(finding.severity is not Severity.ERROR for finding in found):
        found += _check_files(store, is_wanted)
    return Verification(
        len(releases), len(ledgers), len(blocks), _group_ignored_tags(_sort_findings(found))
    )


def _group_ignored_tags(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return findings, with a single one for all ignored tags after the first ones.

    Another store can have thousands of releases.
    """
    ignored = [finding for finding in findings if finding.rule == "tag-ignored"]
    if len(ignored) <= _SHOWN_IGNORED:
        return tuple(findings)
    grouped = {*ignored[_SHOWN_IGNORED:]}
    names = [
        finding.file.removeprefix(TAG_REFS) for finding in (ignored[_SHOWN_IGNORED], ignored[-1])
    ]
    rest = make_finding(
        "tags-ignored", Place(TAG_REFS), count=f"{len(grouped):,}", first=names[0], last=names[1]
    )
    return (*(finding for finding in findings if finding not in grouped), rest)


def _check_release(
    records: ReleaseRecords,
    tag: ReleaseTag,
    bumps: BumpChecker,
    unchecked: dict[str | None, list[LockBlock]],
) -> Iterator[Finding]:
    """Yield what is wrong with one release.

    If it is sound, its version and the lock's blocks about it are checked. These blocks are removed
    from `unchecked` by the name of their tag; if one raises, they stay for `check_block` to report.
    """
    release = yield from check_release(records, tag)
    if release is None:
        bumps.mark_unsound(tag)
        return
    with suppress(EvalstoreError):
        blocks = unchecked.get(tag.name, ())
        found = [
            finding for block in blocks for finding in check_content(records.store, block, release)
        ]
        unchecked.pop(tag.name, None)
        yield from found
    yield from bumps.check(tag, release)


def _check_files(store: ArtifactStore, is_wanted: ReleaseFilter) -> Iterator[Finding]:
    refs = store.working() if store.root else ()
    groups = store.group_releases().items()
    last = {name: one for name, all_ in groups if (one := find_last_release(all_))}
    if scan_working_files(store, refs, last).changed:
        # It compares what files mean.
        from evalstore.release.integrity.committed_edits import check_committed_edits

        yield from check_committed_edits(store, lambda name: is_wanted(name, None))


def _read_base_blocks(base: BaseStore, own: Lock) -> list[LockBlock]:
    """Return the blocks that differ from, or exist only in, the base's lock.

    They must be true as well.
    """
    refs = {ref: entry for ref, entry in base.lock.refs.items() if own.refs.get(ref) != entry}
    return read_lock_blocks(replace(base.lock, refs=refs), f"git:{base.name}:{LOCK_FILE}")[0]


def _check_missing(
    store: ArtifactStore, expected: ExpectedTags, listing: TagListing
) -> Iterator[Finding]:
    """Yield the tags that are missing, or else what a shallow clone lacks.

    The same command fetches both.
    """
    missing = tuple(_report_missing_tags(store, expected, listing))
    yield from missing
    if not any(finding.rule == "tags-missing" for finding in missing):
        yield from check_depth(store)


def _check_remote(store: ArtifactStore, *, name: bool | str) -> Iterator[Finding]:
    """Yield the releases in HEAD's ledgers that a remote lacks, or has as other objects.

    Raises `RefusedError` for a remote that does not exist, and `GitError` for one that does not
    answer.
    """
    from evalstore.release.publishing.push import find_push_route, find_unpushed_commits
    from evalstore.store.remote import list_remote_tags

    route = find_push_route(read_config(store.git), read_head(store.git).branch, remote_name=name)
    if route is None:
        return
    there = list_remote_tags(store.git, store.repository, route.to)
    tags = store.list_recorded_tags()
    here = find_refs(store.git, [TAG_REFS + tag for tag in tags]) if tags else {}
    unpushed = find_unpushed_commits(store.git, route)
    for tag in tags:
        ref = TAG_REFS + tag
        facts = {"tag": tag, "remote": route.to.name, "ref": shlex.quote(ref)}
        if tag not in there:
            push = "push it" if ref in here else "in a clone that has it"
            yield make_finding("release-unpushed", Place(ref), **facts, push=push)
        elif ref in here and here[ref] != there[tag]:
            objects = {"there": there[tag][:12], "here": here[ref][:12]}
            release = store.tags.find(tag)
            again = (
                f"yours was never pushed: evalstore bump --again --push {facts['remote']}; "
                "otherwise "
            )
            mine = again if release and release.commit in unpushed else ""
            yield make_finding(
                "release-differs-there", Place(ref), **facts, **objects, unpushed=mine
            )


def check_lock(store: ArtifactStore, *, watch: Watch[Any] = iter) -> Verification:
    """Verify that the store's lock has every reference, and that everything is as it was locked.

    It only reads. `watch` wraps the iterations over the lock, artifacts and references (a progress
    bar).
    """
    lock, unread = _read_own_lock(store)
    if unread or not lock.exists:
        return Verification(
            0, 0, 0, tuple(unread or [make_finding("lock-missing", Place(LOCK_FILE))]), "lock"
        )
    records, listing = ReleaseRecords(store, lock), list_tag_refs(store)
    blocks, malformed = read_lock_blocks(lock, LOCK_FILE)
    expected_tags = _expect_block_tags((find_expected_tag(store, block), block) for block in blocks)
    unchecked = {str(block.ref): block for block in blocks}
    store.ledgers.expect(store.ledgers.list_names())
    found: list[Finding] = []

    def resolve_and_check(_: FindPlace, ref: Ref) -> Resolved | None:
        # Each reference is resolved once: to be checked, and for what it refers to itself.
        resolved = None
        with suppress(EvalstoreError):
            resolved = store.resolve(ref)
        if block := unchecked.pop(str(ref), None):
            found.extend(
                check_content(store, block, resolved)
                if resolved
                else check_block(store, block, listing.releases)
            )
        return resolved

    found += _check_references(store, resolve_and_check, watch)
    unused = list(unchecked.values())
    findings = chain(
        malformed,
        found,
        _check_blocks(store, unused, listing, watch=watch),
        check_rewritten(records, lock.ledgers, LOCK_FILE),
        _report_missing_tags(store, expected_tags, listing),
    )
    return Verification(
        len(expected_tags), len(lock.ledgers), len(blocks), _sort_findings(findings), "lock"
    )


def _check_blocks(
    store: ArtifactStore,
    blocks: Sequence[LockBlock],
    listing: TagListing,
    *,
    watch: Watch[LockBlock] = iter,
) -> Iterator[Finding]:
    # Announced just before they are read: what was read ahead for something else may be gone by
    # now.
    expect_releases(store, (block.ref for block in blocks))
    for block in watch(blocks):
        yield from check_block(store, block, listing.releases)


def _read_own_lock(store: ArtifactStore) -> tuple[Lock, list[Finding]]:
    try:
        return store.lock, []
    except LoadError as error:
        place = error.place or Place(LOCK_FILE)
        return NO_LOCK, [
            make_finding("lock-unreadable", place, message=error.message, hint=error.hint or "")
        ]


def _parse_release_ref(text: str) -> Ref:
    ref = parse_ref(text)
    if not ref.names_release:
        raise RefError(f"{ref} names no release", hint=f"evalstore verify {ref.name}")
    return ref


def _is_selected(refs: Sequence[Ref], name: str, version: Version | None) -> bool:
    return not refs or any(
        ref.name == name and (version is None or is_covered(ref, version)) for ref in refs
    )


def _check_known(store: ArtifactStore, refs: Sequence[Ref], tags: Iterable[str]) -> None:
    known = (
        [release for tag in tags if (release := store.tags.grammar.parse_name(tag))] if refs else []
    )
    for ref in refs:
        if not any(
            f"{kind}/{id_}" == ref.name and is_covered(ref, version) for kind, id_, version in known
        ):
            raise build_unknown_error(store, ref)


def _expect_ledger_tags(
    records: ReleaseRecords, names: Iterable[str], is_wanted: ReleaseFilter
) -> dict[str, Callable[[str], Finding]]:
    prefix = records.store.tag_prefix
    expected: dict[str, Callable[[str], Finding]] = {}
    for name in names:
        ledger = records.find_ledger(name)
        for version, line in ledger.by_version.items() if ledger else ():
            if is_wanted(name, line.version):
                tag = f"{prefix}{name}@{version}"
                expected[tag] = partial(report_untagged_line, records, name, line)
    return expected


def _expect_block_tags(
    blocks: Iterable[tuple[str | None, LockBlock]],
) -> dict[str, Callable[[str], Finding]]:
    return {tag: partial(report_untagged_block, block, tag) for tag, block in blocks if tag}


def _report_ignored_tags(listing: TagListing) -> Iterator[Finding]:
    for tag in listing.others:
        yield make_finding("tag-ignored", Place(TAG_REFS + tag), tag=tag, why=_BAD_NAME)


def _report_missing_tags(
    store: ArtifactStore, expected_tags: ExpectedTags, listing: TagListing
) -> Iterator[Finding]:
    missing = [tag for tag in expected_tags if tag not in listing.releases]
    shallow = store.repository.shallow
    if len(missing) > 1 and (shallow or not listing.releases):
        # A shallow clone, or one without any tag: hundreds of findings would all say to fetch.
        clone = "shallow" if shallow else "tag-less"
        fetch = (
            describe_missing_tags(store, missing)
            or "git fetch <address of a clone that has them> --tags"
        )
        count, total = len(missing), len(expected_tags)
        yield make_finding(
            "tags-missing", Place(TAG_REFS), count=count, all=total, clone=clone, fetch=fetch
        )
        return
    anywhere = describe_missing_tags(store) if len(missing) > ASKED_TAGS else ""
    for number, tag in enumerate(missing):
        yield expected_tags[tag](
            describe_missing_tags(store, [tag]) if number < ASKED_TAGS else anywhere
        )


def _check_references(
    store: ArtifactStore, resolve: ReferenceResolver, watch: Watch[Any]
) -> Iterator[Finding]:
    seen = set()
    for find_place, ref, _ in walk_references(store, resolve, watch=watch):
        seen.add(str(ref))
        if str(ref) not in store.lock.refs:
            yield make_finding("reference-unlocked", find_place(), ref=ref)
    for text, entry in store.lock.refs.items():
        if text not in seen:
            yield make_finding("lock-unused", Place(LOCK_FILE, entry.line), ref=text)


def _sort_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    def sort_key(finding: Finding) -> tuple[str, int, int, str, str]:
        return finding.file, finding.line or 0, finding.column or 0, finding.rule, finding.message

    return tuple(sorted(dict.fromkeys(findings), key=sort_key))
