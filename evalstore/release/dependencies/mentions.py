"""Finds the names that a file may refer to from its bytes, without parsing it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain

from evalstore.errors import EvalstoreError, LoadError
from evalstore.files import BLOCK, open_below
from evalstore.model import Kind, Ref
from evalstore.release.dependencies.references import find_working_rows
from evalstore.store import ArtifactStore, Release

# One expression per kind, tried where its first letters are found: most rows name no artifact at
# all.
_MENTION = rb"(%s[a-z][a-z0-9_]{0,63}(?![a-z0-9_]))(@[0-9])?"
_FIRST_LETTERS = [f"{kind}/".encode() for kind in Kind]
_MENTIONS = {first: re.compile(_MENTION % first) for first in _FIRST_LETTERS}
# Escapes with which YAML (1.2, section 5.7) and JSON (RFC 8259, section 7) may spell the letters of
# a reference.
_HIDING = re.compile(rb"\\[xuU/\r\n]")


@dataclass(frozen=True, slots=True)
class Mentions:
    """The names that some bytes may refer to.

    `floating`: perhaps one without an exact version. `hidden`: escapes could spell any name, so the
    file must be parsed.
    """

    names: frozenset[str] = frozenset()
    floating: bool = False
    hidden: bool = False


ANYTHING = Mentions(floating=True, hidden=True)


def scan_mentions(pieces: Iterable[bytes]) -> Mentions:
    """Return what bytes mention, read piece by piece; never less than what they refer to."""
    names: set[str] = set()
    floating = hidden = False
    rest = b""
    for piece in pieces:
        data = rest + piece
        patterns = [pattern for first, pattern in _MENTIONS.items() if first in data]
        mentions = [found for pattern in patterns for found in pattern.findall(data)]
        names |= {name.decode("ascii") for name, _ in mentions}
        floating = floating or not all(pin for _, pin in mentions)
        hidden = hidden or (b"\\" in data and _HIDING.search(data) is not None)
        # A mention may begin in one piece and end in the next; finding it twice changes nothing.
        rest = data[-128:]  # more bytes than any mention has
    return Mentions(frozenset(names), floating or hidden, hidden)


def scan_working_file(store: ArtifactStore, ref: Ref, data: bytes | None) -> Mentions:
    """Return what a working file and the rows next to it mention.

    It is `ANYTHING` if they cannot be read (`data` is None).
    """
    if data is None:
        return ANYTHING
    if ref.kind is not Kind.DATASET:
        return scan_mentions([data])
    try:
        rows = find_working_rows(store, ref, data)
        # What ends one file does not begin the next.
        return scan_mentions(
            chain([data, b"\n"], _read_file_pieces(store, rows)) if rows else [data]
        )
    except LoadError:
        return ANYTHING


def _read_file_pieces(store: ArtifactStore, path: str) -> Iterator[bytes]:
    if store.root is None:
        return
    with open_below(store.root, path) as file:
        yield from iter(partial(file.read, BLOCK), b"")


def scan_release(store: ArtifactStore, release: Release, blob: str) -> Mentions:
    """Return what the file of a release mentions.

    It is `ANYTHING` if the file cannot be read, or has a separate file of rows.
    """
    try:
        data = store.objects.read(blob).data
    except EvalstoreError:
        return ANYTHING
    # Rows are another blob, possibly a large one, which is read only if somebody asks for its
    # references.
    return ANYTHING if release.kind is Kind.DATASET and b"rows" in data else scan_mentions([data])
