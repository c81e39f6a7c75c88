"""What a lock holds, block by block, against what is there: tag and tag object, commit, bytes and digests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from evalstore.documents import json_pointer
from evalstore.errors import EvalstoreError, Place, RefError
from evalstore.integrity.books import Books
from evalstore.integrity.releases import broken, invalid
from evalstore.integrity.rules import found
from evalstore.integrity.tags import Named, read_release, read_tag
from evalstore.model import Artifact, Finding, PinType, Ref, parse_ref
from evalstore.model.lock import Held
from evalstore.store.held import find_locked_version
from evalstore.store.resolve import resolve_at_commit
from evalstore.store.rows import rows_blob
from evalstore.store.tags import TAG_REFS


@dataclass(frozen=True, slots=True)
class Block:
    """One reference of a lock, and where it stands."""

    ref: Ref
    held: Held
    file: str

    def found(self, rule: str, **facts: object) -> Finding:
        """Return a finding at this block."""
        place = Place(self.file, self.held.line or None)
        return found(rule, place, json_pointer(("refs", str(self.ref))), ref=self.ref, **facts)

    def back(self, tag: str) -> str:
        """Say how the tag is put back to what was locked."""
        return f"put it back: git update-ref {TAG_REFS}{tag} {self.held.tag_object or self.held.commit}"


def read_blocks(books: Books, file: str) -> tuple[list[Block], list[Finding]]:
    """Return the blocks of a lock, and the findings of those that name nothing."""
    blocks, findings = [], []
    for text, held in books.lock.refs.items():
        try:
            blocks.append(Block(parse_ref(text), held, file))
        except RefError as error:
            place, pointer = Place(file, held.line), json_pointer(("refs", text))
            findings.append(found("lock-edited", place, pointer, ref=text, what=error.message))
    return blocks, findings


def expected(books: Books, block: Block) -> str | None:
    """Return the name of the tag that a block needs; None when it needs none."""
    version = find_locked_version(block.ref, block.held) if block.ref.type is not PinType.REVISION else None
    return books.store.tags.grammar.format_name(block.ref.kind, block.ref.id, version) if version else None


def untagged(block: Block, tag: str) -> Finding:
    """Return the finding of a block whose tag is not there."""
    return block.found("tag-missing", back=f"git fetch --tags; or {block.back(tag)}")


def block_findings(books: Books, block: Block, tags: Mapping[str, Named]) -> Iterator[Finding]:
    """Yield what is no longer as it was locked; nothing where the tag is not there at all, which `expected` tells."""
    back = "evalstore lock holds what is there now, when that is what you want"
    try:
        if block.ref.type is not PinType.REVISION:
            yield from _release(books, block, tags)
            return
        here = resolve_at_commit(books.store, block.ref, block.held.commit)
        yield from _content(books, block, _Content(here.artifact, here.blob or "", here.commit or ""), back)
    except EvalstoreError as error:
        yield broken(error, str(block.ref), Place(block.file, block.held.line), back)


class _Content(NamedTuple):
    artifact: Artifact
    blob: str
    commit: str


def _release(books: Books, block: Block, tags: Mapping[str, Named]) -> Iterator[Finding]:
    held, name = block.held, expected(books, block)
    if name is None:
        yield block.found("lock-edited", what=f"it cannot mean the version {held.version or '(none)'}")
        return
    named, back = tags.get(name), block.back(name)
    if named is None:
        return
    tag, _ = read_tag(books.store, named)
    if tag.flaw:
        yield invalid(named, tag.flaw)
        return
    file = read_release(books.store, named, tag.commit)
    findings = list(_content(books, block, _Content(file.artifact, file.blob, tag.commit), back))
    yield from findings
    if not findings and (tag.oid if tag.target else None, tag.commit) != (held.tag_object, held.commit):
        yield block.found("tag-remade", back=back)


def _content(books: Books, block: Block, here: _Content, back: str) -> Iterator[Finding]:
    held = block.held
    if here.blob != held.blob:
        yield block.found(
            "tag-moved", what=f"its file is blob {here.blob[:12]}, and {held.blob[:12]} was locked", back=back
        )
    elif (rows := rows_blob(books.store, here.artifact, here.commit)) != held.rows:
        said = f"its rows are blob {(rows or '(none)')[:12]}, and {(held.rows or '(none)')[:12]} was locked"
        yield block.found("tag-moved", what=said, back=back)
    elif (here.artifact.digest, here.artifact.scoring_digest) != (held.digest, held.scoring_digest):
        yield block.found("lock-edited", what="its digests are not those of its blob")
