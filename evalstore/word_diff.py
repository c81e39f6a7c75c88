"""Compares two texts word by word, in one line: what is gone as `[-old-]`, and then what is new as `{+new+}`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import takewhile

from evalstore.text import make_printable

# Words of each text that are compared, from the first that differs to the last; the time grows with
# their product.
_WORDS_LIMIT = 400
_REACHES = (3, 2, 1)  # words before an edit, and behind it: the most that fit
# The end of a comparison of texts that have the same words.
WHITE_SPACE = "(other white space)"
_SHORT_TEXT = 3  # words of a text that is shown whole
_Step = tuple[str, int, int, int, int]


def compare_words(old: str, new: str, width: int = 0) -> str:
    """Return how the words of two texts differ; texts with the same words differ in their white space alone.

    Of words that stay, those next to an edit are shown: fewer of them where all of it then fits
    `width`.
    """
    before, after = ([make_printable(word) for word in text.split()] for text in (old, new))
    if before == after:
        shown = _shorten_run(before, _REACHES[0], is_first=False, is_last=False)
        return f"{shown} {WHITE_SPACE}"
    steps = list(_find_steps(before, after))
    lines = [" ".join(filter(None, _mark_words(before, after, steps, reach))) for reach in _REACHES]
    return next((line for line in lines if not width or len(line) <= width), lines[-1])


def is_reworded(old: object, new: object) -> bool:
    """Whether both are texts of which a comparison word by word shows more than the two side by side."""
    sides = (old, new)
    return all(isinstance(one, str) for one in sides) and any(
        len(str(one).split()) > _SHORT_TEXT for one in sides
    )


def count_common_prefix(old: Sequence[str], new: Sequence[str]) -> int:
    """Return the length of the common prefix of two sequences."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))


def _find_steps(old: Sequence[str], new: Sequence[str]) -> Iterator[_Step]:
    """Yield the runs of words that are equal, and those that are not, as `difflib` has them.

    What lies beyond the limit is one run that differs.
    """
    head = count_common_prefix(old, new)
    tail = count_common_prefix(old[head:][::-1], new[head:][::-1])
    ends = len(old) - tail, len(new) - tail
    if head:
        yield "equal", 0, head, 0, head
    read = min(ends[0], head + _WORDS_LIMIT), min(ends[1], head + _WORDS_LIMIT)
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
    """Return the words around edits; at the ends of a text only those on the side of the edit."""
    head, tail = [] if is_first else words[:reach], [] if is_last else words[-reach:]
    return " ".join(words if len(words) <= len(head) + len(tail) + 1 else [*head, "…", *tail])
