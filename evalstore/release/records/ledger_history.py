"""Finds the commits that removed lines from a ledger."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from evalstore.errors import EvalstoreError, Place
from evalstore.model import Finding
from evalstore.places import LEDGER_FOLDER
from evalstore.release.integrity_rules import make_finding
from evalstore.release.records.ledger_records import (
    ReleaseRecords,
    describe_lines,
    quote_ledger_path,
)
from evalstore.store import ArtifactStore
from evalstore.store.ledger import Ledger, LedgerLine, locate_ledger, parse_ledger, split_ledger
from evalstore.store.repository.object_reader import compute_object_id
from evalstore.store.repository.objects import find_file, find_sizes
from evalstore.store.repository.shallow import describe_missing_history
from evalstore.store.revisions import find_head
from evalstore.store.store_moves import PathChange, read_changes
from evalstore.text import SHORT_DIGEST


def check_ledger_history(
    records: ReleaseRecords, is_wanted: Callable[[str], bool]
) -> Iterator[Finding]:
    """Yield each commit that removed lines from a ledger that HEAD still lacks.

    `is_wanted` chooses ledgers by `<kind>/<id>`. Lines are compared regardless of their order: a
    merge, and a rebased or squashed branch, keep the lines of both sides in another order. Lines
    that were put back are not a finding.
    """
    try:
        yield from _find_lost_lines(records, is_wanted)
    except EvalstoreError as error:
        yield make_finding(
            "history-unreadable", Place(LEDGER_FOLDER), message=error.message, hint=error.hint or ""
        )


def check_depth(store: ArtifactStore) -> Iterator[Finding]:
    """Yield a finding in a shallow clone with ledgers.

    What came before its first commit cannot be checked.
    """
    if store.repository.shallow and store.ledgers.list_names():
        yield make_finding(
            "history-missing", Place(LEDGER_FOLDER), fetch=describe_missing_history(store.git)
        )


def _find_lost_lines(
    records: ReleaseRecords, is_wanted: Callable[[str], bool]
) -> Iterator[Finding]:
    store, head = records.store, find_head(records.store.git)
    changes = list(_drop_grown(records, _list_changes(store, head) if head else []))
    store.objects.expect(blob for change in changes for blob in (change.old, change.new) if blob)
    known: dict[str, set[bytes]] = {}
    for change in changes:
        name = store.moves.strip_prefix(change.path).removeprefix(f"{LEDGER_FOLDER}/")
        ledger = records.find_ledger(name) if is_wanted(name) else None
        if ledger is None:  # it cannot be read, which `check_ledger` reports
            continue
        # What HEAD has, and what a newer commit was already found to have removed.
        kept = known.setdefault(name, set(ledger.raw))
        new = _read_lines(store, change.new)
        gone = [
            line for line in _read_lines(store, change.old) if line not in new and line not in kept
        ]
        kept.update(gone)
        # Only the rest is parsed: nearly every commit only adds lines.
        if gone and (lost := parse_ledger(b"\n".join(gone)).lines):
            yield _report_lost_lines(name, change.commit, lost)


def _drop_grown(records: ReleaseRecords, changes: Sequence[PathChange]) -> Iterator[PathChange]:
    """Yield the changes of ledgers whose old bytes do not begin HEAD's ledger.

    Nearly every release only adds a line, so its old bytes do. These are recognised by size and
    hash: reading all of them would take the square of their number.
    """
    store = records.store
    sizes = find_sizes(store.git, {change.old for change in changes if change.old})
    heads: dict[str, bytes] = {}
    for change in changes:
        if change.path not in heads:
            name = store.moves.strip_prefix(change.path).removeprefix(f"{LEDGER_FOLDER}/")
            heads[change.path] = b"\n".join((*(records.find_ledger(name) or Ledger()).raw, b""))
        old, size = change.old or "", sizes.get(change.old or "", 0)
        begins = heads[change.path][:size]
        if (
            len(begins) != size
            or not begins.endswith(b"\n")
            or compute_object_id("blob", begins, len(old)) != old
        ):
            yield change


def _list_changes(store: ArtifactStore, head: str) -> list[PathChange]:
    """Return what commits changed in ledgers, newest first.

    They include ledgers that moved with their store.
    """
    # The tags are where a store in another folder would have been.
    prefixes = [store.prefix]
    seen = map(store.moves.find_prefix, _list_release_commits(store))
    if any(prefix != store.prefix for prefix in seen):
        prefixes = [*store.moves.list_prefixes()]
    folders = [f"{prefix}{LEDGER_FOLDER}/" for prefix in prefixes]
    changes = list(read_changes(store.git, head, folders, "MDT"))
    for number, change in enumerate(changes):
        if not change.new:
            changes[number] = change._replace(new=_find_moved(store, change))
    return changes


def _list_release_commits(store: ArtifactStore) -> set[str]:
    # Most tags have been read by now; having git list all commits takes as long as everything else
    # git does.
    commits = [store.prefetch.commits.get(name) for name in store.tags.list_unread()]
    return (
        {commit or "" for commit in commits}
        if all(commits)
        else {one.commit for one in store.releases()}
    )


def _find_moved(store: ArtifactStore, change: PathChange) -> str | None:
    now = store.moves.find_prefix(change.commit) + store.moves.strip_prefix(change.path)
    return find_file(store.objects, change.commit, now) if now != change.path else None


def _read_lines(store: ArtifactStore, blob: str | None) -> dict[bytes, None]:
    return dict.fromkeys(split_ledger(store.objects.read(blob).data)) if blob else {}


def _report_lost_lines(name: str, commit: str, lines: Sequence[LedgerLine]) -> Finding:
    facts = {"name": name, "commit": commit[:SHORT_DIGEST], "lines": describe_lines(lines)}
    return make_finding(
        "ledger-history-rewritten",
        Place(locate_ledger(name)),
        **facts,
        path=quote_ledger_path(name),
    )
