"""Reads and writes evalstore.lock: what every reference of a store meant when it was locked."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from evalstore.documents.document import check_text, locate_offset
from evalstore.errors import LimitError, LoadError, Place, RefError
from evalstore.text import make_excerpt

LOCK_FILE = "evalstore.lock"
# Bytes: enough for a hundred thousand references; the same for every reader and the writer.
LIMIT = 64 << 20
_FORM = 1
_HEAD = (
    "# What every reference of this store means. `evalstore lock` writes it: commit it, edit "
    "nothing.\n"
)
_OID, _SHA = "[0-9a-f]{40}|[0-9a-f]{64}", "[0-9a-f]{64}"
_KEY = r"[ !#-\[\]-~]{1,400}"  # a reference: ASCII, without what YAML would escape
# Compiled on first use: most stores have no lock.
_START = r"(?:#.*\n)*lock: (?P<form>[0-9]{1,9})\n"
# The file is YAML, but only the exact form that `write_lock` gives it is read: a manual edit is not
# a record.
_ENTRY = (
    rf'  "(?P<key>{_KEY})":\n'
    r'    version: "(?P<version>[^"\\\n]{0,400})"\n'
    rf'    tag_object: (?:null|"(?P<tag_object>{_OID})")\n'
    rf'    commit: "(?P<commit>{_OID})"\n'
    rf'    blob: "(?P<blob>{_OID})"\n'
    rf'    digest: "(?P<digest>{_SHA})"\n'
    rf'    scoring_digest: "(?P<scoring_digest>{_SHA})"\n'
    rf'(?:    rows: "(?P<rows>{_OID})"\n)?'
)
_LEDGER = (
    r'  "(?P<key>(?:rubric|judge|dataset)/[a-z][a-z0-9_]{0,63})": '
    rf'\{{lines: (?P<lines>[1-9][0-9]{{0,8}}), sha256: "(?P<sha256>{_SHA})"\}}\n'
)
_CONFLICT = r"^(?:<{7}|={7}|>{7})(?: |$)"
_HINT = "restore the committed file, then run evalstore lock: only that command writes it"


@dataclass(frozen=True, slots=True)
class LockEntry:
    """What one reference means.

    `rows` is the blob of a dataset's rows; `tag_object` is None for a lightweight tag.
    """

    version: str
    tag_object: str | None
    commit: str
    blob: str
    digest: str
    scoring_digest: str
    rows: str | None = None
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class LockedLedger:
    """The state of a ledger when it was locked: its number of lines and their SHA-256."""

    lines: int
    sha256: str
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Lock:
    """The content of a lock: entries by reference as written, and ledgers by `<kind>/<id>`.

    `releases` has the same entries by `<kind>/<id>@<version>`: a locked range also locks the
    version that it resolves to.
    """

    refs: Mapping[str, LockEntry] = field(default_factory=dict)
    ledgers: Mapping[str, LockedLedger] = field(default_factory=dict)
    exists: bool = True
    releases: Mapping[str, LockEntry] = field(default_factory=dict, compare=False)


NO_LOCK = Lock(exists=False)


@lru_cache(1)  # a command may need it both for itself and as one of its files
def read_lock(data: bytes, file: str = LOCK_FILE) -> Lock:
    """Parse a lock; raises `LoadError` at the first line that `write_lock` would not write."""
    # A checkout may have converted the line endings.
    text = check_text(data, file, LIMIT)[0].replace("\r\n", "\n")
    try:
        return _parse_lock(text, file)
    except LoadError:
        # No lock contains conflict markers, so they are looked for only in a text that is not one.
        if conflict := re.search(_CONFLICT, text, re.MULTILINE):
            hint = "keep one side whole, then run evalstore lock"
            place = locate_offset(text, conflict.start(), file)
            raise LoadError("holds a merge conflict", place=place, hint=hint) from None
        raise


def _parse_lock(text: str, file: str) -> Lock:
    start = re.match(_START, text)
    if start is None:
        raise LoadError("is not a lock of evalstore", place=Place(file, 1), hint=_HINT)
    if int(start["form"]) != _FORM:
        message = f"is a lock of form {start['form']}; this evalstore reads form {_FORM}"
        raise LoadError(
            message,
            place=Place(file, 1),
            hint="use the version of evalstore that wrote it, or a newer one",
        )
    reader = _LockParser(file, text, start.end())
    refs: dict[str, LockEntry] = {}
    for key, line, match in reader.read_section("refs", re.compile(_ENTRY)):
        refs[key] = _parse_entry(match, line)
    ledgers: dict[str, LockedLedger] = {}
    for key, line, match in reader.read_section("ledgers", re.compile(_LEDGER)):
        ledgers[key] = LockedLedger(int(match["lines"]), match["sha256"], line)
    if reader.offset != len(text):
        raise reader.build_form_error()
    return Lock(refs, ledgers, releases=dict(_index_by_release(refs)))


def write_lock(lock: Lock) -> bytes:
    """Return a lock as bytes: sorted, several lines per reference, so that git merges it well.

    Raises `LimitError` for a lock that `read_lock` would refuse for its size.
    """
    refs = "".join(_format_entry(ref, entry) for ref, entry in sorted(lock.refs.items()))
    ledgers = "".join(_format_ledger(name, seen) for name, seen in sorted(lock.ledgers.items()))
    data = (
        f"{_HEAD}lock: {_FORM}\n"
        f"{_format_section('refs', refs)}{_format_section('ledgers', ledgers)}"
    ).encode()
    if len(data) > LIMIT:
        message = f"the lock would be larger than {LIMIT:,} bytes, the limit for one file"
        raise LimitError(
            message, place=Place(LOCK_FILE), hint="keep the artifacts in several stores"
        )
    return data


def merge_locks(base: Lock, ours: Lock, theirs: Lock, withdrawn: Collection[str]) -> Lock:
    """Return the merged lock, without our `withdrawn` releases; theirs wins a conflict.

    Entries are merged by reference. A ledger is locked as theirs has it: the next `lock` adds the
    new lines.
    """
    mine = {ref: entry for ref, entry in ours.refs.items() if not _is_of(ref, entry, withdrawn)}
    names = dict.fromkeys([*theirs.refs, *mine])
    merged = {
        ref: _merge_entry(base.refs.get(ref), mine.get(ref), theirs.refs.get(ref)) for ref in names
    }
    gone = {ref.partition("@")[0] for ref in withdrawn}
    ledgers = {name: locked for name, locked in ours.ledgers.items() if name not in gone}
    refs = {ref: entry for ref, entry in merged.items() if entry}
    return Lock(refs, {**ledgers, **theirs.ledgers}, ours.exists or theirs.exists)


def _is_of(text: str, entry: LockEntry, releases: Collection[str]) -> bool:
    return f"{text.partition('@')[0]}@{entry.version}" in releases


def _merge_entry(
    base: LockEntry | None, ours: LockEntry | None, theirs: LockEntry | None
) -> LockEntry | None:
    if ours == base:
        return theirs
    return ours if theirs == base else theirs or ours


@dataclass(slots=True)
class _LockParser:
    file: str
    text: str
    offset: int

    def read_section(
        self, title: str, entry: re.Pattern[str]
    ) -> list[tuple[str, int, re.Match[str]]]:
        """Parse one section: the key, first line and match of each entry, in order."""
        empty, full = f"{title}: {{}}\n", f"{title}:\n"
        if self.text.startswith(empty, self.offset):
            self.offset += len(empty)
            return []
        if not self.text.startswith(full, self.offset):
            raise self.build_form_error()
        self.offset += len(full)
        line = self.text.count("\n", 0, self.offset) + 1
        entries: dict[str, tuple[str, int, re.Match[str]]] = {}
        while match := entry.match(self.text, self.offset):
            if (key := match["key"]) in entries:
                message = f"duplicate reference {key} (first on line {entries[key][1]})"
                raise LoadError(message, place=Place(self.file, line), hint=_HINT)
            entries[key] = (key, line, match)
            line += self.text.count("\n", self.offset, match.end())
            self.offset = match.end()
        if not entries:
            raise self.build_form_error()
        return list(entries.values())

    def build_form_error(self) -> LoadError:
        place = locate_offset(self.text, self.offset, self.file)
        return LoadError(
            "is not a valid lock from here on", place=Place(self.file, place.line), hint=_HINT
        )


def _index_by_release(refs: Mapping[str, LockEntry]) -> Iterator[tuple[str, LockEntry]]:
    for ref, entry in refs.items():
        name, _, pin = ref.partition("@")
        # `git:<rev>` means a commit, whatever version its file has.
        if not pin.startswith("git:"):
            yield f"{name}@{entry.version}", entry


def _parse_entry(match: re.Match[str], line: int) -> LockEntry:
    _, version, tag_object, commit, blob, digest, scoring_digest, rows = match.groups()
    return LockEntry(version, tag_object, commit, blob, digest, scoring_digest, rows, line)


def _format_entry(ref: str, entry: LockEntry) -> str:
    if not re.fullmatch(_KEY, ref):
        raise RefError(
            f"{make_excerpt(ref)!r} cannot be locked as it is written",
            hint="write its range on one line",
        )
    fields = {
        "version": entry.version,
        "tag_object": entry.tag_object,
        "commit": entry.commit,
        "blob": entry.blob,
        "digest": entry.digest,
        "scoring_digest": entry.scoring_digest,
        **({"rows": entry.rows} if entry.rows else {}),
    }
    lines = (f"    {key}: {_quote(value)}\n" for key, value in fields.items())
    return f'  "{ref}":\n{"".join(lines)}'


def _quote(value: str | None) -> str:
    return "null" if value is None else f'"{value}"'


def _format_ledger(name: str, seen: LockedLedger) -> str:
    return f'  "{name}": {{lines: {seen.lines}, sha256: "{seen.sha256}"}}\n'


def _format_section(title: str, entries: str) -> str:
    return f"{title}:\n{entries}" if entries else f"{title}: {{}}\n"
