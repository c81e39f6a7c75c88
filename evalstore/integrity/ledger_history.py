"""Holds the ledgers of HEAD against their own history: no commit may take away, or write anew, what was released."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from evalstore.errors import EvalstoreError, Place
from evalstore.integrity.records import ReleaseRecords
from evalstore.integrity.rules import make_finding
from evalstore.model import Finding
from evalstore.places import LEDGER_FOLDER
from evalstore.store import ArtifactStore
from evalstore.store.ledger import LedgerLine, locate_ledger, parse_ledger
from evalstore.store.objects import find_file
from evalstore.store.revisions import find_head
from evalstore.store.store_moves import PathChange, read_changes

_SHOWN = 12  # characters of a commit, and of a hash
_SHOWN_LINES = 3


def check_ledger_history(records: ReleaseRecords, is_wanted: Callable[[str], bool]) -> Iterator[Finding]:
    """Yield each commit that took lines from a ledger which HEAD lacks to this day; `is_wanted` by `<kind>/<id>`.

    Lines are looked for, not their order: a merge, and a branch that was rebased or squashed, keep the lines of both
    sides in an order of their own. Lines that were put back are no finding.
    """
    try:
        yield from _find_lost_lines(records, is_wanted)
    except EvalstoreError as error:
        yield make_finding("history-unreadable", Place(LEDGER_FOLDER), message=error.message, hint=error.hint or "")


def check_depth(store: ArtifactStore) -> Iterator[Finding]:
    """Yield a finding in a shallow clone with ledgers: what came before its first commit cannot be looked at."""
    if store.repository.shallow and store.ledgers.list_names():
        yield make_finding("history-missing", Place(LEDGER_FOLDER))


def _find_lost_lines(records: ReleaseRecords, is_wanted: Callable[[str], bool]) -> Iterator[Finding]:
    store, head = records.store, find_head(records.store.git)
    changes = _list_changes(store, head) if head else []
    store.objects.expect(blob for change in changes for blob in (change.old, change.new) if blob)
    known: dict[str, set[str]] = {}
    for change in changes:
        name = store.moves.strip_prefix(change.path).removeprefix(f"{LEDGER_FOLDER}/")
        ledger = records.find_ledger(name) if is_wanted(name) else None
        if ledger is None:  # it cannot be read, which `check_ledger` reports
            continue
        # What HEAD has, and what a newer commit was already found to have taken.
        kept = known.setdefault(name, {*_list_lines(ledger.lines)})
        old, new = _read_lines(store, change.old), _read_lines(store, change.new)
        if lost := {text: line for text, line in old.items() if text not in new and text not in kept}:
            kept |= lost.keys()
            yield _report_lost_lines(records, name, change.commit, list(lost.values()))


def _list_changes(store: ArtifactStore, head: str) -> list[PathChange]:
    """Return what commits changed in ledgers, newest first; one that came with its store to another folder is there."""
    # The tags are where a store of another folder would have lain.
    prefixes = [store.prefix]
    if any(store.moves.find_prefix(commit) != store.prefix for commit in _list_release_commits(store)):
        prefixes = [*store.moves.list_prefixes()]
    changes = read_changes(store.git, head, [f"{prefix}{LEDGER_FOLDER}/" for prefix in prefixes], "MDT")
    return [change if change.new else change._replace(new=_find_moved(store, change)) for change in changes]


def _list_release_commits(store: ArtifactStore) -> set[str]:
    # Most tags were read by now; to list the commits of all by git takes as long as all else that git does.
    commits = [store.ahead.commits.get(name) for name in store.tags.list_unread()]
    return {commit or "" for commit in commits} if all(commits) else {one.commit for one in store.releases()}


def _find_moved(store: ArtifactStore, change: PathChange) -> str | None:
    now = store.moves.find_prefix(change.commit) + store.moves.strip_prefix(change.path)
    return find_file(store.objects, change.commit, now) if now != change.path else None


def _read_lines(store: ArtifactStore, blob: str | None) -> Mapping[str, LedgerLine]:
    return _list_lines(parse_ledger(store.objects.read(blob).data).lines) if blob else {}


def _list_lines(lines: tuple[LedgerLine, ...]) -> Mapping[str, LedgerLine]:
    return {f"{line.version} {line.sha256}": line for line in lines}


def _report_lost_lines(records: ReleaseRecords, name: str, commit: str, lines: list[LedgerLine]) -> Finding:
    shown = ", ".join(f"{line.version} {line.sha256[:_SHOWN]}…" for line in lines[:_SHOWN_LINES])
    more = f" and {len(lines) - _SHOWN_LINES} more" if len(lines) > _SHOWN_LINES else ""
    facts = {"name": name, "commit": commit[:_SHOWN], "lines": shown + more}
    return make_finding(
        "ledger-history-rewritten", Place(locate_ledger(name)), **facts, path=records.quote_ledger_path(name)
    )
