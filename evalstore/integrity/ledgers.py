"""Ledgers held against the tags, and against how far a lock saw them written."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from evalstore.documents import json_pointer
from evalstore.errors import EvalstoreError, Place
from evalstore.integrity.books import ReleaseRecords
from evalstore.integrity.rules import make_finding
from evalstore.model import Finding
from evalstore.model.lock import LockedLedger
from evalstore.store.ledger import Ledger, LedgerLine, locate_ledger


def check_ledger(records: ReleaseRecords, name: str) -> Iterator[Finding]:
    """Yield what is wrong with one ledger by itself."""
    place = locate_ledger(name)
    try:
        ledger = records.store.ledgers.read(name)
    except EvalstoreError as error:
        yield make_finding("ledger-unreadable", Place(place), name=name, message=error.message, hint=error.hint or "")
        return
    for number in ledger.unreadable:
        yield make_finding("ledger-malformed", Place(place, number), path=records.quote_ledger_path(name))
    for line in ledger.lines:
        first = ledger.by_version[str(line.version)]
        if first is not line:
            here, path = Place(place, line.number), records.quote_ledger_path(name)
            yield make_finding("ledger-repeated", here, version=line.version, line=first.number, path=path)


def report_untagged_line(records: ReleaseRecords, name: str, line: LedgerLine) -> Finding:
    """Return the finding of a line whose release has no tag."""
    ref = f"{name}@{line.version}"
    back = f"git fetch --tags; or {records.describe_restore(records.store.tag_prefix + ref, ref, line.sha256)}; or withdraw its line"
    return make_finding("tag-missing", Place(locate_ledger(name), line.number), ref=ref, back=back)


def check_rewritten(records: ReleaseRecords, names: Collection[str], file: str) -> Iterator[Finding]:
    """Yield the ledgers among `names` that do not go on from where the lock saw them."""
    for name, seen in records.lock.ledgers.items():
        ledger = records.find_ledger(name) if name in names else None
        if ledger and (what := describe_rewrite(ledger, seen)):
            place, pointer = Place(file, seen.line), json_pointer(("ledgers", name))
            yield make_finding(
                "ledger-rewritten", place, pointer, name=name, what=what, path=records.quote_ledger_path(name)
            )


def describe_rewrite(ledger: Ledger, seen: LockedLedger) -> str:
    """Say how a ledger does not go on from what was seen; "" when it does."""
    if len(ledger.raw) < seen.lines:
        return f"it has {_count_lines(len(ledger.raw))}, and had {_count_lines(seen.lines)}"
    return (
        ""
        if ledger.hash_prefix(seen.lines) == seen.sha256
        else f"its first {_count_lines(seen.lines)} read differently"
    )


def _count_lines(number: int) -> str:
    return f"{number} line{'' if number == 1 else 's'}"
