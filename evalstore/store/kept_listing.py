"""Keeps git's listing of thousands of tags between runs: to list it again git would open every tag object.

A listing says what the objects of its tags hold, so it is right as long as git lists the same names of the same
objects, which opens none. It is kept in the git directory, and can be deleted at any time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from evalstore.about import VERSION
from evalstore.errors import EvalstoreError
from evalstore.files import place_below, read_below, sweep_below, write_aside_below

FILE = "evalstore/listed-tags"  # below the git directory
LIMIT = 64 << 20  # bytes
MANY = 1000  # tags, from which on keeping them pays
_SHORT = 3  # fields of a line that git lists without opening an object: the name, the object, and the symbolic ref


def list_with_memory(directory: Path, list_whole: Callable[[], bytes], list_short: Callable[[], bytes]) -> bytes:
    """Return the whole listing, from the file below `directory` where git's short one is that of the kept one.

    The first fields of a line of the whole listing are those of the short one.
    """
    kept = b""
    with suppress(EvalstoreError):
        kept = read_below(directory, FILE, LIMIT)
    head, _, listing = kept.partition(b"\n")
    if kept and head == _describe(list_short(), listing):
        return listing
    listing = list_whole()
    if listing.count(b"\n") >= MANY:
        _keep(directory, [_describe(_shorten(listing), listing), b"\n", listing])
    return listing


def _describe(short: bytes, listing: bytes) -> bytes:
    digests = " ".join(hashlib.sha256(data).hexdigest() for data in (short, listing))
    return f"{VERSION} {digests}".encode("ascii")


def _shorten(listing: bytes) -> bytes:
    # From the listing itself: a tag that is made while git lists is in both, or in neither.
    return b"".join(b"\0".join(line.split(b"\0", _SHORT)[:_SHORT]) + b"\n" for line in listing.split(b"\n")[:-1])


def _keep(directory: Path, pieces: Sequence[bytes]) -> None:
    with suppress(EvalstoreError):  # where the git directory cannot be written, nothing is kept
        sweep_below(directory, FILE)
        write_aside_below(directory, FILE, pieces)
        place_below(directory, FILE)
