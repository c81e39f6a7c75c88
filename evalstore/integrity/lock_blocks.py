"""Checks a lock, block by block, against what is there: tag and tag object, commit, bytes and digests."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from evalstore.documents import format_json_pointer
from evalstore.errors import EvalstoreError, Place, RefError
from evalstore.integrity.records import ReleaseRecords, find_tag_object
from evalstore.integrity.rules import make_finding
from evalstore.integrity.tags import (
    ReleaseTag,
    make_invalid_tag_finding,
    make_unreadable_finding,
    read_release_file,
    read_tag_object,
)
from evalstore.model import Artifact, Finding, PinType, Ref, compute_digests, parse_ref
from evalstore.model.lock import LockEntry
from evalstore.store import ArtifactStore, Resolved
from evalstore.store.artifacts import find_rows_blob
from evalstore.store.resolve import CommittedArtifact, find_locked_version, resolve_at_commit
from evalstore.store.tags import TAG_REFS, GitTag


@dataclass(frozen=True, slots=True)
class LockBlock:
    """One reference of a lock, what it was locked to, and the lock's file."""

    ref: Ref
    entry: LockEntry
    file: str

    def make_finding(self, rule: str, **facts: object) -> Finding:
        """Return a finding at this block."""
        place = Place(self.file, self.entry.line or None)
        return make_finding(rule, place, format_json_pointer(("refs", str(self.ref))), ref=self.ref, **facts)

    def describe_restore(self, tag_name: str) -> str:
        """Say how the tag is put back to what was locked."""
        return f"put it back: git update-ref {TAG_REFS}{tag_name} {self.entry.tag_object or self.entry.commit}"


def read_lock_blocks(records: ReleaseRecords, file: str) -> tuple[list[LockBlock], list[Finding]]:
    """Return the blocks of a lock, and the findings of those whose reference cannot be parsed."""
    blocks, findings = [], []
    for text, entry in records.lock.refs.items():
        try:
            blocks.append(LockBlock(parse_ref(text), entry, file))
        except RefError as error:
            place, pointer = Place(file, entry.line), format_json_pointer(("refs", text))
            findings.append(make_finding("lock-edited", place, pointer, ref=text, what=error.message))
    return blocks, findings


def find_expected_tag(records: ReleaseRecords, block: LockBlock) -> str | None:
    """Return the name of the tag that a block needs; None when it needs none."""
    version = find_locked_version(block.ref, block.entry) if block.ref.type is not PinType.REVISION else None
    return records.store.tags.grammar.format_name(block.ref.kind, block.ref.id, version) if version else None


def report_untagged_block(block: LockBlock, tag_name: str) -> Finding:
    """Return the finding of a block whose tag is not there."""
    return block.make_finding("tag-missing", back=f"git fetch --tags; or {block.describe_restore(tag_name)}")


def check_block(records: ReleaseRecords, block: LockBlock, tags: Mapping[str, ReleaseTag]) -> Iterator[Finding]:
    """Yield what is no longer as it was locked; a tag that is not there at all is reported by the caller."""
    back = "evalstore lock holds what is there now, when that is what you want"
    try:
        if block.ref.type is not PinType.REVISION:
            yield from _check_release_block(records, block, tags)
            return
        here = resolve_at_commit(records.store, block.ref, block.entry.commit)
        yield from _check_content(
            records, block, _ReleaseContent(here.artifact, here.blob or "", here.commit or ""), back
        )
    except EvalstoreError as error:
        yield make_unreadable_finding(error, str(block.ref), Place(block.file, block.entry.line), back)


def check_resolved_block(store: ArtifactStore, block: LockBlock, here: Resolved) -> Iterator[Finding]:
    """Yield what `check_block` does for a reference that resolves: the version, blob and rows are those of the lock."""
    entry = block.entry
    if compute_digests(here.artifact) != (entry.digest, entry.scoring_digest):
        yield block.make_finding("lock-edited", what="its digests are not those of its blob")
        return
    # The same content under another tag object: somebody made the tag again.
    if here.tag and (find_tag_object(store, here), here.commit) != (entry.tag_object, entry.commit):
        yield block.make_finding("tag-remade", back=block.describe_restore(here.tag))


class LockedReleases:
    """The blocks of a lock by the tags that they need: each is checked while its release is at hand.

    `findings` are those of the blocks that were.
    """

    def __init__(self, records: ReleaseRecords, blocks: Iterable[tuple[str | None, LockBlock]]) -> None:
        self.findings: list[Finding] = []
        self._records = records
        self._rest: defaultdict[str | None, list[LockBlock]] = defaultdict(list)
        for tag, block in blocks:
            self._rest[tag].append(block)

    def check(self, git_tag: GitTag, file: CommittedArtifact, digests: tuple[str, str]) -> None:
        """Check the blocks of one release of these digests; those that raise stay, for `check_block` to report."""
        blocks = self._rest.get(git_tag.name, ())
        if "rows" not in file.artifact.value:
            # Nearly all are as they were locked: a comparison for each costs a tenth of asking what differs.
            here = git_tag.oid if git_tag.target else None, git_tag.commit, file.blob, *digests, None
            blocks = [block for block in blocks if block.entry.content != here]
        with suppress(EvalstoreError):
            found = [list(check_tagged_block(self._records, block, git_tag, file, digests)) for block in blocks]
            self.findings += chain.from_iterable(found)
            self._rest.pop(git_tag.name, None)

    def list_rest(self) -> list[LockBlock]:
        """Return the blocks that are not checked yet."""
        return list(chain.from_iterable(self._rest.values()))


class _ReleaseContent(NamedTuple):
    artifact: Artifact
    blob: str
    commit: str
    digests: tuple[str, str] | None = None  # where they are known


def _check_release_block(
    records: ReleaseRecords, block: LockBlock, tags: Mapping[str, ReleaseTag]
) -> Iterator[Finding]:
    name = find_expected_tag(records, block)
    if name is None:
        version = block.entry.version or "(none)"
        yield block.make_finding("lock-edited", what=f"it cannot mean the version {version}")
        return
    tag = tags.get(name)
    if tag is None:
        return
    git_tag, _ = read_tag_object(records.store, tag)
    if git_tag.flaw:
        yield make_invalid_tag_finding(tag, git_tag.flaw)
        return
    file = read_release_file(records.store, tag, git_tag.commit)
    yield from check_tagged_block(records, block, git_tag, file)


def check_tagged_block(
    records: ReleaseRecords,
    block: LockBlock,
    git_tag: GitTag,
    file: CommittedArtifact,
    digests: tuple[str, str] | None = None,
) -> Iterator[Finding]:
    """Yield what `check_block` does, of a release that is read already; raises where its rows cannot be found."""
    entry, back = block.entry, block.describe_restore(git_tag.name)
    findings = list(
        _check_content(records, block, _ReleaseContent(file.artifact, file.blob, git_tag.commit, digests), back)
    )
    yield from findings
    # The same content under another tag object: somebody made the tag again.
    if not findings and (git_tag.oid if git_tag.target else None, git_tag.commit) != (entry.tag_object, entry.commit):
        yield block.make_finding("tag-remade", back=back)


def _check_content(records: ReleaseRecords, block: LockBlock, here: _ReleaseContent, back: str) -> Iterator[Finding]:
    entry = block.entry
    if here.blob != entry.blob:
        yield block.make_finding(
            "tag-moved", what=f"its file is blob {here.blob[:12]}, and {entry.blob[:12]} was locked", back=back
        )
    elif (rows := find_rows_blob(records.store, here.artifact, here.commit)) != entry.rows:
        change = f"its rows are blob {(rows or '(none)')[:12]}, and {(entry.rows or '(none)')[:12]} was locked"
        yield block.make_finding("tag-moved", what=change, back=back)
    elif (here.digests or compute_digests(here.artifact)) != (entry.digest, entry.scoring_digest):
        yield block.make_finding("lock-edited", what="its digests are not those of its blob")
