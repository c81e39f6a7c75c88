"""Measures how long a text goes on with characters of one class: as far as one loop of a pattern can read there.

What is measured is a bound, and never less than the truth. So most characters of a text are not looked at: from one
that is not of the class, the next look is `_STRIDE` characters on, and then back to the last one that is not.
"""

from __future__ import annotations

from functools import lru_cache

from evalstore.patterns.letters import build_reader, find_separators
from evalstore.patterns.syntax_tree import Atom

# Runs up to this length are not told apart.
_STRIDE = 24
# Longer runs are as good as the whole text: no bound is of use there.
_RUN_LIMIT = 4096


class _CharClassTable(dict[str, bool]):
    """Whether a character is of a class, the union of some atoms; and the most frequent one that is not."""

    def __init__(self, atoms: frozenset[Atom]) -> None:
        super().__init__()
        self._readers = [build_reader(atom) for atom in atoms]
        separators = find_separators(atoms)
        self.has_all = not separators
        self.separator = separators[:1]

    def __missing__(self, char: str) -> bool:
        self[char] = found = any(reads(char) for reads in self._readers)
        return found


class TextRuns(dict[frozenset[Atom], int]):
    """For the union of some atoms, a bound of the longest stretch of a text with such characters alone."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def __missing__(self, atoms: frozenset[Atom]) -> int:
        self[atoms] = longest = min(_find_longest_run(self._text, _build_table(atoms)), len(self._text))
        return longest


class EqualRuns(dict[frozenset[Atom], int]):
    """The runs of a text of some length of which nothing else is known: each is as long as the text can be."""

    def __init__(self, length: int) -> None:
        super().__init__()
        self._length = length

    def __missing__(self, _: frozenset[Atom]) -> int:
        return self._length


@lru_cache(maxsize=2)
def measure_runs(text: str) -> TextRuns:
    """Return the runs of a text, each measured when it is first asked for: many patterns read one text."""
    return TextRuns(text)


@lru_cache(maxsize=1024)
def _build_table(atoms: frozenset[Atom]) -> _CharClassTable:
    return _CharClassTable(atoms)


def _find_longest_run(text: str, table: _CharClassTable) -> int:
    if table.has_all:
        return len(text)
    # `start` is the first place that a run can begin at: what stands before it is not of the class.
    start, longest, find_last = 0, _STRIDE, text.rfind
    while (end := start + _STRIDE) < len(text):
        if not table[text[end]]:
            start = end + 1
        elif (last := find_last(table.separator, start, end)) >= 0:
            start = last + 1
        else:
            last = _find_last_other(text, start, table)
            end = last if last >= 0 else _find_end(text, end, table)
            if end - start > _RUN_LIMIT:
                return len(text)
            start, longest = end + 1, max(longest, end - start)
    return longest


def _find_last_other(text: str, start: int, table: _CharClassTable) -> int:
    """Return the last of the next places whose character is not of the class; -1 for none."""
    return next((place for place in range(start + _STRIDE - 1, start - 1, -1) if not table[text[place]]), -1)


def _find_end(text: str, start: int, table: _CharClassTable) -> int:
    """Return the first place from `start` on whose character is not of the class, or one beyond `_RUN_LIMIT`."""
    places = range(start, min(len(text), start + _RUN_LIMIT + 1))
    return next((place for place in places if not table[text[place]]), places.stop)
