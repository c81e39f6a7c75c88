"""Release tags: lists them unread, and checks each against its file and the ledgers."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from typing import NamedTuple

from evalstore.errors import EvalstoreError, GitError, LoadError, Place, RefError, RefusedError
from evalstore.model import Finding, PinType, Ref, Severity
from evalstore.release.integrity_rules import make_finding
from evalstore.release.records.ledger_records import ReleaseRecords, quote_ledger_path
from evalstore.store import ArtifactStore, Resolved
from evalstore.store.artifacts import find_rows_blob
from evalstore.store.ledger import LedgerLine, locate_ledger
from evalstore.store.repository.object_reader import MissingObjectError
from evalstore.store.repository.objects import parse_tag
from evalstore.store.resolve import CommittedArtifact, build_resolved, read_tagged
from evalstore.store.tags import TAG_REFS, GitTag
from evalstore.text import SHORT_DIGEST, make_excerpt
from evalstore.versions import Version

_NOT_RELEASED = (
    "it was not released with evalstore; remove it: git tag -d {tag}; or, if it is yours"
)
_RENUMBER = (
    "another branch released it, too; if yours was never pushed: evalstore bump --again; otherwise "
)
_RELEASED = (
    "its own commit {commit} lists it, so its branch is missing here: git fetch, or {who} "
    "pushes it; or take it in: git merge {tag}; or, if it was withdrawn"
)
_DIGEST = re.compile(rb"^Evalstore-Digest: *([0-9a-f]{64})$", re.MULTILINE)


class ReleaseTag(NamedTuple):
    """A ref below refs/tags/ whose name is that of a release.

    `oid` is what it points at, which has not been read yet.
    """

    name: str
    oid: str
    symref: str
    ref: Ref  # which names this release
    version: Version


class TagListing(NamedTuple):
    """All tags below the folders of releases.

    They are the releases by tag name, and the names that are not releases.
    """

    releases: dict[str, ReleaseTag]
    others: list[str]


def list_tag_refs(store: ArtifactStore) -> TagListing:
    """List the tags below the folders of releases with one call to git.

    git reads no object for it: a damaged one would end the listing of all.
    """
    listing = TagListing({}, [])
    for name, (oid, symref) in store.tags.list_unread().items():
        if release := store.tags.grammar.parse_name(name):
            kind, id_, version = release
            ref = Ref(kind, id_, str(version), PinType.EXACT, version)
            listing.releases[name] = ReleaseTag(name, oid, symref, ref, version)
        else:
            listing.others.append(name)
    return listing


def read_tag_object(store: ArtifactStore, tag: ReleaseTag) -> tuple[GitTag, str]:
    """Return a tag as its object says, and the digest in its trailers, "" if there is none.

    Raises `GitError` if the object is missing or damaged.
    """
    if prefetched := store.prefetch.find(tag.name):
        return prefetched.tag, _find_digest(prefetched.tag_data)
    stored = store.objects.read(tag.oid)
    if stored.type != "tag":  # a lightweight tag: the ref names the commit itself
        return GitTag(tag.name, tag.oid, tag.symref, stored.type, "", "", ""), ""
    fields = parse_tag(stored.data)
    git_tag = GitTag(
        tag.name, tag.oid, tag.symref, stored.type, fields.target, fields.type, fields.name
    )
    return git_tag, _find_digest(stored.data)


def _find_digest(tag_data: bytes) -> str:
    digests = _DIGEST.findall(tag_data)
    return digests[-1].decode("ascii") if digests else ""


def read_release_file(store: ArtifactStore, tag: ReleaseTag, commit: str) -> CommittedArtifact:
    """Return the file of a release at its commit.

    Raises any `EvalstoreError` if there is none with its id and version.
    """
    file = read_tagged(store, tag.ref, commit, tag=tag.name)
    if file.artifact.version == tag.ref.pin:
        return file
    place = file.artifact.document.locate(("version",))
    raise LoadError(
        f"the file at its commit has version {file.artifact.version or '(none)'}", place=place
    )


def check_release(
    records: ReleaseRecords, tag: ReleaseTag
) -> Generator[Finding, None, Resolved | None]:
    """Yield what is wrong with one release.

    Its tag object, its file, its rows and its line in the ledger are checked. Returns the release
    if no finding is an error: it is what was released.
    """
    # In the order of trust: the tag object, then the file, then the rows, then what the ledgers say
    # about them.
    try:
        git_tag, said = read_tag_object(records.store, tag)
        if git_tag.flaw:
            yield make_invalid_tag_finding(tag, git_tag.flaw)
            return None
        file = read_release_file(records.store, tag, git_tag.commit)
        if said and said != file.artifact.digest:
            what = f"its tag has digest {said[:12]}…, but its file has {file.artifact.digest[:12]}…"
            raise RefusedError(what, place=file.artifact.document.locate())
        if rows := find_rows_blob(records.store, file.artifact, git_tag.commit):
            records.check_rows_readable(rows)
        found = list(_check_against_ledgers(records, tag, git_tag.commit, file))
        yield from found
        if all(finding.severity is not Severity.ERROR for finding in found):
            return build_resolved(
                tag.ref, file.artifact, file.blob, tag=tag.name, commit=git_tag.commit
            )
    except EvalstoreError as error:
        place = Place(TAG_REFS + tag.name)
        if isinstance(error, RefError) and not records.is_recorded(tag.ref.name, str(tag.version)):
            # A repository can have several stores: no reference in this one can mean that tag.
            yield make_finding("tag-ignored", place, tag=tag.name, why=error.message)
        else:
            yield make_unreadable_finding(
                error, str(tag.ref), place, _describe_restore(records, tag)
            )
    return None


def make_invalid_tag_finding(tag: ReleaseTag, flaw: str) -> Finding:
    """Return the finding about a tag that is not a release."""
    return make_finding("tag-invalid", Place(TAG_REFS + tag.name), tag=tag.name, what=flaw)


def make_unreadable_finding(error: EvalstoreError, ref: str, place: Place, back: str) -> Finding:
    """Return the finding about a release that cannot be read, or whose file is that of another."""
    place = error.place or place
    if isinstance(error, GitError):
        rule = "object-missing" if isinstance(error, MissingObjectError) else "object-damaged"
        return make_finding(rule, place, ref=ref, message=error.message, hint=error.hint or "")
    return make_finding("release-invalid", place, ref=ref, message=error.message, back=back)


def _check_against_ledgers(
    records: ReleaseRecords, tag: ReleaseTag, commit: str, file: CommittedArtifact
) -> Iterator[Finding]:
    ledger = records.find_ledger(tag.ref.name)
    if ledger is None:  # it cannot be read, which `check_ledger` reports
        return
    line = ledger.by_version.get(tag.ref.pin)
    if line is None:
        yield from _check_unlisted(records, tag, commit, file)
    elif line.sha256 != file.sha256:
        yield _make_moved_finding(records, tag, file, line)


def _check_unlisted(
    records: ReleaseRecords, tag: ReleaseTag, commit: str, file: CommittedArtifact
) -> Iterator[Finding]:
    # A release on another branch is listed there, or at its own commit; one that nobody lists was
    # not released with evalstore, unless the artifact has no ledger at all.
    name, version = tag.ref.name, str(tag.version)
    others = records.list_branch_hashes(name, version)
    own = records.store.ledgers.read_at(commit, name).by_version.get(version)
    if file.sha256 in others:
        return
    if others or (own and own.sha256 != file.sha256):
        recorded = own.sha256 if own else ""
        if others:
            recorded = min(others)
        yield _make_moved_finding(records, tag, file, LedgerLine(0, tag.version, recorded))
    elif own is None and not records.store.ledgers.read(name).raw:
        yield make_finding("release-unrecorded", Place(locate_ledger(name)), name=name)
    else:
        place, line = Place(TAG_REFS + tag.name), f"{version} {file.sha256}"
        yield make_finding(
            "release-unlisted",
            place,
            tag=tag.name,
            ref=tag.ref,
            why=_describe_unlisted(records.store, tag, commit if own else ""),
            path=quote_ledger_path(name),
            line=line,
        )


def _describe_unlisted(store: ArtifactStore, tag: ReleaseTag, commit: str) -> str:
    """Say what to do about a release that only its own commit lists ("": not even that)."""
    if not commit:
        return _NOT_RELEASED.format(tag=tag.name)
    who = make_excerpt(store.commit(commit).author) or "its author"
    return _RELEASED.format(commit=commit[:SHORT_DIGEST], who=who, tag=tag.name)


def _make_moved_finding(
    records: ReleaseRecords, tag: ReleaseTag, file: CommittedArtifact, line: LedgerLine
) -> Finding:
    digest = f"its file has SHA-256 {file.sha256[:12]}…, but the ledger has {line.sha256[:12]}…"
    place = Place(locate_ledger(tag.ref.name), line.number or None)
    # `git fetch --tags --force` puts somebody else's tag in the place of one that was never pushed.
    is_of_others = file.sha256 in records.list_branch_hashes(tag.ref.name, tag.ref.pin)
    again = _RENUMBER if is_of_others else ""
    back = again + _describe_restore(records, tag, line.sha256)
    return make_finding("tag-moved", place, ref=tag.ref, what=digest, back=back)


def _describe_restore(records: ReleaseRecords, tag: ReleaseTag, sha256: str = "") -> str:
    return records.describe_restore(tag.name, str(tag.ref), sha256)
