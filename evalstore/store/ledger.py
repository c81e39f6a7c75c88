"""Ledgers as HEAD has them: a line a release, `<version> <SHA-256 of the file's bytes>`; reads only."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from evalstore.errors import RefError
from evalstore.model import Kind, is_id
from evalstore.store.git import Git
from evalstore.store.object_reader import ObjectReader
from evalstore.store.objects import find_file, list_folder
from evalstore.store.revisions import resolve_head
from evalstore.versions import Version, find_version

LEDGER_FOLDER = ".evalstore/sums"
_LINE = re.compile(rb"([^ ]{1,200}) ([0-9a-f]{64})")


class LedgerLine(NamedTuple):
    """One release as its ledger has it; lines count from 1."""

    number: int
    version: Version
    sha256: str


@dataclass(frozen=True, slots=True)
class Ledger:
    """The lines of one ledger, the first of each version by its text, and the numbers of those that are none."""

    raw: tuple[bytes, ...] = ()
    lines: tuple[LedgerLine, ...] = ()
    by_version: Mapping[str, LedgerLine] = field(default_factory=dict)
    unreadable: tuple[int, ...] = ()

    def hash_prefix(self, length: int) -> str:
        """Return the SHA-256 over the first lines."""
        return hashlib.sha256(b"".join(line + b"\n" for line in self.raw[:length])).hexdigest()


@dataclass(slots=True)
class Ledgers:
    """The ledgers of one store at HEAD, each read once; none before the first commit."""

    git: Git
    batch: ObjectReader
    prefix: str
    _commit: str | None = None
    _read: dict[str, Ledger] = field(default_factory=dict)

    def read(self, name: str) -> Ledger:
        """Return the ledger of `<kind>/<id>`; empty where there is none, refused where a link stands in its place."""
        if name not in self._read:
            self._read[name] = self.read_at(self._find_head(), name)
        return self._read[name]

    def read_at(self, commit: str, name: str) -> Ledger:
        """Return the ledger of `<kind>/<id>` as of a commit ("": before the first)."""
        blob = find_file(self.batch, commit, self.locate(name)) if commit else None
        return parse_ledger(self.batch.read(blob).data) if blob else Ledger()

    def list_names(self) -> list[str]:
        """Return the `<kind>/<id>` of every ledger at HEAD."""
        if not (tip := self._find_head()):
            return []
        listed = ((kind, list_folder(self.batch, tip, f"{self.prefix}{LEDGER_FOLDER}/{kind}")) for kind in Kind)
        return sorted(f"{kind}/{id_}" for kind, entries in listed for id_ in entries if is_id(id_))

    def locate(self, name: str) -> str:
        """Return where the ledger of `<kind>/<id>` lies in the repository."""
        return f"{self.prefix}{locate_ledger(name)}"

    def forget(self) -> None:
        """Look again at the next question: HEAD has moved."""
        self._commit = None
        self._read.clear()

    def _find_head(self) -> str:
        if self._commit is None:
            try:
                self._commit = resolve_head(self.git)
            except RefError:
                self._commit = ""
        return self._commit


def locate_ledger(name: str) -> str:
    """Return where the ledger of `<kind>/<id>` lies in a store."""
    return f"{LEDGER_FOLDER}/{name}"


def parse_ledger(data: bytes) -> Ledger:
    """Read a ledger's bytes; where a version stands twice, the first line is what was released."""
    raw = tuple(data.removesuffix(b"\n").split(b"\n")) if data else ()
    found = [(number, _parse_line(number, text)) for number, text in enumerate(raw, start=1)]
    lines = tuple(line for _, line in found if line)
    by_version = {str(line.version): line for line in reversed(lines)}
    return Ledger(raw, lines, by_version, tuple(number for number, line in found if line is None))


def _parse_line(number: int, raw: bytes) -> LedgerLine | None:
    match = _LINE.fullmatch(raw)
    text = match[1].decode("utf-8", "replace") if match else ""
    version = find_version(text)
    if match is None or version is None or str(version) != text:
        return None
    return LedgerLine(number, version, match[2].decode("ascii"))
