"""Keeps the rows of a page in a temporary file until they are sorted.

It then hands each part its rows.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from tempfile import TemporaryFile
from typing import NamedTuple

from markupsafe import Markup

from evalstore.report.pages.filters import FilterMenu, write_rules
from evalstore.text import count_noun

MOST_BYTES = 49_500_000  # of the rows of one file: with all else a page stays below 50 MB
# Rows that are elements from the start, and rows in one `noscript`, of which a script makes them.
_FIRST, _BATCH = 100, 1_000


class RowPlace(NamedTuple):
    """Where a row is in the file, behind what it is sorted by."""

    rank: tuple[Fraction | int, ...]
    offset: int
    size: int


class RowFile:
    """Rendered rows; in memory is only where each of them is."""

    def __init__(self) -> None:
        self._file = TemporaryFile()  # noqa: SIM115  # closed when this is gone
        weakref.finalize(self, self._file.close)
        self._places: list[RowPlace] = []

    def add_row(self, rank: tuple[Fraction | int, ...], row: Markup) -> None:
        """Keep a row; rows of equal rank stay in their order."""
        offset = self._places[-1].offset + self._places[-1].size if self._places else 0
        self._places.append(RowPlace(rank, offset, self._file.write(row.encode())))

    def divide_rows(self) -> list[list[RowPlace]]:
        """Return the rows in order, as many in each part as one file holds.

        Without any rows there is one part.
        """
        parts, size = list[list[RowPlace]]([[]]), 0
        for place in sorted(self._places):
            if size + place.size > MOST_BYTES and parts[-1]:
                parts.append([])
                size = 0
            parts[-1].append(place)
            size += place.size
        return parts

    def read_rows(self, places: Sequence[RowPlace]) -> Iterator[Markup]:
        """Yield rows."""
        for place in places:
            self._file.seek(place.offset)
            # A template has rendered it.
            yield Markup(self._file.read(place.size).decode())  # noqa: S704


class ListKeys(dict[str, str]):
    """The classes that find rows, numbered as their names come.

    Beyond `most` names there is none.
    """

    def __init__(self, letter: str, most: int = 100) -> None:
        super().__init__()
        self._letter, self._most = letter, most

    def __missing__(self, name: str) -> str:
        if len(self) >= self._most:
            return ""
        self[name] = f"{self._letter}{len(self)}"
        return self[name]


@dataclass(frozen=True, slots=True)
class RowList:
    """One part of the rows, below the menus that find them and the links to all parts.

    A script offers the `orders`. `order` is how they are sorted at first. `parts` has the name of
    each part's file, and `number` is that of this one. `labels` is what a browser keeps their
    labels under; empty where none are asked for.
    """

    menus: Sequence[FilterMenu]
    orders: Mapping[str, str]
    order: str
    about: str
    rows: RowFile
    places: Sequence[RowPlace]
    parts: Sequence[str]
    number: int
    labels: str

    @property
    def first(self) -> Iterator[Markup]:
        """The rows that are in sight at first."""
        return self.rows.read_rows(self.places[:_FIRST])

    @property
    def rest(self) -> Iterator[Iterator[Markup]]:
        """All others, in batches."""
        for start in range(_FIRST, len(self.places), _BATCH):
            yield self.rows.read_rows(self.places[start : start + _BATCH])


@dataclass(frozen=True)
class RowPages:
    """A page of rows, or several where one would be too large.

    `generate` yields a page around its rows. `order` says how the rows are sorted, and `found` is
    how many there are, of which the file has some. `labels` is a digest of the outputs where a
    person may label them.
    """

    generate: Callable[..., Iterator[str]]
    menus: Sequence[FilterMenu]
    orders: Mapping[str, str]
    order: str
    found: int
    rows: RowFile
    labels: str = ""

    @cached_property
    def parts(self) -> list[list[RowPlace]]:
        """The rows of each part."""
        return self.rows.divide_rows()

    def write_part(self, number: int, names: Sequence[str] = (), trail: str = "") -> Iterator[str]:
        """Yield one part; `names` are the files of all, `trail` leads to where the page belongs."""
        # A part has the worst, or the best: of such outputs nobody learns how good a grader is.
        labels = "" if self.parts[1:] else self.labels
        found = RowList(
            menus=self.menus,
            orders=self.orders,
            order=self.order,
            about=self._describe_order(names),
            rows=self.rows,
            places=self.parts[number],
            parts=names[1:] and names,
            number=number,
            labels=labels,
        )
        scripts = ("rows.js", "labels.js") if labels else ("rows.js",)
        return self.generate(
            rules=write_rules(self.menus), scripts=scripts, trail=trail, found=found
        )

    def iterate_parts(self, path: str, trail: str = "") -> Iterator[tuple[str, Iterable[bytes]]]:
        """Yield the path and the bytes of each part.

        `path` is that of the first one; the others are next to it.
        """
        paths = _name_parts(path, len(self.parts))
        names = [one.rpartition("/")[2] for one in paths]
        for number, one in enumerate(paths):
            yield one, (piece.encode() for piece in self.write_part(number, names, trail))

    def _describe_order(self, names: Sequence[str]) -> str:
        if names[1:]:
            return (
                f"The order: {self.order}, in {count_noun(len(names), 'part')}; a search is of "
                "one part:"
            )
        left = self.found - len(self.parts[0])
        more = f" {count_noun(left, 'more row')}: --format html --out FILE has all." if left else ""
        return f"The order: {self.order}.{more}"


def _name_parts(name: str, count: int) -> list[str]:
    """Return the names of the files of so many parts: `run.html`, `run-2.html`."""
    stem, dot, ending = name.rpartition(".")
    stem, ending = (stem, dot + ending) if stem else (name, "")
    return [name, *(f"{stem}-{number}{ending}" for number in range(2, count + 1))]
