"""Ledgers held against the tags, and against how far a lock saw them written."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from evalstore.documents import json_pointer
from evalstore.errors import EvalstoreError, Place
from evalstore.integrity.books import Books
from evalstore.integrity.rules import found
from evalstore.model import Finding
from evalstore.model.lock import Seen
from evalstore.store.ledger import Ledger, LedgerLine, ledger_path


def ledger_findings(books: Books, name: str) -> Iterator[Finding]:
    """Yield what is wrong with one ledger by itself."""
    place = ledger_path(name)
    try:
        ledger = books.store.ledgers.read(name)
    except EvalstoreError as error:
        yield found("ledger-unreadable", Place(place), name=name, message=error.message, hint=error.hint or "")
        return
    for number in ledger.unreadable:
        yield found("ledger-malformed", Place(place, number), path=books.path(name))
    for line in ledger.lines:
        first = ledger.by_version[str(line.version)]
        if first is not line:
            here, path = Place(place, line.number), books.path(name)
            yield found("ledger-repeated", here, version=line.version, line=first.number, path=path)


def untagged(books: Books, name: str, line: LedgerLine) -> Finding:
    """Return the finding of a line whose release has no tag."""
    ref = f"{name}@{line.version}"
    back = f"git fetch --tags; or {books.back(books.store.tag_prefix + ref, ref, line.sha256)}; or withdraw its line"
    return found("tag-missing", Place(ledger_path(name), line.number), ref=ref, back=back)


def rewritten_findings(books: Books, names: Collection[str], file: str) -> Iterator[Finding]:
    """Yield the ledgers among `names` that do not go on from where the lock saw them."""
    for name, seen in books.lock.ledgers.items():
        ledger = books.ledger(name) if name in names else None
        if ledger and (what := difference(ledger, seen)):
            place, pointer = Place(file, seen.line), json_pointer(("ledgers", name))
            yield found("ledger-rewritten", place, pointer, name=name, what=what, path=books.path(name))


def difference(ledger: Ledger, seen: Seen) -> str:
    """Say how a ledger does not go on from what was seen; "" when it does."""
    if len(ledger.raw) < seen.lines:
        return f"it has {_lines(len(ledger.raw))}, and had {_lines(seen.lines)}"
    return "" if ledger.hash_prefix(seen.lines) == seen.sha256 else f"its first {_lines(seen.lines)} read differently"


def _lines(number: int) -> str:
    return f"{number} line{'' if number == 1 else 's'}"
