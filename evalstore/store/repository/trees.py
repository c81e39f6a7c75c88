"""Finds and replaces entries in git's trees; a tree is indexed on its second use."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

# A tree has no separators, and a binary id may look like a name: a name counts only after complete
# entries.
_ENTRIES = {size: rb"(?:[0-7]{5,6} [^\0]++\0.{%d})*+" % size for size in (20, 32)}
_MODE = {
    size: re.compile(entries + rb"([0-7]{5,6})", re.DOTALL) for size, entries in _ENTRIES.items()
}
_ENTRY = {
    size: re.compile(rb"([0-7]{5,6}) ([^\0]+)\0(.{%d})" % size, re.DOTALL) for size in _ENTRIES
}

_INDEXED = 200_000  # entries of all indexes: some 50 MiB


class TreeEntry(NamedTuple):
    """An entry of a tree, or of the index: the mode and object of one name."""

    mode: str
    oid: str


@dataclass(slots=True)
class TreeIndexes:
    """The entries of trees by name, for trees searched a second time; the oldest are forgotten."""

    _asked: dict[str, None] = field(default_factory=dict)
    _indexes: dict[str, dict[bytes, tuple[bytes, bytes]]] = field(default_factory=dict)
    _size: int = 0

    def find(self, tree: str, data: bytes, name: bytes) -> TreeEntry | None:
        """Return the entry of exactly this name in `data`, the bytes of the tree with id `tree`."""
        index = self._indexes.get(tree)
        if index is None:
            # Trees of a long history are searched for one name each: indexing them would cost more
            # than it saves.
            if tree not in self._asked:
                self._asked = dict.fromkeys((*list(self._asked)[1 - 64 :], tree))
                return _scan_tree(data, name, len(tree) // 2)
            index = self._add_index(tree, _index_entries(data, len(tree) // 2))
        entry = index.get(name)
        return TreeEntry(entry[0].decode("ascii"), entry[1].hex()) if entry else None

    def _add_index(
        self, tree: str, index: dict[bytes, tuple[bytes, bytes]]
    ) -> dict[bytes, tuple[bytes, bytes]]:
        self._indexes[tree] = index
        self._size += len(index) + 1
        while self._size > _INDEXED and len(self._indexes) > 1:
            # Another thread may change the mapping meanwhile.
            oldest = list(self._indexes)[0]  # noqa: RUF015
            self._size -= len(self._indexes.pop(oldest, ())) + 1
        return index


def list_entries(data: bytes, size: int) -> dict[bytes, TreeEntry]:
    """Return all entries of a tree by name; `size` is the number of bytes in an id."""
    found = _index_entries(data, size)
    return {name: TreeEntry(mode.decode("ascii"), oid.hex()) for name, (mode, oid) in found.items()}


def _scan_tree(data: bytes, name: bytes, size: int) -> TreeEntry | None:
    needle = b" %s\0" % name
    at = data.find(needle)
    while at >= 0:
        if mode := _MODE[size].fullmatch(data, 0, at):
            start = at + len(needle)
            return TreeEntry(mode[1].decode("ascii"), data[start : start + size].hex())
        at = data.find(needle, at + 1)
    return None


def _index_entries(data: bytes, size: int) -> dict[bytes, tuple[bytes, bytes]]:
    index: dict[bytes, tuple[bytes, bytes]] = {}
    end = 0
    for entry in _ENTRY[size].finditer(data):
        if entry.start() != end:  # anything but an entry ends the tree, as in a scan
            break
        end = entry.end()
        index.setdefault(entry[2], (entry[1], entry[3]))  # of two entries with one name, the first
    return index
