"""Finds the word that a misspelt one stands for, by counted slips of the keyboard."""

from __future__ import annotations

from functools import lru_cache

SLIPS = 2  # with more it is another word
_SHORT = 5  # a word of at most this length allows one slip only


def find_only_near(word: str, names: tuple[str, ...]) -> str | None:
    """Return the one name that `word` misspells; None where there is none, or a choice."""
    near = [name for name in names if find_near_word(word, (name,), SLIPS)]
    return near[0] if len(near) == 1 else None


@lru_cache(maxsize=4096)
def find_near_word(key: str, names: tuple[str, ...], most: int) -> str | None:
    """Return the name nearest to `key`, at most so many slips away; None without one."""
    bare = _strip_separators(key)
    limit = 1 if len(bare) <= _SHORT else most
    # `input2` is no slip: a number sets a key apart from its neighbour.
    near = (
        (distance, name)
        for name in names
        if (distance := _count_slips(bare, _strip_separators(name))) <= limit and _digits(key) == _digits(name)
    )
    return min(near, default=(0, None))[1] if len(bare) > 1 else None


def _digits(word: str) -> list[str]:
    return [letter for letter in word if letter.isdigit()]


def _strip_separators(word: str) -> str:
    return word.lower().replace("-", "").replace("_", "").replace(" ", "")


def _count_slips(one: str, other: str) -> int:
    """Return the Damerau-Levenshtein distance (optimal string alignment) of two words; above the limit just a bound."""
    # A slip changes the length by at most one and the set of letters by at most two: a fast lower bound.
    if abs(len(one) - len(other)) > SLIPS or len(set(one) ^ set(other)) > 2 * SLIPS:
        return SLIPS + 1
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        before, last, row = row, before, [i]
        for j, wanted in enumerate(other, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == wanted:
                cost = min(cost, last[j - 2] + 1)
            row.append(cost)
    return row[-1]
