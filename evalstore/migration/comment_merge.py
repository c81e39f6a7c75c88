"""Carries the comments of a file over to what takes its place, where a merge of lines meets them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher

_COMMENT_LINE = re.compile(r"\s*(?:#.*)?\s*")
_LINE_TAIL = re.compile(r"\s+#.*\s*")


@dataclass(slots=True)
class _Comments:
    """The comments of a text without layout of its own: lines above, and ends of lines, by number from 0."""

    above: dict[int, list[str]] = field(default_factory=dict)
    tails: dict[int, str] = field(default_factory=dict)


def carry_comments(base: str, current: str, new: str) -> str | None:
    """Return `new` with the comments by which `current` differs from `base`; None where it differs by more.

    A comment stays at its line; where that is gone, it stands above what follows. That the values are those of `new` is
    for the caller to check: within a text of several lines a comment is none.
    """
    lines, target = base.splitlines(keepends=True), new.splitlines(keepends=True)
    comments = _find_comments(lines, current.splitlines(keepends=True))
    if comments is None:
        return None
    moved = _move_comments(comments, lines, target)
    parts: list[str] = []
    for number, line in enumerate(target):
        tail = moved.tails.get(number)
        parts += [*moved.above.get(number, ()), line if tail is None else line.rstrip("\r\n") + tail]
    return "".join([*parts, *moved.above.get(len(target), ())])


def _find_comments(base: Sequence[str], current: Sequence[str]) -> _Comments | None:
    comments, waiting, number = _Comments(), list[str](), 0
    for line in current:
        expected = base[number] if number < len(base) else None
        bare = None if expected is None else expected.rstrip("\r\n")
        tail = line[len(bare) :] if bare and line.startswith(bare) else ""
        if line == expected or _LINE_TAIL.fullmatch(tail):
            if line != expected:
                comments.tails[number] = tail
            comments.above[number], waiting = waiting, []
            number += 1
        elif _COMMENT_LINE.fullmatch(line):
            waiting.append(line)
        else:
            return None
    comments.above[number] = waiting
    return comments if number == len(base) else None


def _move_comments(comments: _Comments, base: Sequence[str], new: Sequence[str]) -> _Comments:
    moved = _Comments()
    for tag, start, stop, new_start, new_stop in SequenceMatcher(None, base, new).get_opcodes():
        for number in range(start, stop):
            stays = tag == "equal" or (tag == "replace" and number - start < new_stop - new_start)
            place = new_start + number - start if stays else new_stop
            moved.above.setdefault(place, []).extend(comments.above.get(number, ()))
            if (tail := comments.tails.get(number)) is None:
                continue
            if stays:
                moved.tails[place] = tail
            else:
                indent = len(base[number]) - len(base[number].lstrip(" "))
                moved.above[place].append(" " * indent + tail.lstrip())
    moved.above.setdefault(len(new), []).extend(comments.above.get(len(base), ()))
    return moved
