"""What a store has recorded about its releases: ledgers, also of other branches, and its lock."""

from __future__ import annotations

import shlex
from collections import defaultdict, deque
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from evalstore.documents import format_json_pointer
from evalstore.errors import EvalstoreError, Place
from evalstore.model import Finding, Ref
from evalstore.model.lock import Lock, LockedLedger
from evalstore.release.integrity_rules import make_finding
from evalstore.store import ArtifactStore, Resolved
from evalstore.store.ledger import Ledger, LedgerLine, locate_ledger, parse_ledger, split_ledger
from evalstore.store.repository.objects import find_committed_blobs
from evalstore.store.revisions import find_head, list_branch_tips
from evalstore.store.store_moves import read_changes
from evalstore.store.tags import TAG_REFS
from evalstore.text import LONG_DIGEST, SHORT_DIGEST

_SHOWN_LINES = 3


@dataclass(slots=True)
class ReleaseRecords:
    """The ledgers and the lock of a store, each read once."""

    store: ArtifactStore
    lock: Lock
    _readable_rows: set[str] = field(default_factory=set)
    _tips: list[str] | None = None
    _branch_hashes: dict[str, dict[str, set[str]]] = field(default_factory=dict)

    def find_ledger(self, name: str) -> Ledger | None:
        """Return the ledger at HEAD, empty if there is none; None if it cannot be read."""
        try:
            return self.store.ledgers.read(name)
        except EvalstoreError:
            return None

    def find_line(self, release: Ref) -> LedgerLine | None:
        """Return the line of a release in the ledger at HEAD.

        Returns None if the ledger does not list it, or cannot be read.
        """
        ledger = self.find_ledger(release.name)
        return ledger.by_version.get(release.pin) if ledger else None

    def list_branch_hashes(self, name: str, version: str) -> set[str]:
        """Return the hashes that branches list for a version that HEAD does not.

        The branches are those in this clone.
        """
        if name not in self._branch_hashes:
            self._branch_hashes[name] = self._read_branch_hashes(name)
        return self._branch_hashes[name].get(version, set())

    def is_recorded(self, name: str, version: str) -> bool:
        """Whether a ledger at HEAD or the lock lists a release.

        An unreadable ledger counts as if it did.
        """
        ledger = self.find_ledger(name)
        return (
            ledger is None
            or version in ledger.by_version
            or f"{name}@{version}" in self.lock.releases
        )

    def check_rows_readable(self, blob: str) -> None:
        """Read the rows next to a dataset to their end, once.

        Raises `GitError` if they are missing or damaged.
        """
        if blob not in self._readable_rows:
            deque(self.store.objects.stream(blob), maxlen=0)
            self._readable_rows.add(blob)

    def describe_restore(self, tag: str, ref: str, sha256: str = "") -> str:
        """Say how to restore the tag of a release.

        It goes to the object that was locked, or to the commit of its line.
        """
        entry = self.lock.refs.get(ref)
        if entry:
            return f"put it back: git update-ref {TAG_REFS}{tag} {entry.tag_object or entry.commit}"
        if not sha256:
            return "fetch it again from a clone that has the right one"
        path = quote_ledger_path(ref.partition("@")[0])
        return f"find its commit: git log -S{sha256[:LONG_DIGEST]} -- {path}"

    def _read_branch_hashes(self, name: str) -> dict[str, set[str]]:
        if self._tips is None:
            self._tips = list_branch_tips(self.store.git)
        # Two branches may list one version with different bytes: then each has its own release of
        # that name.
        hashes: defaultdict[str, set[str]] = defaultdict(set)
        for ledger in self._read_branch_ledgers(name, self._tips):
            for line in ledger.lines:
                hashes[str(line.version)].add(line.sha256)
        return dict(hashes)

    def _read_branch_ledgers(self, name: str, tips: list[str]) -> Iterator[Ledger]:
        blobs = find_committed_blobs(
            self.store.objects, [(tip, self.store.ledgers.locate(name)) for tip in tips]
        )
        for blob in sorted({blob for blob in blobs if blob}):
            yield parse_ledger(self.store.objects.read(blob).data)


def quote_ledger_path(name: str) -> str:
    """Return the path of a ledger, as in findings, quoted for a shell.

    It starts at the root of the store.
    """
    return shlex.quote(locate_ledger(name))


def check_ledger(records: ReleaseRecords, name: str) -> Iterator[Finding]:
    """Yield what is wrong with one ledger by itself.

    It is unreadable, or has malformed or repeated lines.
    """
    place = locate_ledger(name)
    try:
        ledger = records.store.ledgers.read(name)
    except EvalstoreError as error:
        yield make_finding(
            "ledger-unreadable",
            Place(place),
            name=name,
            message=error.message,
            hint=error.hint or "",
        )
        return
    for number in ledger.unreadable:
        yield make_finding("ledger-malformed", Place(place, number), path=quote_ledger_path(name))
    for line in ledger.lines:
        first = ledger.by_version[str(line.version)]
        if first is not line:
            here, path = Place(place, line.number), quote_ledger_path(name)
            yield make_finding(
                "ledger-repeated", here, version=line.version, line=first.number, path=path
            )


def report_untagged_line(
    records: ReleaseRecords, name: str, line: LedgerLine, fetch: str
) -> Finding:
    """Return the finding about a line whose release has no tag.

    `fetch` says where the tag may be, "" if nothing is known.
    """
    ref = f"{name}@{line.version}"
    restore = records.describe_restore(records.store.tag_prefix + ref, ref, line.sha256)
    # Only the lock knows the tag's own object; which commit it named, `fetch` says as well.
    back = f"{fetch}; or {restore}" if fetch and ref in records.lock.refs else fetch or restore
    return make_finding("tag-missing", Place(locate_ledger(name), line.number), ref=ref, back=back)


def check_rewritten(
    records: ReleaseRecords, names: Collection[str], file: str
) -> Iterator[Finding]:
    """Yield the ledgers among `names` whose first lines are no longer those that were locked."""
    wanted = frozenset(names)
    for name, locked in records.lock.ledgers.items():
        ledger = records.find_ledger(name) if name in wanted else None
        if ledger and (change := describe_rewrite(records.store, name, locked)):
            place, pointer = Place(file, locked.line), format_json_pointer(("ledgers", name))
            path = quote_ledger_path(name)
            yield make_finding(
                "ledger-rewritten", place, pointer, name=name, what=change, path=path
            )


def find_tag_object(store: ArtifactStore, resolved: Resolved) -> str | None:
    """Return the tag object of a resolved release.

    Returns None if the tag is lightweight, or there is no tag.
    """
    oid = store.tags.find_oid(resolved.tag) if resolved.tag else None
    return None if oid == resolved.commit else oid


def describe_rewrite(store: ArtifactStore, name: str, locked: LockedLedger) -> str:
    """Say what a ledger lacks of its locked lines.

    It is "" if it still has every line, in whatever order. A merge may reorder the lines of two
    people, but removes none.
    """
    ledger = store.ledgers.read(name)
    if len(ledger.raw) >= locked.lines and ledger.hash_prefix(locked.lines) == locked.sha256:
        return ""
    lines = _find_locked_lines(store, name, locked)
    if lines is None:
        if len(ledger.raw) < locked.lines:
            return f"it has {_count_lines(len(ledger.raw))}, but had {_count_lines(locked.lines)}"
        return f"its first {_count_lines(locked.lines)} changed"
    kept = frozenset(ledger.raw)
    lost = [line for line in lines if line not in kept]
    if not lost:
        return ""
    parsed = parse_ledger(b"\n".join(lost)).lines
    return f"it lacks {describe_lines(parsed) if parsed else _count_lines(len(lost))}"


def _find_locked_lines(
    store: ArtifactStore, name: str, locked: LockedLedger
) -> tuple[bytes, ...] | None:
    """Return the locked lines as a commit up to HEAD has them; None if none has."""
    head = find_head(store.git)
    paths = [prefix + locate_ledger(name) for prefix in store.moves.list_prefixes()]
    for change in read_changes(store.git, head, paths, "AM") if head else ():
        lines = split_ledger(store.objects.read(change.new).data) if change.new else ()
        if Ledger(lines[: locked.lines]).hash_prefix(locked.lines) == locked.sha256:
            return lines[: locked.lines]
    return None


def _count_lines(number: int) -> str:
    return f"{number} line{'' if number == 1 else 's'}"


def describe_lines(lines: Sequence[LedgerLine]) -> str:
    """Return the versions and hashes of the first few lines, and how many more there are."""
    shown = ", ".join(
        f"{line.version} {line.sha256[:SHORT_DIGEST]}…" for line in lines[:_SHOWN_LINES]
    )
    return shown + (f" and {len(lines) - _SHOWN_LINES} more" if len(lines) > _SHOWN_LINES else "")
