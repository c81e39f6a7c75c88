"""Quotes the source line that a finding is about, with a mark under the place."""

from __future__ import annotations

from itertools import accumulate

from evalstore.model import SourceLine
from evalstore.report.folding import measure_columns
from evalstore.report.text_layout import Part, Screen
from evalstore.text import escape_ci_commands, make_printable

_TAB = "    "
_CUT = "…"
_HASH = "\\x23"  # what `escape_ci_commands` writes for a #
_LEAST = 20  # columns for the line itself, however narrow the screen


def format_excerpt(
    source: SourceLine, line: int, part: Part, screen: Screen, indent: str
) -> list[str]:
    """Return the line after its number, and below it carets under the marked part.

    The carets have the colour of `part`.
    """
    number = str(line)
    room = max(screen.width - len(indent) - len(number) - len(" | "), _LEAST)
    cells = [_make_cell(source.text, index) for index in range(len(source.text))]
    first, last = _choose_window(cells, source, room)
    shown = "".join(cells[first:last])
    before, after = _CUT if first else "", _CUT if last < len(cells) else ""
    gutter = screen.paint(Part.QUIET, f"{indent}{number} |")
    lines = [f"{gutter} {before}{shown}{after}".rstrip()]
    if source.end > source.start:
        lead = len(before) + sum(map(measure_columns, cells[first : source.start]))
        # The marked part may be after the last character, or have no width.
        carets = "^" * max(
            min(
                sum(map(measure_columns, cells[source.start : min(source.end, last)])), room - lead
            ),
            1,
        )
        blank = screen.paint(Part.QUIET, f"{indent}{' ' * len(number)} |")
        lines.append(f"{blank} {' ' * lead}{screen.paint(part, carets)}")
    return lines


def _make_cell(text: str, index: int) -> str:
    """Return a character as it is shown.

    A tab becomes blanks; a control character or a CI command is escaped.
    """
    character = text[index]
    if character == "\t":
        return _TAB
    if character == "#":
        # What follows decides whether it begins a command.
        return _HASH if escape_ci_commands(text[index:]).startswith(_HASH) else character
    return make_printable(character)


def _choose_window(cells: list[str], source: SourceLine, room: int) -> tuple[int, int]:
    """Return the part of the cells that fits into `room` columns.

    It includes the marked ones if they fit.
    """
    ends = list(accumulate(map(measure_columns, cells), initial=0))
    if ends[-1] <= room:
        return 0, len(cells)
    start = min(source.start, len(cells))
    # Some of the text before it is shown, too, but less if the marked part is long.
    marked = min(ends[min(source.end, len(cells))] - ends[start], room - 2)
    lead = min((room - marked) // 2, room // 3)
    first = next(index for index in range(start + 1) if ends[start] - ends[index] <= lead)
    first = 0 if ends[start] + marked < room else first
    limit = ends[first] + room - bool(first) - 1
    last = max(
        (index for index in range(first, len(cells) + 1) if ends[index] <= limit), default=first
    )
    return first, last
