"""One tag at a time: whether it is a release, fits its file, and holds the bytes that a ledger lists."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from evalstore.errors import EvalstoreError, GitError, LoadError, Place, RefError, RefusedError
from evalstore.integrity.records import ReleaseRecords
from evalstore.integrity.rules import make_finding
from evalstore.model import Finding, Kind, PinType, Ref
from evalstore.store import ArtifactStore
from evalstore.store.artifacts import find_rows_blob
from evalstore.store.ledger import LedgerLine, locate_ledger
from evalstore.store.object_reader import MissingObjectError
from evalstore.store.objects import parse_tag
from evalstore.store.resolve import CommittedArtifact, read_committed
from evalstore.store.tags import TAG_REFS, GitTag
from evalstore.versions import Version

_DIGEST = re.compile(rb"^Evalstore-Digest: *([0-9a-f]{64})$", re.MULTILINE)


class ReleaseTag(NamedTuple):
    """A ref whose name is that of a release."""

    tag: str
    oid: str
    symref: str
    kind: Kind
    id: str
    version: Version

    @property
    def ref(self) -> Ref:
        """The reference that means it."""
        return Ref(self.kind, self.id, str(self.version), PinType.EXACT, self.version)


class TagListing(NamedTuple):
    """All refs that stand among the releases, by the tag's name, and those whose name is that of none."""

    releases: dict[str, ReleaseTag]
    others: list[str]


def list_tag_refs(store: ArtifactStore) -> TagListing:
    """List the refs below the folders of releases, by one call to git."""
    names = TagListing({}, [])
    for tag, oid, symref in store.tags.list_unread():
        if release_tag := store.tags.grammar.parse_name(tag):
            names.releases[tag] = ReleaseTag(tag, oid, symref, *release_tag)
        else:
            names.others.append(tag)
    return names


def read_tag_object(store: ArtifactStore, release_tag: ReleaseTag) -> tuple[GitTag, str]:
    """Return a tag as its object says, and the digest that its trailers say, "" without one.

    Raises `GitError` when the object is missing or damaged.
    """
    found = store.objects.read(release_tag.oid)
    if found.type != "tag":
        return GitTag(release_tag.tag, found.type, release_tag.oid, release_tag.symref, "", "", ""), ""
    said = parse_tag(found.data)
    digests = _DIGEST.findall(found.data)
    tag = GitTag(release_tag.tag, found.type, release_tag.oid, release_tag.symref, said.target, said.type, said.name)
    return tag, digests[-1].decode("ascii") if digests else ""


def read_release_file(store: ArtifactStore, release_tag: ReleaseTag, commit: str) -> CommittedArtifact:
    """Return the file of a release at its commit; any `EvalstoreError` when there is none of its id and version."""
    file = read_committed(store, release_tag.ref, commit, label=release_tag.tag)
    if file.artifact.version == str(release_tag.version):
        return file
    place = file.artifact.document.locate(("version",))
    raise LoadError(f"the file at its commit has version {file.artifact.version or '(none)'}", place=place)


def check_release(records: ReleaseRecords, release_tag: ReleaseTag) -> Iterator[Finding]:
    """Yield what is wrong with one tag that has the name of a release."""
    try:
        tag, said = read_tag_object(records.store, release_tag)
        if tag.flaw:
            yield make_invalid_tag_finding(release_tag, tag.flaw)
            return
        file = read_release_file(records.store, release_tag, tag.commit)
        _check_digest(said, file)
        if rows := find_rows_blob(records.store, file.artifact, tag.commit):
            records.check_rows_readable(rows)
        yield from _check_against_ledgers(records, release_tag, tag.commit, file)
    except RefError as error:
        if records.is_recorded(release_tag.ref.name, str(release_tag.version)):
            yield make_unreadable_finding(
                error, str(release_tag.ref), Place(TAG_REFS + release_tag.tag), _describe_restore(records, release_tag)
            )
        else:  # a repository can hold several stores, and nothing here would ever read this one
            yield make_finding("tag-ignored", Place(TAG_REFS + release_tag.tag), tag=release_tag.tag, why=error.message)
    except EvalstoreError as error:
        yield make_unreadable_finding(
            error, str(release_tag.ref), Place(TAG_REFS + release_tag.tag), _describe_restore(records, release_tag)
        )


def make_invalid_tag_finding(release_tag: ReleaseTag, flaw: str) -> Finding:
    """Return the finding of a tag that is no release."""
    return make_finding("tag-invalid", Place(TAG_REFS + release_tag.tag), tag=release_tag.tag, what=flaw)


def make_unreadable_finding(error: EvalstoreError, ref: str, place: Place, back: str) -> Finding:
    """Return the finding of a release that cannot be read, or whose file is that of another."""
    place = error.place or place
    if isinstance(error, GitError):
        rule = "object-missing" if isinstance(error, MissingObjectError) else "object-damaged"
        return make_finding(rule, place, ref=ref, message=error.message, hint=error.hint or "")
    return make_finding("release-invalid", place, ref=ref, message=error.message, back=back)


def _check_digest(said: str, file: CommittedArtifact) -> None:
    if said and said != file.artifact.digest:
        what = f"its tag was made for digest {said[:12]}…, and its file has {file.artifact.digest[:12]}…"
        raise RefusedError(what, place=file.artifact.document.locate())


def _check_against_ledgers(
    records: ReleaseRecords, release_tag: ReleaseTag, commit: str, file: CommittedArtifact
) -> Iterator[Finding]:
    ledger = records.find_ledger(release_tag.ref.name)
    if ledger is None:  # a finding of its own
        return
    line = ledger.by_version.get(str(release_tag.version))
    if line is None:
        yield from _check_unlisted(records, release_tag, commit, file)
    elif line.sha256 != file.sha256:
        yield _make_moved_finding(records, release_tag, file, line)


def _check_unlisted(
    records: ReleaseRecords, release_tag: ReleaseTag, commit: str, file: CommittedArtifact
) -> Iterator[Finding]:
    # A release of another branch is listed there; one that no branch lists was not released with evalstore.
    name, version = release_tag.ref.name, str(release_tag.version)
    others = records.list_branch_hashes(name, version)
    own = records.store.ledgers.read_at(commit, name).by_version.get(version)
    if file.sha256 in others:
        return
    if others or (own and own.sha256 != file.sha256):
        recorded = min(others) if others else own.sha256 if own else ""
        yield _make_moved_finding(records, release_tag, file, LedgerLine(0, release_tag.version, recorded))
    elif own is None and not records.store.ledgers.read(name).raw:
        yield make_finding("release-unrecorded", Place(locate_ledger(name)), name=name)
    else:
        place, line = Place(TAG_REFS + release_tag.tag), f"{version} {file.sha256}"
        yield make_finding(
            "release-unlisted",
            place,
            tag=release_tag.tag,
            ref=release_tag.ref,
            path=records.quote_ledger_path(name),
            line=line,
        )


def _make_moved_finding(
    records: ReleaseRecords, release_tag: ReleaseTag, file: CommittedArtifact, line: LedgerLine
) -> Finding:
    said = f"its file has SHA-256 {file.sha256[:12]}…, and the ledger says {line.sha256[:12]}…"
    place = Place(locate_ledger(release_tag.ref.name), line.number or None)
    return make_finding(
        "tag-moved", place, ref=release_tag.ref, what=said, back=_describe_restore(records, release_tag, line.sha256)
    )


def _describe_restore(records: ReleaseRecords, release_tag: ReleaseTag, sha256: str = "") -> str:
    return records.describe_restore(release_tag.tag, str(release_tag.ref), sha256)
