"""Writes a lock, and checks each of its blocks against what exists.

Tag object, commit, bytes and digests are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalstore.documents import format_json_pointer
from evalstore.errors import EvalstoreError, Place, RefError, RefusedError
from evalstore.files import read_below
from evalstore.model import Finding, PinType, Ref, parse_ref
from evalstore.model.lock import LIMIT, LOCK_FILE, Lock, LockedLedger, LockEntry, write_lock
from evalstore.progress import Watch
from evalstore.release.dependencies.references import FindPlace, walk_references
from evalstore.release.integrity_rules import make_finding
from evalstore.release.records.ledger_records import describe_rewrite, find_tag_object
from evalstore.release.records.release_tags import (
    ReleaseTag,
    make_invalid_tag_finding,
    make_unreadable_finding,
    read_release_file,
    read_tag_object,
)
from evalstore.release.transactions.locking import lock_repository, write_locked_file
from evalstore.store import ArtifactStore, Resolved
from evalstore.store.artifacts import find_rows_blob
from evalstore.store.resolve import (
    build_resolved,
    find_locked_version,
    resolve_at_commit,
    resolve_unlocked,
)
from evalstore.store.tags import TAG_REFS

_FIXED = frozenset({PinType.EXACT, PinType.WORKTREE})  # kinds of pins that cannot move
_LOCK_ANEW = "to lock what is there now: evalstore lock"


@dataclass(frozen=True, slots=True)
class LockedRef:
    """One reference and its locked version.

    `previous` is the version before, None if it was not locked.
    """

    ref: str
    version: str
    previous: str | None
    changed: bool


@dataclass(frozen=True, slots=True)
class LockResult:
    """The lock after `lock`.

    `written` is False if nothing changed. Nothing refers to `removed` any more.
    """

    path: str
    written: bool
    refs: tuple[LockedRef, ...]
    removed: tuple[str, ...]
    ledgers: int


def lock(
    store: ArtifactStore,
    refs: Sequence[str] = (),
    *,
    update: bool = False,
    watch: Watch[Any] = iter,
) -> LockResult:
    """Write the lock of a store; a reference that was locked before stays where it was.

    `update` moves floating references (ranges, `latest`, no pin, a branch) to what they mean today:
    those of `refs`, by name or as written, or all. Raises `RefusedError`, and writes nothing, if
    locked content has changed since, and `RefError` for one of `refs` that nothing refers to.
    `watch` wraps the iterations over artifacts and references (a progress bar).
    """
    if store.root is None:
        raise RefusedError(
            "a bare repository has no working tree to lock", hint="run it in a clone"
        )
    old, selectors = store.lock, [parse_ref(text) for text in refs]
    references = _resolve_references(store, lambda ref: update and _can_move(ref, selectors), watch)
    for selector in selectors:
        if not any(_selects(selector, ref) for ref, _ in references):
            hint = "see what is locked: evalstore lock"
            raise RefError(f"nothing in this store refers to {selector}", hint=hint)
    entries = {str(ref): _lock_reference(store, resolved) for ref, resolved in references}
    new = Lock(entries, _lock_ledgers(store, old))
    data = write_lock(new)
    written = not old.exists or read_below(store.root, LOCK_FILE, LIMIT) != data
    if written:
        with lock_repository(store, {}):
            write_locked_file(store.root, LOCK_FILE, data)
        store.forget()
    locked = tuple(
        _make_locked_ref(ref, entry, old.refs.get(ref)) for ref, entry in sorted(entries.items())
    )
    return LockResult(
        LOCK_FILE,
        written,
        locked,
        tuple(sorted(old.refs.keys() - entries.keys())),
        len(new.ledgers),
    )


def _can_move(ref: Ref, selectors: Sequence[Ref]) -> bool:
    return ref.type not in _FIXED and (
        not selectors or any(_selects(selector, ref) for selector in selectors)
    )


def _selects(selector: Ref, ref: Ref) -> bool:
    return str(selector) == str(ref) or (
        selector.type is PinType.NONE and selector.name == ref.name
    )


def _resolve_references(
    store: ArtifactStore, moves: Callable[[Ref], bool], watch: Watch[Any]
) -> list[tuple[Ref, Resolved]]:
    def resolve_at(find_place: FindPlace, ref: Ref) -> Resolved:
        try:
            return resolve_unlocked(store, ref) if moves(ref) else store.resolve(ref)
        except EvalstoreError as error:
            error.place = error.place or find_place()
            raise

    found = walk_references(store, resolve_at, watch=watch)
    return [(ref, resolved) for _, ref, resolved in found if resolved]


def _lock_reference(store: ArtifactStore, resolved: Resolved) -> LockEntry:
    return LockEntry(
        version=resolved.version,
        tag_object=find_tag_object(store, resolved),
        commit=resolved.commit or "",
        blob=resolved.blob or "",
        digest=resolved.digest,
        scoring_digest=resolved.scoring_digest,
        rows=find_rows_blob(store, resolved.artifact, resolved.commit),
    )


def _lock_ledgers(store: ArtifactStore, old: Lock) -> dict[str, LockedLedger]:
    for name, locked_ledger in old.ledgers.items():
        if change := describe_rewrite(store, name, locked_ledger):
            raise RefusedError(
                f"the ledger of {name} does not continue the locked one: {change}",
                place=Place(LOCK_FILE, locked_ledger.line),
                hint=(
                    f"see evalstore verify {name}; to lock the ledger as it is, remove its line "
                    f"from {LOCK_FILE}"
                ),
            )
    # A ledger only grows, so today's lines are valid until the next lock, too.
    store.ledgers.expect(names := store.ledgers.list_names())
    locked: dict[str, LockedLedger] = {}
    for name in names:
        ledger = store.ledgers.read(name)
        if length := len(ledger.raw):
            locked[name] = LockedLedger(length, ledger.hash_prefix(length))
    return locked


def _make_locked_ref(ref: str, entry: LockEntry, old: LockEntry | None) -> LockedRef:
    return LockedRef(ref, entry.version, old.version if old else None, entry != old)


@dataclass(frozen=True, slots=True)
class LockBlock:
    """One reference in a lock, what it was locked to, and the lock's file."""

    ref: Ref
    entry: LockEntry
    file: str

    def make_finding(self, rule: str, **facts: object) -> Finding:
        """Return a finding about this block."""
        place = Place(self.file, self.entry.line or None)
        return make_finding(
            rule, place, format_json_pointer(("refs", str(self.ref))), ref=self.ref, **facts
        )

    def describe_restore(self, tag_name: str) -> str:
        """Say how to restore the tag to what was locked."""
        return (
            f"put it back: git update-ref {TAG_REFS}{tag_name} "
            f"{self.entry.tag_object or self.entry.commit}"
        )


def read_lock_blocks(lock: Lock, file: str) -> tuple[list[LockBlock], list[Finding]]:
    """Return the blocks of a lock, and findings for those whose reference cannot be parsed."""
    blocks, findings = [], []
    for text, entry in lock.refs.items():
        try:
            blocks.append(LockBlock(parse_ref(text), entry, file))
        except RefError as error:
            place, pointer = Place(file, entry.line), format_json_pointer(("refs", text))
            findings.append(
                make_finding("lock-edited", place, pointer, ref=text, what=error.message)
            )
    return blocks, findings


def find_expected_tag(store: ArtifactStore, block: LockBlock) -> str | None:
    """Return the name of the tag that a block needs; None if it needs none."""
    version = (
        find_locked_version(block.ref, block.entry)
        if block.ref.type is not PinType.REVISION
        else None
    )
    return (
        store.tags.grammar.format_name(block.ref.kind, block.ref.id, version) if version else None
    )


def report_untagged_block(block: LockBlock, tag_name: str, fetch: str) -> Finding:
    """Return the finding about a block whose tag is missing.

    `fetch` says where the tag may be, "" if nothing is known.
    """
    restore = block.describe_restore(tag_name)
    return block.make_finding("tag-missing", back=f"{fetch}; or {restore}" if fetch else restore)


def check_block(
    store: ArtifactStore, block: LockBlock, tags: Mapping[str, ReleaseTag]
) -> Iterator[Finding]:
    """Yield what is no longer as it was locked.

    The caller reports a tag that is missing altogether.
    """
    try:
        if block.ref.type is PinType.REVISION:
            yield from check_content(
                store, block, resolve_at_commit(store, block.ref, block.entry.commit)
            )
        else:
            yield from _check_release_block(store, block, tags)
    except EvalstoreError as error:
        yield make_unreadable_finding(
            error, str(block.ref), Place(block.file, block.entry.line), _LOCK_ANEW
        )


def _check_release_block(
    store: ArtifactStore, block: LockBlock, tags: Mapping[str, ReleaseTag]
) -> Iterator[Finding]:
    name = find_expected_tag(store, block)
    if name is None:
        version = block.entry.version or "(none)"
        yield block.make_finding("lock-edited", what=f"it cannot resolve to version {version}")
        return
    tag = tags.get(name)
    if tag is None:
        return
    git_tag, _ = read_tag_object(store, tag)
    if git_tag.flaw:
        yield make_invalid_tag_finding(tag, git_tag.flaw)
        return
    file = read_release_file(store, tag, git_tag.commit)
    yield from check_content(
        store,
        block,
        build_resolved(tag.ref, file.artifact, file.blob, tag=name, commit=git_tag.commit),
    )


def check_content(store: ArtifactStore, block: LockBlock, here: Resolved) -> Iterator[Finding]:
    """Yield `check_block`'s findings about what a reference means now.

    Raises if its rows are missing.
    """
    entry, back = block.entry, block.describe_restore(here.tag) if here.tag else _LOCK_ANEW
    if here.blob != entry.blob:
        change = f"its file is blob {(here.blob or '')[:12]}, and the lock has {entry.blob[:12]}"
        yield block.make_finding("tag-moved", what=change, back=back)
    elif (rows := find_rows_blob(store, here.artifact, here.commit)) != entry.rows:
        change = (
            f"its rows are blob {(rows or '(none)')[:12]}, and the lock has "
            f"{(entry.rows or '(none)')[:12]}"
        )
        yield block.make_finding("tag-moved", what=change, back=back)
    elif (here.digest, here.scoring_digest) != (entry.digest, entry.scoring_digest):
        yield block.make_finding("lock-edited", what="its digests are not those of its blob")
    # The same content under another tag object: somebody made the tag again.
    elif here.tag and (find_tag_object(store, here), here.commit) != (
        entry.tag_object,
        entry.commit,
    ):
        yield block.make_finding("tag-remade", back=back)
