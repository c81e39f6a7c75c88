"""Carries the comments of a file over to its new text, each at its line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import chain
from typing import NamedTuple

_COMMENT_LINE = re.compile(r"\s*(?:#.*)?\s*")
_LINE_TAIL = re.compile(r"\s+#.*\s*")


class _LineComments(NamedTuple):
    """The comments of a line of a text in our own layout: lines above it, and what follows it."""

    above: list[str]
    tail: str = ""


def carry_comments(base: str, current: str, new: str) -> str | None:
    """Return `new` with the comments that `current` adds to `base`; None if more differs.

    A comment stays at its line; if that is gone, it goes above what follows. The caller must check
    that the values are those of `new`: inside a text of several lines, a comment would not be one.
    """
    lines, target = base.splitlines(keepends=True), new.splitlines(keepends=True)
    comments = _find_comments(lines, current.splitlines(keepends=True))
    if comments is None:
        return None
    above: list[list[str]] = [[] for _ in range(len(target) + 1)]
    for tag, start, stop, new_start, new_stop in SequenceMatcher(None, lines, target).get_opcodes():
        for number in range(start, stop):
            stays = tag == "equal" or (tag == "replace" and number - start < new_stop - new_start)
            place = new_start + number - start if stays else new_stop
            own, tail = comments[number]
            above[place] += own
            if tail and stays:
                target[place] = target[place].rstrip("\r\n") + tail
            elif tail:
                indent = len(lines[number]) - len(lines[number].lstrip(" "))
                above[place].append(" " * indent + tail.lstrip())
    above[-1] += comments[-1].above
    blocks = map("".join, above)
    return "".join(chain.from_iterable(zip(blocks, [*target, ""], strict=True)))


def _find_comments(base: Sequence[str], current: Sequence[str]) -> list[_LineComments] | None:
    """Return the comments of each line of `base`, and of its end; None if more differs."""
    comments, waiting = list[_LineComments](), list[str]()
    for line in current:
        expected = base[len(comments)] if len(comments) < len(base) else None
        bare = None if expected is None else expected.rstrip("\r\n")
        tail = line[len(bare) :] if bare and line.startswith(bare) else ""
        if line == expected or _LINE_TAIL.fullmatch(tail):
            comments.append(_LineComments(waiting, "" if line == expected else tail))
            waiting = []
        elif _COMMENT_LINE.fullmatch(line):
            waiting.append(line)
        else:
            return None
    return [*comments, _LineComments(waiting)] if len(comments) == len(base) else None
