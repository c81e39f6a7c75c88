"""Defines `Screen`, for which text is formatted: width, colours and length of lists; does not read the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple


class Part(StrEnum):
    """A part of a text that has a colour of its own."""

    HEAD = "head"
    MAJOR = "major"
    MINOR = "minor"
    PATCH = "patch"
    OLD = "old"
    NEW = "new"
    QUIET = "quiet"


# Parameters of SGR, the control sequence for colours (ECMA-48, 8.3.117).
COLOURS: Mapping[Part, str] = {
    Part.HEAD: "1",
    Part.MAJOR: "1;31",
    Part.MINOR: "33",
    Part.PATCH: "32",
    Part.OLD: "31",
    Part.NEW: "32",
    Part.QUIET: "2",
}


_LONG = 40
_NO_COLOURS: Mapping[Part, str] = {}


class Screen(NamedTuple):
    """`width` in characters; without `colours` every part is plain; `whole` leaves nothing out of a long list.

    `drawn` says that somebody looks at it, so that bars are worth drawing.
    """

    width: int = 100
    colours: Mapping[Part, str] = _NO_COLOURS
    whole: bool = False
    drawn: bool = False

    def can_hold(self, number: int) -> bool:
        """Whether a list of that length is shown whole: it is short, or --verbose is set."""
        return self.whole or number <= _LONG

    def shorten_list(self, lines: Sequence[str]) -> list[str]:
        """Return the lines of a list; of a long one the first, and how many more there are."""
        if self.can_hold(len(lines)):
            return list(lines)
        return [*lines[:_LONG], f"  and {len(lines) - _LONG:,} more; --verbose lists them all"]

    def paint(self, part: Part | None, text: str) -> str:
        """Return a text in the colour of a part; unchanged without colours or a part."""
        code = self.colours.get(part) if part else None
        return f"\x1b[{code}m{text}\x1b[0m" if code and text else text


_BLOCKS = "▁▂▃▄▅▆▇█"


def draw_sparkline(counts: Sequence[int]) -> str:
    """Return a bar for each count, the highest one whole; a blank for none."""
    most = max(counts, default=0)
    return "".join(_BLOCKS[(count * len(_BLOCKS) - 1) // most] if count else " " for count in counts)


PAPER = Screen()
