"""Formats values as text for a `Screen` of some width.

These are numbers, lists, sentences, tables and JSON documents.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from evalstore.report.folding import COMMAND, fold_command, fold_text
from evalstore.text import make_printable

if TYPE_CHECKING:
    from fractions import Fraction


COMMIT, DAY = 7, 10  # characters of a commit id, and of an ISO date
_LONG = 40
_CHANGE = r"(?<!\S)([-+])(?=[0-9.]*[1-9])[0-9.]+(?!\S)"
_BLOCKS = "▁▂▃▄▅▆▇█"
_LEAST_WIDTH = 16  # the least width of a last column worth wrapping
_GAP = "  "  # between two columns
_NO_BREAK = "\x00"  # stands in for a blank: printable text never contains it
_NO_COLOURS: Mapping[Part, str] = {}


class Part(StrEnum):
    """A part of a text that has a colour of its own."""

    HEAD = "head"
    MAJOR = "major"
    MINOR = "minor"
    PATCH = "patch"
    OLD = "old"
    NEW = "new"
    QUIET = "quiet"
    VERB = "verb"
    WARNING = "warning"
    HINT = "hint"


# Parameters of SGR, the control sequence for colours (ECMA-48, 8.3.117).
COLOURS: Mapping[Part, str] = {
    Part.HEAD: "1",
    Part.MAJOR: "1;31",
    Part.MINOR: "33",
    Part.PATCH: "32",
    Part.OLD: "31",
    Part.NEW: "32",
    Part.QUIET: "2",
    Part.VERB: "1;32",
    Part.WARNING: "1;33",
    Part.HINT: "1;36",
}
# What the words of a report mean, wherever they appear by themselves in a line or a table.
LEVELS: Mapping[str, Part] = {"major": Part.MAJOR, "minor": Part.MINOR, "patch": Part.PATCH}
VERDICTS: Mapping[str, Part] = {"fail": Part.MAJOR, "unscored": Part.MINOR, "pass": Part.PATCH}
_LEADS: Mapping[str, Part] = {
    "error": Part.MAJOR,
    "warning": Part.WARNING,
    "hint": Part.HINT,
    "note": Part.HINT,
    "next": Part.QUIET,
}


class Screen(NamedTuple):
    """`width` in characters; without `colours` every part is plain; `whole` shortens no list.

    `drawn` says that somebody is looking, so that bars are worth drawing, and `fits` that no line
    may be wider.
    """

    width: int = 100
    colours: Mapping[Part, str] = _NO_COLOURS
    whole: bool = False
    drawn: bool = False
    fits: bool = False

    def can_hold(self, number: int) -> bool:
        """Whether a list of that length is shown whole: it is short, or --verbose is set."""
        return self.whole or number <= _LONG

    def shorten_list(self, lines: Sequence[str]) -> list[str]:
        """Return the lines of a list; for a long one the first, and how many more there are."""
        if self.can_hold(len(lines)):
            return list(lines)
        return [*lines[:_LONG], f"  and {len(lines) - _LONG:,} more; --verbose lists them all"]

    def paint(self, part: Part | None, text: str) -> str:
        """Return a text in the colour of a part; unchanged without colours or a part."""
        code = self.colours.get(part) if part else None
        return f"\x1b[{code}m{text}\x1b[0m" if code and text else text

    def wrap(
        self, *sentences: str, lead: str = "", inner: str = "  ", part: Part | None = None
    ) -> list[str]:
        """Return sentences in lines that fit, in the colour of a part.

        `wrap_lines` breaks them.
        """
        lines = wrap_lines(*sentences, width=self.width, lead=lead, inner=inner)
        return [self.paint(part, line) for line in lines]

    def paint_words(self, text: str, parts: Mapping[str, Part]) -> str:
        """Return a text in which some words have colours, if they appear by themselves."""
        if not self.colours:
            return text
        words = "|".join(map(re.escape, parts))
        return re.sub(
            rf"(?<!\S)(?:{words})(?![^\s,;:.])",
            lambda found: self.paint(parts[found[0]], found[0]),
            text,
        )

    def paint_change(self, line: str) -> str:
        """Return a line whose first signed number has the colour of a loss or a gain.

        A 0 has no colour.
        """
        sides = {"-": Part.OLD, "+": Part.NEW}
        return re.sub(_CHANGE, lambda found: self.paint(sides[found[1]], found[0]), line, count=1)

    def paint_verb(self, line: str) -> str:
        """Return a line whose first word, which says what was done, has the colour of success."""
        verb, blank, rest = line.partition(" ")
        return self.paint(Part.VERB, verb) + blank + rest

    def paint_lead(self, line: str) -> str:
        """Return a message in which `error:`, `hint:` and the like have a colour."""
        lead, colon, rest = line.partition(":")
        return self.paint(_LEADS.get(lead) if colon else None, lead + colon) + rest

    def paint_diff(self, diff: str) -> list[str]:
        """Return the lines of a unified diff, safe to show, old and new ones in their colours."""
        sides = {"-": Part.OLD, "+": Part.NEW}
        return [self.paint(sides.get(line[:1]), make_printable(line)) for line in diff.splitlines()]

    def fit(self, text: str) -> str:
        """Return a text with no line wider than the screen, if the screen has an end."""
        return fold_text(text, self.width) if self.fits else text

    def fold(self, command: str, margin: int = 0) -> list[str]:
        """Return a command in lines that fit next to a margin and can be pasted.

        On an endless screen it is one line.
        """
        return fold_command(command, self.width - margin) if self.fits else [command]


def draw_sparkline(counts: Sequence[int]) -> str:
    """Return a bar for each count, the highest at full height; a blank for none."""
    most = max(counts, default=0)
    return "".join(
        _BLOCKS[(count * len(_BLOCKS) - 1) // most] if count else " " for count in counts
    )


PAPER = Screen()


def join_names(words: Iterable[str], limit: int | None = None) -> str:
    """Return `a, b and c`; for more than `limit` names, the first ones and `5 more`."""
    names = list(words)
    if limit is not None and len(names) > limit:
        names = [*names[:limit], f"{len(names) - limit:,} more"]
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def join_blocks(*blocks: str | Iterable[str]) -> str:
    """Return blocks, each a text or lines, separated by blank lines.

    A block without text is left out.
    """
    texts = (block if isinstance(block, str) else "\n".join(block) for block in blocks)
    return "\n\n".join(filter(None, texts))


def wrap_lines(
    *sentences: str, width: int = PAPER.width, lead: str = "", inner: str = ""
) -> list[str]:
    """Return sentences, safe to show, in lines of at most `width` characters.

    The first line of each begins with `lead`, the others with `inner`. Words are not cut, neither
    at hyphens nor if longer than a line, and neither are commands: people copy options, rules,
    paths and commands.
    """
    from textwrap import TextWrapper

    lines = TextWrapper(
        width,
        initial_indent=lead,
        subsequent_indent=inner,
        break_on_hyphens=False,
        break_long_words=False,
    )
    kept = map(_keep_commands_whole, map(make_printable, sentences))
    return [line.replace(_NO_BREAK, " ") for sentence in kept for line in lines.wrap(sentence)]


def _keep_commands_whole(sentence: str) -> str:
    return re.sub(COMMAND, lambda found: found[0].replace(" ", _NO_BREAK), sentence)


def format_percent(value: Fraction | None, digits: int = 2) -> str:
    """Return a share of 1 in hundredths, `66.67`, or `-` for None.

    `100.00` and `0.00` are never rounded values.
    """
    if value is None:
        return "-"
    found, least = float(value) * 100, 10**-digits / 2
    inside = min(max(found, least * 1.01), 100 - least * 1.01) if 0 < value < 1 else found
    return f"{inside:.{digits}f}"


def format_columns(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> str:
    """Return one line per row, each column as wide as its widest cell, all cells escaped.

    Cells are aligned left, except those in the columns `right`, which are numbers.
    """
    cells = list(map(_make_row_printable, rows))
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    sides = [str.rjust if index in right else str.ljust for index in range(len(widths))]

    def line(row: Sequence[str]) -> str:
        columns = zip(sides, row, widths, strict=True)
        return _GAP.join(side(cell, width) for side, cell, width in columns).rstrip()

    return "\n".join(map(line, cells))


def _make_row_printable(row: Sequence[str]) -> Sequence[str]:
    text = "".join(row)
    return row if text.isascii() and text.isprintable() else list(map(make_printable, row))


def wrap_columns(
    rows: Sequence[Sequence[str]], width: int, right: Collection[int] = ()
) -> list[str]:
    """Return the lines of `format_columns`.

    In a row that is too wide, the last cell continues below itself.
    """
    return [line for row in wrap_rows(rows, width, right) for line in row.split("\n")]


def wrap_rows(rows: Sequence[Sequence[str]], width: int, right: Collection[int] = ()) -> list[str]:
    """Return a text for each row.

    It has several lines if its last cell continues below itself.
    """
    lines = format_columns(rows, right).split("\n")
    margin = len(format_columns([(*row[:-1], "x") for row in rows], right).partition("\n")[0]) - 1
    if width - margin < _LEAST_WIDTH:
        return lines
    return [_wrap_last_cell(line, margin, width) if len(line) > width else line for line in lines]


def _wrap_last_cell(line: str, margin: int, width: int) -> str:
    lead, inner = line[:margin], " " * margin
    return "\n".join(wrap_lines(line[margin:], width=width, lead=lead, inner=inner))


def wrap_beside(lead: str, sentence: str, screen: Screen) -> list[str]:
    """Return a sentence next to its lead, wrapped.

    If the lead is wider than half the screen, the sentence goes below it.
    """
    margin = len(lead) if len(lead) <= screen.width // 2 else 6
    first = "" if margin == len(lead) else " " * margin
    lines = screen.wrap(sentence, lead=first or lead, inner=" " * margin)
    return [*([lead.rstrip()] if first else []), *lines]


def dump_json(document: Any) -> str:
    """Return the document in ASCII, with `##` escaped.

    In a log, `##` starts a command for a CI system.
    """
    import json

    text = json.dumps(document, indent=2, ensure_ascii=True, allow_nan=False)
    return text.replace("##", "\\u0023\\u0023")  # `##` occurs in strings only
