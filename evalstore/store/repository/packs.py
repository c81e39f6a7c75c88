"""Writes many objects as packs, and lets git repack them later."""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from evalstore.errors import LoadError
from evalstore.files import list_below, read_below, remove_below
from evalstore.store.repository.git import Git
from evalstore.store.repository.object_reader import compute_object_id
from evalstore.store.repository.scratch import FORMATS

_TYPES = {"commit": 1, "tree": 2, "blob": 3, "tag": 4}  # of a pack (gitformat-pack(5))
_PACKS = "objects/pack"
_KEEP_MARK = "evalstore bump"  # in the .keep file of a pack (git-index-pack(1))
_PACK_SIZE = 64 << 20  # bytes of content, before compression


def write_packed_objects(
    git: Git, type_: str, contents: Iterable[bytes], *, hex_digits: int
) -> list[str]:
    """Write objects of one type and return their ids, of `hex_digits`, in order.

    git keeps their packs until `release_packs`: if they were repacked meanwhile, it would drop
    whatever nothing refers to yet.
    """
    oids: list[str] = []
    for group in _split_by_size(contents):
        keys = [compute_object_id(type_, content, hex_digits) for content in group]
        # A pack contains each object once.
        pack = build_pack(
            [(type_, content) for content in dict(zip(keys, group, strict=True)).values()],
            hex_digits,
        )
        # git hashes every object again, and refuses one that is malformed or has dangling
        # references.
        git.run("index-pack", "--stdin", "--strict", f"--keep={_KEEP_MARK}", stdin=pack)
        oids += keys
    return oids


def release_packs(common: Path) -> None:
    """Let git repack what was written; `common` is the common git directory.

    By now refs have it, or never will. Call it only under the lock of the repository: a mark then
    belongs to this process or a killed one.
    """
    for name in list_below(common, _PACKS):
        if name.endswith(".keep"):
            with suppress(LoadError):  # of somebody else, who has removed it by now
                if read_below(common, f"{_PACKS}/{name}", 1 << 12).strip() == _KEEP_MARK.encode():
                    remove_below(common, f"{_PACKS}/{name}")


def build_pack(objects: Sequence[tuple[str, bytes]], hex_digits: int) -> bytes:
    """Return the pack of objects, each with its type; the repository's ids have `hex_digits`."""
    entries = b"".join(
        _format_header(type_, len(content)) + zlib.compress(content) for type_, content in objects
    )
    pack = struct.pack(">4sLL", b"PACK", 2, len(objects)) + entries
    return pack + hashlib.new(FORMATS[hex_digits], pack, usedforsecurity=False).digest()


def _format_header(type_: str, size: int) -> bytes:
    # Three bits of type and four of size, then seven of size per byte, lowest first.
    header, rest = bytearray([_TYPES[type_] << 4 | size & 0x0F]), size >> 4
    while rest:
        header[-1] |= 0x80
        header.append(rest & 0x7F)
        rest >>= 7
    return bytes(header)


def _split_by_size(contents: Iterable[bytes]) -> Iterator[list[bytes]]:
    group: list[bytes] = []
    size = 0
    for content in contents:
        if group and size + len(content) > _PACK_SIZE:
            yield group
            group, size = [], 0
        group.append(content)
        size += len(content)
    if group:
        yield group
