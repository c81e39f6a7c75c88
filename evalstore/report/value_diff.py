"""Compares two plain values, or two files, line by line, in few lines of limited width."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import unified_diff
from enum import StrEnum
from itertools import chain, groupby, pairwise
from typing import Any, NamedTuple

from evalstore.report.value_outline import format_value_outline
from evalstore.text import make_printable
from evalstore.word_diff import count_common_prefix

_LINES_LIMIT = 12
_VALUE_CONTEXT = 1  # lines around a change of a value
_CONTEXT_CHARACTERS = 16  # characters before the first difference of two long lines
_READ_LIMIT = 400  # lines of each side that are compared: the time grows with their product
_FLOW_WIDTH = 40  # characters up to which a mapping or list is put on one line
# Lines that are compared; with more, all old lines are removed and all new ones added.
_COMPARED_LIMIT = 2000
_FILE_CONTEXT = 3  # lines around a change in a file, as in git
_HUNK = re.compile(r"([-+])([0-9]+)")


class Mark(StrEnum):
    """The side of a line; `MORE` means lines that are left out."""

    OLD = "-"
    NEW = "+"
    BOTH = " "
    MORE = "…"


class Line(NamedTuple):
    """One line of a comparison, safe to show."""

    mark: Mark
    text: str


def compare_values(old: Any, new: Any, width: int) -> list[Line]:
    """Return how two plain values differ, in lines of at most `width` characters.

    None is an absent value.
    """
    before, after = _value_lines(old), _value_lines(new)
    if before == after:
        return []
    lines = _pair_lines(list(_compare_lines(*_strip_common_ends(before, after))), width)
    more = len(lines) - _LINES_LIMIT
    excerpt = (
        lines if more <= 1 else [*lines[:_LINES_LIMIT], Line(Mark.MORE, f"{more:,} more lines")]
    )
    return [Line(mark, _cut_line(make_printable(text), width)) for mark, text in excerpt]


def format_one_line(old: Any, new: Any, width: int) -> str | None:
    """Return `old → new` if both are short and on one line; None if not, or if one is absent."""
    before, after = _value_lines(old), _value_lines(new)
    if len(before) != 1 or len(after) != 1:
        return None
    texts = (_quote_value(old, before[0]), _quote_value(new, after[0]))
    text = " → ".join(map(make_printable, texts))
    return text if len(text) <= width else None


def format_plain_diff(old: bytes | None, new: bytes | None, path: str) -> str:
    """Return a unified diff of two files, with None for an absent one.

    For binary files git's line.
    """
    names = [
        "/dev/null" if old is None else f"a/{path}",
        "/dev/null" if new is None else f"b/{path}",
    ]
    if any(b"\0" in (data or b"") for data in (old, new)):
        return make_printable(f"Binary files {names[0]} and {names[1]} differ")
    before, after = (_safe_lines(data or b"") for data in (old, new))
    head = [make_printable(f"--- {names[0]}"), make_printable(f"+++ {names[1]}")]
    return "\n".join([*head, *_diff_hunks(before, after)])


def make_readable(data: bytes) -> str:
    """Return a file's text with every line safe to show."""
    return "\n".join(_safe_lines(data))


def _value_lines(value: Any) -> list[str]:
    if value is None:
        return []
    if isinstance(value, str):
        return value.removesuffix("\n").split("\n")
    return list(format_value_outline(value, _FLOW_WIDTH))


def _focus_line(old: str, new: str, width: int) -> tuple[str, str]:
    """Cut the common prefix of two long lines, except for its last characters."""
    if len(old) <= width and len(new) <= width:
        return old, new
    cut = max(0, count_common_prefix(old, new) - _CONTEXT_CHARACTERS)
    return (f"…{old[cut:]}", f"…{new[cut:]}") if cut else (old, new)


def _pair_lines(lines: list[Line], width: int) -> list[Line]:
    """Cut each old line, and the new one in its place, to where they differ."""
    runs = [list(run) for _, run in groupby(lines, key=lambda line: line.mark)]
    for old, new in pairwise(runs):
        if (old[0].mark, new[0].mark, len(old)) == (Mark.OLD, Mark.NEW, len(new)):
            for at, (mine, theirs) in enumerate(zip(old, new, strict=True)):
                before, after = _focus_line(mine.text, theirs.text, width)
                old[at], new[at] = Line(Mark.OLD, before), Line(Mark.NEW, after)
    return list(chain.from_iterable(runs))


def _strip_common_ends(old: list[str], new: list[str]) -> tuple[list[str], list[str]]:
    """Cut the common first lines of two texts, and all lines beyond the limit.

    The last common line stays.
    """
    cut = max(0, count_common_prefix(old, new) - _VALUE_CONTEXT)
    return old[cut : cut + _READ_LIMIT], new[cut : cut + _READ_LIMIT]


def _compare_lines(old: list[str], new: list[str]) -> Iterator[Line]:
    hunks = 0
    for number, line in enumerate(unified_diff(old, new, lineterm="", n=_VALUE_CONTEXT)):
        if number < len(("---", "+++")):
            continue
        if line.startswith("@@"):
            hunks += 1
            if hunks > 1:
                yield Line(Mark.MORE, "")
            continue
        yield Line(Mark(line[0]), line[1:])


def _cut_line(line: str, width: int) -> str:
    return line if len(line) <= width else line[: width - 1] + "…"


def _quote_value(value: Any, line: str) -> str:
    return f'"{line}"' if isinstance(value, str) else line


def _safe_lines(data: bytes) -> list[str]:
    text = data.decode("utf-8", "backslashreplace").removesuffix("\n")
    return (
        ["\t".join(map(make_printable, line.split("\t"))) for line in text.split("\n")]
        if data
        else []
    )


def _diff_hunks(old: list[str], new: list[str]) -> Iterator[str]:
    start = max(0, count_common_prefix(old, new) - _FILE_CONTEXT)
    old, new = old[start:], new[start:]
    if max(len(old), len(new)) > _COMPARED_LIMIT:
        yield f"@@ -{start + 1},{len(old)} +{start + 1},{len(new)} @@"
        yield from (f"-{line}" for line in old)
        yield from (f"+{line}" for line in new)
        return
    for number, line in enumerate(unified_diff(old, new, lineterm="", n=_FILE_CONTEXT)):
        if number >= len(("---", "+++")):
            yield (
                _HUNK.sub(lambda match: match[1] + str(int(match[2]) + start), line)
                if line[0] == "@"
                else line
            )
