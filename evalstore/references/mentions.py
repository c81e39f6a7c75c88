"""TODO: one sentence."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_NAME = rb"(?:rubric|judge|dataset)/[a-z][a-z0-9_]{0,63}(?![a-z0-9_])"


_MENTION = re.compile(rb"(%s)(@[0-9])?" % _NAME)


_HIDING = re.compile(rb"\\[xuU/\r\n]")  # how YAML and JSON may write the letters of a reference otherwise


_OVERLAP = 128  # bytes, more than any mention has


@dataclass(frozen=True, slots=True)
class Mentions:
    """What some bytes may refer to; `floating`: perhaps without an exact version, `hidden`: anything at all."""

    names: frozenset[str] = frozenset()
    floating: bool = False
    hidden: bool = False


ANYTHING = Mentions(floating=True, hidden=True)


def scan_mentions(pieces: Iterable[bytes]) -> Mentions:
    """Return what bytes mention: never less than they refer to, because a reference stands in one line."""
    names: set[str] = set()
    floating = hidden = False
    rest = b""
    for piece in pieces:
        data = rest + piece
        found = _MENTION.findall(data)
        names |= {name.decode("ascii") for name, _ in found}
        floating = floating or not all(pin for _, pin in found)
        hidden = hidden or _HIDING.search(data) is not None
        rest = data[-_OVERLAP:]
    return Mentions(frozenset(names), floating or hidden, hidden)
