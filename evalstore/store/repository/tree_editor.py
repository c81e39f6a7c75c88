"""Replaces files in git's trees, and makes the bytes of the new trees."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from evalstore.errors import GitError
from evalstore.store.repository.trees import TreeEntry, list_entries

FOLDER_MODE = "40000"


@dataclass(slots=True)
class TreeEditor:
    """Replaces files in trees; `new` has every new tree's bytes by id, the root last.

    `read` returns the bytes of a tree, and `compute_id` the id of new ones.
    """

    read: Callable[[str], bytes]
    compute_id: Callable[[bytes], str]
    new: dict[str, bytes] = field(default_factory=dict)

    def edit(self, tree: str | None, files: Mapping[str, TreeEntry | None]) -> str | None:
        """Return a tree with files added, replaced or removed (None) by path; None if none is left.

        Raises `GitError` for a file in the place of a folder, and for a tree that git would not
        write that way.
        """
        entries = self._read_entries(tree) if tree else {}
        below: dict[bytes, dict[str, TreeEntry | None]] = {}
        for path, entry in files.items():
            head, _, rest = path.partition("/")
            if rest:
                below.setdefault(os.fsencode(head), {})[rest] = entry
            else:
                _put_entry(entries, os.fsencode(head), entry)
        for name, part in below.items():
            old = entries.get(name)
            if old and old.mode != FOLDER_MODE:
                raise GitError(
                    f"{os.fsdecode(name)} is not a folder in the commit, and files of the "
                    "release lie in it"
                )
            folder = self.edit(old.oid if old else None, part)
            _put_entry(entries, name, TreeEntry(FOLDER_MODE, folder) if folder else None)
        if not entries:
            return None
        data = _write_entries(entries)
        oid = self.compute_id(data)
        self.new[oid] = data
        return oid

    def _read_entries(self, tree: str) -> dict[bytes, TreeEntry]:
        data = self.read(tree)
        entries = list_entries(data, len(tree) // 2)
        if _write_entries(entries) != data:
            raise GitError(f"the tree {tree[:12]} is not as git writes one", hint="git fsck")
        return entries


def _put_entry(entries: dict[bytes, TreeEntry], name: bytes, entry: TreeEntry | None) -> None:
    if entry:
        entries[name] = entry
    else:
        entries.pop(name, None)


def _write_entries(entries: Mapping[bytes, TreeEntry]) -> bytes:
    # git sorts a folder as if its name ended in a slash.
    ordered = sorted(
        entries.items(), key=lambda item: item[0] + b"/" * (item[1].mode == FOLDER_MODE)
    )
    return b"".join(
        b"%b %b\0%b" % (mode.encode(), name, bytes.fromhex(oid)) for name, (mode, oid) in ordered
    )
