"""Reads the ledgers of HEAD: a line for each release of an artifact, `<version> <SHA-256 of the file's bytes>`."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

from evalstore.errors import EvalstoreError
from evalstore.model import Kind, is_id
from evalstore.places import LEDGER_FOLDER
from evalstore.store.git import Git
from evalstore.store.object_reader import ObjectReader, find_committed_blobs
from evalstore.store.objects import find_file, list_folder
from evalstore.store.revisions import find_head
from evalstore.versions import Version, find_version

_LINE = re.compile(rb"([^ ]{1,200}) ([0-9a-f]{64})")


class LedgerLine(NamedTuple):
    """One release in a ledger; lines count from 1."""

    number: int
    version: Version
    sha256: str


@dataclass(frozen=True, slots=True)
class Ledger:
    """One ledger: its lines, the first line of each version by its text, and the numbers of unreadable lines."""

    raw: tuple[bytes, ...] = ()
    lines: tuple[LedgerLine, ...] = ()
    by_version: Mapping[str, LedgerLine] = field(default_factory=dict)
    unreadable: tuple[int, ...] = ()

    def hash_prefix(self, length: int) -> str:
        """Return the SHA-256 over the first `length` lines."""
        return hashlib.sha256(b"".join(line + b"\n" for line in self.raw[:length])).hexdigest()


@dataclass(slots=True)
class Ledgers:
    """The ledgers of one store at HEAD, each read once; none before the first commit."""

    git: Git
    objects: ObjectReader
    prefix: str
    _head: str | None = None
    _by_name: dict[str, Ledger] = field(default_factory=dict)

    def read(self, name: str) -> Ledger:
        """Return the ledger of `<kind>/<id>`, empty when there is none; `RefusedError` for a link in its place."""
        if name not in self._by_name:
            self._by_name[name] = self.read_at(self._find_head(), name)
        return self._by_name[name]

    def expect(self, names: Iterable[str]) -> None:
        """Say which ledgers will be read, in this order; a hint, which never fails."""
        with suppress(EvalstoreError):
            if commit := self._find_head():
                blobs = find_committed_blobs(self.git, [(commit, self.locate(name)) for name in names])
                self.objects.expect(blob for blob in blobs if blob)

    def read_at(self, commit: str, name: str) -> Ledger:
        """Return the ledger of `<kind>/<id>` as of a commit ("": before the first)."""
        blob = find_file(self.objects, commit, self.locate(name)) if commit else None
        return parse_ledger(self.objects.read(blob).data) if blob else Ledger()

    def list_names(self) -> list[str]:
        """Return the `<kind>/<id>` of every ledger at HEAD."""
        if not (commit := self._find_head()):
            return []
        folders = ((kind, list_folder(self.objects, commit, f"{self.prefix}{LEDGER_FOLDER}/{kind}")) for kind in Kind)
        return sorted(f"{kind}/{id_}" for kind, entries in folders for id_ in entries if is_id(id_))

    def locate(self, name: str) -> str:
        """Return the path of the ledger of `<kind>/<id>` in the repository."""
        return f"{self.prefix}{locate_ledger(name)}"

    def forget(self) -> None:
        """Forget HEAD and the ledgers, because HEAD has moved: they are read again when needed."""
        self._head = None
        self._by_name.clear()

    def _find_head(self) -> str:
        if self._head is None:
            self._head = find_head(self.git) or ""
        return self._head


def locate_ledger(name: str) -> str:
    """Return the path of the ledger of `<kind>/<id>` in a store."""
    return f"{LEDGER_FOLDER}/{name}"


def parse_ledger(data: bytes) -> Ledger:
    """Parse a ledger's bytes; of two lines of one version, the first is what was released."""
    raw = tuple(data.removesuffix(b"\n").split(b"\n")) if data else ()
    numbered = [(number, _parse_line(number, text)) for number, text in enumerate(raw, start=1)]
    lines = tuple(line for _, line in numbered if line)
    # Reversed, so that the first line of a version is the one that stays.
    by_version = {str(line.version): line for line in reversed(lines)}
    return Ledger(raw, lines, by_version, tuple(number for number, line in numbered if line is None))


def _parse_line(number: int, raw: bytes) -> LedgerLine | None:
    match = _LINE.fullmatch(raw)
    text = match[1].decode("utf-8", "replace") if match else ""
    version = find_version(text)
    if match is None or version is None or str(version) != text:
        return None
    return LedgerLine(number, version, match[2].decode("ascii"))
