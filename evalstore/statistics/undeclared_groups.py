"""Looks for questions that belong together although no group says so.

An interval takes each as independent, and is too narrow if a few of them are as good as one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from math import sqrt

from evalstore.text import make_excerpt

_WORD = re.compile(r"[^\W\d_]+")
_ID_END = re.compile(r"[-_./: ]*(?:[0-9]+|[-_./: ][^-_./: ]*)$")
_CHUNKS = 8  # of an input's words; near-equal inputs differ in one at most
_MOST = 2_000  # questions that are examined: they are enough, and are kept in memory
_PART = 0.1  # of the questions: fewer near-equal ones do not move an interval
_FEWEST, _LEAST_AGREEMENT, _ERRORS = 5, 0.2, 3  # prefixes, their correlation, and its errors
_SHOWN = 40


@dataclass(slots=True)
class _PrefixSum:
    """The changes of the questions whose ids begin alike."""

    count: int = 0
    total: float = 0.0
    squares: float = 0.0

    @property
    def between(self) -> float:
        """The squares between groups that its mean contributes."""
        return self.total**2 / self.count


@dataclass(slots=True)
class UndeclaredGroups:
    """Questions with near-equal inputs, and changes by the beginning of the id."""

    questions: int = 0
    # By the first question of its kind, how many others have nearly its input.
    _alike: Counter[str] = field(default_factory=Counter)
    _first: dict[int, str] = field(default_factory=dict)
    _prefixes: dict[str, _PrefixSum] = field(default_factory=dict)

    def add_question(self, id_: str, asked: str, change: Fraction) -> None:
        """Add a question without a group, with how far its outputs moved it."""
        if self.questions >= _MOST:
            return
        self.questions += 1
        keys = [*_list_keys(asked)]
        first = next((self._first[key] for key in keys if key in self._first), None)
        if first is None:
            self._first |= dict.fromkeys(keys, id_)
        else:
            self._alike[first] += 1
        found = self._prefixes.setdefault(_ID_END.sub("", id_), _PrefixSum())
        moved = float(change)
        found.count += 1
        found.total += moved
        found.squares += moved**2

    def list_notes(self) -> Iterator[str]:
        """Yield why the questions look like groups."""
        signs: list[str] = []
        # What half of the questions have is the form of a dataset.
        clusters = {id_: count for id_, count in self._alike.items() if count * 2 < self.questions}
        held = sum(clusters.values()) + len(clusters)
        if clusters and held >= _PART * self.questions:
            largest = max(clusters, key=clusters.__getitem__)
            signs.append(
                f"{held:,} have inputs that are nearly equal ({make_excerpt(largest, _SHOWN)} and "
                f"{clusters[largest]:,} more)"
            )
        if self._agrees_by_prefix():
            prefix = max(self._prefixes, key=lambda one: self._prefixes[one].between)
            signs.append(
                f"those whose ids begin alike ({make_excerpt(prefix, _SHOWN)}) moved alike"
            )
        if signs:
            yield (
                f"questions look like groups, and none is declared: {' and '.join(signs)}; "
                "intervals take each for independent, which `group:` in the dataset corrects"
            )

    def _agrees_by_prefix(self) -> bool:
        """Whether the intraclass correlation of the changes is large, and not chance."""
        sums = self._prefixes.values()
        size, groups = self.questions, len(sums)
        if groups < _FEWEST or size - groups < _FEWEST:
            return False
        average = (size - sum(one.count**2 for one in sums) / size) / (groups - 1)
        explained = sum(one.between for one in sums)
        between = (explained - sum(one.total for one in sums) ** 2 / size) / (groups - 1)
        within = (sum(one.squares for one in sums) - explained) / (size - groups)
        spread = between + (average - 1) * within
        if spread <= 0 or average <= 1:
            return False
        error = sqrt(2 / (average * (average - 1) * (groups - 1)))
        return (between - within) / spread >= max(_LEAST_AGREEMENT, _ERRORS * error)


def _list_keys(asked: str) -> Iterator[int]:
    """Yield keys one of which near-equal inputs share, whatever numbers are in them."""
    words = _WORD.findall(asked.lower())
    if len(words) < _CHUNKS:
        yield hash(tuple(words) or asked)
        return
    cuts = pairwise(len(words) * number // _CHUNKS for number in range(_CHUNKS + 1))
    chunks = [hash(tuple(words[start:end])) for start, end in cuts]
    for number in range(_CHUNKS):
        yield hash((number, *chunks[:number], *chunks[number + 1 :]))
