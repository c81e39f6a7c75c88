"""Reads HEAD's ledgers: a line per release, `<version> <SHA-256 of the file's bytes>`.

The line of a release whose tag was signed ends in ` signed`.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from evalstore.errors import EvalstoreError
from evalstore.model import Kind, is_id
from evalstore.places import LEDGER_FOLDER
from evalstore.store.repository.git import Git
from evalstore.store.repository.object_reader import ObjectReader
from evalstore.store.repository.objects import (
    find_committed_blobs,
    find_file,
    is_regular,
    list_folder,
)
from evalstore.store.repository.trees import TreeEntry
from evalstore.store.revisions import find_head
from evalstore.store.store_moves import StoreMoves
from evalstore.versions import Version, find_version

_MANY = 32  # ledgers from which on all are listed
_MARKERS = "^(<<<<<<<|[|]{7}|=======|>>>>>>>)( |$)"
_LINE = re.compile(rb"([^ ]{1,200}) ([0-9a-f]{64})( signed)?")


class LedgerLine(NamedTuple):
    """One release in a ledger, and whether its tag was signed; lines count from 1."""

    number: int
    version: Version
    sha256: str
    is_signed: bool = False


@dataclass(frozen=True, slots=True)
class Ledger:
    """One ledger: its lines, each version's first line, and the numbers of unreadable lines."""

    raw: tuple[bytes, ...] = ()
    lines: tuple[LedgerLine, ...] = ()
    by_version: Mapping[str, LedgerLine] = field(default_factory=dict)
    unreadable: tuple[int, ...] = ()

    def hash_prefix(self, length: int) -> str:
        """Return the SHA-256 over the first `length` lines."""
        return hashlib.sha256(b"\n".join((*self.raw[:length], b"")) if length else b"").hexdigest()


@dataclass(slots=True)
class Ledgers:
    """The ledgers of one store at HEAD, each read once; none before the first commit."""

    git: Git
    objects: ObjectReader
    moves: StoreMoves
    _head: str | None = None
    _by_name: dict[str, Ledger] = field(default_factory=dict)
    _blobs: dict[str, str] = field(default_factory=dict)  # of those that were listed
    _names: list[str] | None = None
    # By blob: thousands of releases ask for the same one.
    _latest: tuple[str, Ledger] = (
        "",
        Ledger(),
    )

    def read(self, name: str) -> Ledger:
        """Return the ledger of `<kind>/<id>`, empty if missing.

        Raises `RefusedError` for a link.
        """
        if name not in self._by_name:
            blob = self._blobs.get(name)
            self._by_name[name] = (
                self._parse(blob) if blob else self.read_at(self._find_head(), name)
            )
        return self._by_name[name]

    def expect(self, names: Iterable[str]) -> None:
        """Announce which ledgers will be read, in this order; a hint, which never fails."""
        with suppress(EvalstoreError):
            if commit := self._find_head():
                asked = list(names)
                if len(asked) >= _MANY:
                    self.list_names()
                rest = [name for name in asked if name not in self._blobs]
                blobs = find_committed_blobs(
                    self.objects, [(commit, self.locate(name)) for name in rest]
                )
                found = self._blobs | {
                    name: blob for name, blob in zip(rest, blobs, strict=True) if blob
                }
                self.objects.expect(found[name] for name in asked if name in found)

    def read_at(self, commit: str, name: str) -> Ledger:
        """Return the ledger of `<kind>/<id>` at a commit ("": before the first).

        The store may have been elsewhere then.
        """
        blob = find_file(self.objects, commit, self.locate(name)) if commit else None
        if (
            commit
            and blob is None
            and (prefix := self.moves.find_prefix(commit)) != self.moves.prefix
        ):
            blob = find_file(self.objects, commit, f"{prefix}{locate_ledger(name)}")
        return self._parse(blob) if blob else Ledger()

    def _parse(self, blob: str) -> Ledger:
        latest = self._latest
        if blob != latest[0]:
            latest = self._latest = blob, parse_ledger(self.objects.read(blob).data)
        return latest[1]

    def list_names(self) -> list[str]:
        """Return the `<kind>/<id>` of every ledger at HEAD."""
        if self._names is None:
            self._names = self._list_names(commit) if (commit := self._find_head()) else []
        return self._names

    def _list_names(self, commit: str) -> list[str]:
        listed = list_ledgers(self.objects, commit, self.moves.prefix)
        self._blobs = {name: entry.oid for name, entry in listed.items() if is_regular(entry)}
        return sorted(listed)

    def list_conflicted(self) -> set[str]:
        """Return the `<kind>/<id>` of the ledgers at HEAD that contain merge markers."""
        commit, folder = self._find_head(), f"{self.moves.prefix}{LEDGER_FOLDER}/"
        if not commit:
            return set()
        options = ("--text", "--no-recurse-submodules", "--full-name", "-z", "-l", "-E")
        found = self.git.run_or_none("grep", *options, "-e", _MARKERS, commit, "--", folder) or b""
        paths = map(os.fsdecode, filter(None, found.split(b"\0")))
        return {path.removeprefix(f"{commit}:{folder}") for path in paths}

    def locate(self, name: str) -> str:
        """Return the path of the ledger of `<kind>/<id>` in the repository."""
        return f"{self.moves.prefix}{locate_ledger(name)}"

    def forget(self, head: str | None) -> None:
        """Forget the ledgers because HEAD has moved (to `head`, if known); they are read again."""
        self._head, self._names = head, None
        self._by_name.clear()
        self._blobs.clear()

    def _find_head(self) -> str:
        if self._head is None:
            self._head = find_head(self.git) or ""
        return self._head


def list_ledgers(objects: ObjectReader, commit: str, prefix: str) -> dict[str, TreeEntry]:
    """Return by `<kind>/<id>` what is in the places of ledgers, in a store with this prefix."""
    ledgers: dict[str, TreeEntry] = {}
    for kind in Kind:
        entries = list_folder(objects, commit, f"{prefix}{LEDGER_FOLDER}/{kind}")
        ledgers |= {f"{kind}/{id_}": entry for id_, entry in entries.items() if is_id(id_)}
    return ledgers


def locate_ledger(name: str) -> str:
    """Return the path of the ledger of `<kind>/<id>` in a store."""
    return f"{LEDGER_FOLDER}/{name}"


def split_ledger(data: bytes) -> tuple[bytes, ...]:
    """Return the lines of a ledger's bytes."""
    return tuple(data.removesuffix(b"\n").split(b"\n")) if data else ()


def parse_ledger(data: bytes) -> Ledger:
    """Parse a ledger's bytes; of two lines for one version, the first is what was released."""
    raw = split_ledger(data)
    lines: list[LedgerLine] = []
    by_version: dict[str, LedgerLine] = {}
    unreadable: list[int] = []
    for number, text in enumerate(raw, start=1):
        match = _LINE.fullmatch(text)
        version = _read_version(match[1]) if match else None
        if match is None or version is None:
            unreadable.append(number)
            continue
        lines.append(LedgerLine(number, version[1], match[2].decode("ascii"), bool(match[3])))
        by_version.setdefault(version[0], lines[-1])
    return Ledger(raw, tuple(lines), by_version, tuple(unreadable))


@lru_cache(4096)  # a store of thousands of artifacts has few versions
def _read_version(raw: bytes) -> tuple[str, Version] | None:
    """Return a version with its text; None if it is not a version, or not in canonical spelling."""
    text = raw.decode("utf-8", "replace")
    version = find_version(text)
    return (text, version) if version and str(version) == text else None
