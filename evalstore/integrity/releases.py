"""One tag at a time: whether it is a release, fits its file, and holds the bytes that a ledger lists."""

from __future__ import annotations

from collections.abc import Iterator

from evalstore.errors import EvalstoreError, GitError, Place, RefError, RefusedError
from evalstore.integrity.books import Books
from evalstore.integrity.rules import found
from evalstore.integrity.tags import Named, read_release, read_tag
from evalstore.model import Finding
from evalstore.store.batch import MissingObjectError
from evalstore.store.ledger import LedgerLine, ledger_path
from evalstore.store.resolve import CommittedArtifact
from evalstore.store.rows import rows_blob
from evalstore.store.tags import TAG_REFS


def release_findings(books: Books, named: Named) -> Iterator[Finding]:
    """Yield what is wrong with one tag that has the name of a release."""
    try:
        tag, said = read_tag(books.store, named)
        if tag.flaw:
            yield invalid(named, tag.flaw)
            return
        file = read_release(books.store, named, tag.commit)
        _check_digest(said, file)
        if rows := rows_blob(books.store, file.artifact, tag.commit):
            books.read_rows(rows)
        yield from _against_ledgers(books, named, tag.commit, file)
    except RefError as error:
        if books.lists(named.ref.name, str(named.version)):
            yield broken(error, str(named.ref), Place(TAG_REFS + named.tag), _back(books, named))
        else:  # a repository can hold several stores, and nothing here would ever read this one
            yield found("tag-ignored", Place(TAG_REFS + named.tag), tag=named.tag, why=error.message)
    except EvalstoreError as error:
        yield broken(error, str(named.ref), Place(TAG_REFS + named.tag), _back(books, named))


def invalid(named: Named, flaw: str) -> Finding:
    """Return the finding of a tag that is no release."""
    return found("tag-invalid", Place(TAG_REFS + named.tag), tag=named.tag, what=flaw)


def broken(error: EvalstoreError, ref: str, place: Place, back: str) -> Finding:
    """Return the finding of a release that cannot be read, or whose file is that of another."""
    place = error.place or place
    if isinstance(error, GitError):
        rule = "object-missing" if isinstance(error, MissingObjectError) else "object-damaged"
        return found(rule, place, ref=ref, message=error.message, hint=error.hint or "")
    return found("release-invalid", place, ref=ref, message=error.message, back=back)


def _check_digest(said: str, file: CommittedArtifact) -> None:
    if said and said != file.artifact.digest:
        what = f"its tag was made for digest {said[:12]}…, and its file has {file.artifact.digest[:12]}…"
        raise RefusedError(what, place=file.artifact.document.place())


def _against_ledgers(books: Books, named: Named, commit: str, file: CommittedArtifact) -> Iterator[Finding]:
    ledger = books.ledger(named.ref.name)
    if ledger is None:  # a finding of its own
        return
    line = ledger.by_version.get(str(named.version))
    if line is None:
        yield from _unlisted(books, named, commit, file)
    elif line.sha256 != file.sha256:
        yield _moved(books, named, file, line)


def _unlisted(books: Books, named: Named, commit: str, file: CommittedArtifact) -> Iterator[Finding]:
    # A release of another branch is listed there; one that no branch lists was not released with evalstore.
    name, version = named.ref.name, str(named.version)
    others = books.elsewhere(name, version)
    own = books.store.ledgers.read_at(commit, name).by_version.get(version)
    if file.sha256 in others:
        return
    if others or (own and own.sha256 != file.sha256):
        recorded = min(others) if others else own.sha256 if own else ""
        yield _moved(books, named, file, LedgerLine(0, named.version, recorded))
    elif own is None and not books.store.ledgers.read(name).raw:
        yield found("release-unrecorded", Place(ledger_path(name)), name=name)
    else:
        place, line = Place(TAG_REFS + named.tag), f"{version} {file.sha256}"
        yield found("release-unlisted", place, tag=named.tag, ref=named.ref, path=books.path(name), line=line)


def _moved(books: Books, named: Named, file: CommittedArtifact, line: LedgerLine) -> Finding:
    said = f"its file has SHA-256 {file.sha256[:12]}…, and the ledger says {line.sha256[:12]}…"
    place = Place(ledger_path(named.ref.name), line.number or None)
    return found("tag-moved", place, ref=named.ref, what=said, back=_back(books, named, line.sha256))


def _back(books: Books, named: Named, sha256: str = "") -> str:
    return books.back(named.tag, str(named.ref), sha256)
