"""Compares two texts word by word.

It shows both in one line (`[-old-]`, then `{+new+}`), or each text as it is, in pieces.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from evalstore.text import make_printable

# The most words of each text that are compared, from the first difference to the last; the time
# grows with their product.
_WORDS_LIMIT = 400
_FEW_WORDS = 60  # the same limit if thousands of texts are compared
_WORD = re.compile(r"\S+\s*|\s+")
_REACHES = (3, 2, 1)  # words before and after an edit: the most that fit
# How a comparison of texts with the same words ends.
WHITE_SPACE = "(other white space)"
_SHORT_TEXT = 3  # words of a text that is shown in full
_Step = tuple[str, int, int, int, int]


def compare_words(old: str, new: str, width: int = 0) -> str:
    """Return how the words of two texts differ.

    Texts with the same words differ only in white space. Of unchanged words, those next to an edit
    are shown: fewer of them if everything then fits `width`.
    """
    before, after = ([make_printable(word) for word in text.split()] for text in (old, new))
    if before == after:
        shown = _shorten_run(before, _REACHES[0], is_first=False, is_last=False)
        return f"{shown} {WHITE_SPACE}"
    steps = list(_find_steps(before, after))
    lines = [" ".join(filter(None, _mark_words(before, after, steps, reach))) for reach in _REACHES]
    return next((line for line in lines if not width or len(line) <= width), lines[-1])


def is_reworded(old: object, new: object) -> bool:
    """Whether a comparison word by word shows more than two texts side by side.

    Both sides must be texts.
    """
    sides = (old, new)
    return all(isinstance(one, str) for one in sides) and any(
        len(str(one).split()) > _SHORT_TEXT for one in sides
    )


def count_common_prefix(old: Sequence[object], new: Sequence[object]) -> int:
    """Return the length of the common prefix of two sequences of one type."""
    # By halves, because whole stretches are compared many times as fast as their members.
    same, most = 0, min(len(old), len(new))
    while same < most:
        middle = (same + most + 1) // 2
        if old[same:middle] == new[same:middle]:
            same = middle
        else:
            most = middle - 1
    return same


def _find_steps(
    old: Sequence[Hashable], new: Sequence[Hashable], most: int = _WORDS_LIMIT
) -> Iterator[_Step]:
    """Yield runs of words or lines, equal ones and different ones, as `difflib` does.

    Everything beyond the limit is one different run.
    """
    head = count_common_prefix(old, new)
    tail = count_common_prefix(old[head:][::-1], new[head:][::-1])
    ends = len(old) - tail, len(new) - tail
    if head:
        yield "equal", 0, head, 0, head
    read = min(ends[0], head + most), min(ends[1], head + most)
    matcher = SequenceMatcher(None, old[head : read[0]], new[head : read[1]], autojunk=False)
    for step, *places in matcher.get_opcodes():
        start, end, new_start, new_end = (place + head for place in places)
        yield step, start, end, new_start, new_end
    if read != ends:
        yield "replace", read[0], ends[0], read[1], ends[1]
    if tail:
        yield "equal", ends[0], len(old), ends[1], len(new)


def _mark_words(
    old: Sequence[str], new: Sequence[str], steps: Sequence[_Step], reach: int
) -> Iterator[str]:
    for number, (step, start, end, new_start, new_end) in enumerate(steps):
        if step == "equal":
            ends = number == 0, number == len(steps) - 1
            yield _shorten_run(old[start:end], reach, is_first=ends[0], is_last=ends[1])
            continue
        yield f"[-{' '.join(old[start:end])}-]" if end > start else ""
        yield f"{{+{' '.join(new[new_start:new_end])}+}}" if new_end > new_start else ""


def _shorten_run(words: Sequence[str], reach: int, *, is_first: bool, is_last: bool) -> str:
    """Return the words around edits; at either end of a text, only those next to the edit."""
    head, tail = [] if is_first else words[:reach], [] if is_last else words[-reach:]
    return " ".join(words if len(words) <= len(head) + len(tail) + 1 else [*head, "…", *tail])


class Piece(NamedTuple):
    """A piece of a text as it is, and whether the other text lacks it."""

    text: str
    is_changed: bool


def mark_differences(old: str, new: str) -> tuple[list[Piece], list[Piece]]:
    """Return both whole texts in pieces: by line, and by word where lines differ.

    White space belongs to the word before it, and alone is not a difference. If too many words
    differ, they are one piece, so that the time is bounded.
    """
    sides = list[Piece](), list[Piece]()
    lines = old.splitlines(keepends=True), new.splitlines(keepends=True)
    a, b = ([" ".join(line.split()) for line in side] for side in lines)
    for step, start, end, new_start, new_end in _find_steps(a, b):
        blocks = "".join(lines[0][start:end]), "".join(lines[1][new_start:new_end])
        if step == "replace":
            _mark_block(sides, *blocks)
        else:
            _add_pieces(sides, blocks, is_changed=step != "equal")
    return sides


def _mark_block(sides: tuple[list[Piece], list[Piece]], old: str, new: str) -> None:
    """Add the pieces of two blocks; only what stands between their common ends is split."""
    head = _measure_common_head(old, new)
    tail = _measure_common_tail(old[head:], new[head:])
    _add_pieces(sides, (old[:head], new[:head]), is_changed=False)
    blocks = old[head : len(old) - tail], new[head : len(new) - tail]
    words = [_WORD.findall(text) for text in blocks]
    a, b = ([*([""] if text[:1].isspace() else ()), *text.split()] for text in blocks)
    for step, start, end, new_start, new_end in _find_steps(a, b, _FEW_WORDS):
        parts = "".join(words[0][start:end]), "".join(words[1][new_start:new_end])
        _add_pieces(sides, parts, is_changed=step != "equal")
    _add_pieces(sides, (old[len(old) - tail :], new[len(new) - tail :]), is_changed=False)


def _measure_common_head(old: str, new: str) -> int:
    """Return the length of the words that two texts begin with, but for the last of them."""
    same = old[: count_common_prefix(old, new)]
    last = same.rsplit(None, 1)[-1:]  # it may go on, or have other white space behind it
    return len(same.rstrip()) - len(last[0]) if last else 0


def _measure_common_tail(old: str, new: str) -> int:
    """Return the length of the words that two texts end with, but for the first of them."""
    same = old[len(old) - count_common_prefix(old[::-1], new[::-1]) :]
    rest = same.split(None, 1)[1:]
    return len(rest[0]) if rest else 0


def _add_pieces(
    sides: tuple[list[Piece], list[Piece]], texts: Sequence[str], *, is_changed: bool
) -> None:
    for side, text in zip(sides, texts, strict=True):
        if text and side and side[-1].is_changed == is_changed:
            side[-1] = Piece(side[-1].text + text, is_changed)
        elif text:
            side.append(Piece(text, is_changed))
