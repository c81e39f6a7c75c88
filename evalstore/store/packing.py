"""Writes many objects as one pack, which git checks and syncs once; loose objects are synced one by one."""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence

from evalstore.store.git import Git
from evalstore.store.object_reader import start_object_hash

_TYPES = {"commit": 1, "tree": 2, "blob": 3, "tag": 4}  # of a pack (gitformat-pack(5))
_PACK_SIZE = 64 << 20  # bytes of content, before they are compressed
_HEX_DIGITS = {"sha1": 40, "sha256": 64}


def write_packed_objects(git: Git, type_: str, contents: Iterable[bytes]) -> list[str]:
    """Write objects of one type and return their ids in order."""
    format_ = git.run("rev-parse", "--show-object-format").decode("ascii").strip()
    oids: list[str] = []
    for group in _split_by_size(contents):
        keys = [_compute_id(type_, content, _HEX_DIGITS[format_]) for content in group]
        # A pack holds each object once.
        pack = build_pack(type_, list(dict(zip(keys, group, strict=True)).values()), format_)
        # git hashes every object again, and refuses one that is malformed or refers to nothing.
        git.run("index-pack", "--stdin", "--strict", stdin=pack)
        oids += keys
    return oids


def build_pack(type_: str, contents: Sequence[bytes], format_: str) -> bytes:
    """Return the pack of objects of one type; `format_` is the repository's, sha1 or sha256."""
    entries = b"".join(_format_header(type_, len(content)) + zlib.compress(content) for content in contents)
    pack = struct.pack(">4sLL", b"PACK", 2, len(contents)) + entries
    return pack + hashlib.new(format_, pack, usedforsecurity=False).digest()


def _compute_id(type_: str, content: bytes, hex_digits: int) -> str:
    hash_ = start_object_hash(type_, len(content), hex_digits)
    hash_.update(content)
    digest: str = hash_.hexdigest()
    return digest


def _format_header(type_: str, size: int) -> bytes:
    # Three bits of type and four of the size, then seven of the size a byte, the lowest first.
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
