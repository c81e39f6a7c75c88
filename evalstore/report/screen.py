"""What a text is written for: how wide it may be, and how its parts are painted; knows no terminal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Part(StrEnum):
    """A part of a text that a colour can tell from the rest."""

    HEAD = "head"
    MAJOR = "major"
    MINOR = "minor"
    PATCH = "patch"
    OLD = "old"
    NEW = "new"
    QUIET = "quiet"


# The numbers of SGR (ECMA-48): what every terminal of the last forty years knows.
COLOURS: Mapping[Part, str] = {
    Part.HEAD: "1",
    Part.MAJOR: "1;31",
    Part.MINOR: "33",
    Part.PATCH: "32",
    Part.OLD: "31",
    Part.NEW: "32",
    Part.QUIET: "2",
}


@dataclass(frozen=True, slots=True)
class Screen:
    """`width` in characters; without `colours` every part is plain."""

    width: int = 100
    colours: Mapping[Part, str] = field(default_factory=dict)

    def paint(self, part: Part | None, text: str) -> str:
        """Return a text as this screen shows that part."""
        code = self.colours.get(part) if part else None
        return f"\x1b[{code}m{text}\x1b[0m" if code and text else text


PAPER = Screen()
