"""Keeps the rows of a page in a temporary file until they are sorted, then hands them to parts."""

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

MOST_BYTES = 49_500_000  # of the rows in one file: with everything else, a page stays below 50 MB
# Rows that are elements from the start, and rows per `noscript`, from which a script makes
# elements.
_FIRST, _BATCH = 100, 1_000


class RowPlace(NamedTuple):
    """The place of a row in the file, after its sort keys."""

    rank: tuple[Fraction | int, ...]
    offset: int
    size: int


class RowFile:
    """Rendered rows; only the place of each is in memory."""

    def __init__(self) -> None:
        self._file = TemporaryFile()  # noqa: SIM115  # closed when this is gone
        weakref.finalize(self, self._file.close)
        self._places: list[RowPlace] = []

    def add_row(self, rank: tuple[Fraction | int, ...], row: Markup) -> None:
        """Keep a row; rows of equal rank stay in order."""
        offset = self._places[-1].offset + self._places[-1].size if self._places else 0
        self._places.append(RowPlace(rank, offset, self._file.write(row.encode())))

    def divide_rows(self) -> list[list[RowPlace]]:
        """Return the rows in order, in parts as large as one file can hold.

        Without rows there is one part.
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
    """The classes that find rows, numbered in the order in which their names appear.

    Names beyond `most` get none.
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

    A script offers the `orders`. `order` is the initial one. `parts` has the name of each part's
    file, and `number` is the number of this part. `labels` is the key under which a browser keeps
    the rows' labels; empty if nobody is asked for any.
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
        """The rows that are visible at first."""
        return self.rows.read_rows(self.places[:_FIRST])

    @property
    def rest(self) -> Iterator[Iterator[Markup]]:
        """All other rows, in batches."""
        for start in range(_FIRST, len(self.places), _BATCH):
            yield self.rows.read_rows(self.places[start : start + _BATCH])


@dataclass(frozen=True)
class RowPages:
    """A page of rows, or several if one would be too large.

    `generate` yields a page around its rows. `order` says how the rows are sorted, and `found` how
    many there are, only some of which may be in the file. `labels` is a digest of the outputs if a
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
        """Yield one part; `names` are all files, and `trail` leads to where the page belongs."""
        # A part has the worst or the best outputs: labels of such outputs do not show how good a
        # grader is.
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

        `path` is that of the first; the others are next to it.
        """
        paths = _name_parts(path, len(self.parts))
        names = [one.rpartition("/")[2] for one in paths]
        for number, one in enumerate(paths):
            yield one, (piece.encode() for piece in self.write_part(number, names, trail))

    def _describe_order(self, names: Sequence[str]) -> str:
        if names[1:]:
            return (
                f"The order: {self.order}, in {count_noun(len(names), 'part')}; a search covers "
                "one part:"
            )
        left = self.found - len(self.parts[0])
        more = f" {count_noun(left, 'more row')}: --format html --out FILE has all." if left else ""
        return f"The order: {self.order}.{more}"


def _name_parts(name: str, count: int) -> list[str]:
    """Return the file names of `count` parts: `run.html`, `run-2.html`."""
    stem, dot, ending = name.rpartition(".")
    stem, ending = (stem, dot + ending) if stem else (name, "")
    return [name, *(f"{stem}-{number}{ending}" for number in range(2, count + 1))]
