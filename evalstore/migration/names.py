"""Ids from the words of strangers: slugs that are valid file names everywhere, and what to do when two are the same."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import PurePosixPath
from typing import Any

from evalstore.documents import Pointer, json_pointer
from evalstore.migration.table import FormatTable
from evalstore.model import is_id

# Short enough for a digest or a number behind it within the 64 characters of an id.
SLUG_LIMIT = 48


def make_slug(text: str) -> str:
    """Return the ASCII letters and digits of a text, joined by `_`; empty when there are none."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii").lower()
    return re.sub(r"[^a-z0-9]+", "_", plain).strip("_")[:SLUG_LIMIT].strip("_")


def make_dataset_id(file: str, root: Any, table: FormatTable) -> str:
    """Return the id for a suite: its folder's name where the format says so, else the name it gives itself."""
    path = PurePosixPath(file)
    given = root.get(table.name) if table.name else None
    by_folder = path.parent.name if path.name == table.named_by_folder and path.parent.name != path.stem else ""
    words = [by_folder, given if isinstance(given, str) else "", path.stem]
    return make_id(next(filter(None, map(make_slug, words)), "suite"))


def number_names(name: str) -> Iterator[str]:
    """Yield `name`, then `name_2` and so on."""
    yield name
    yield from (f"{name}_{number}" for number in count(2))


@dataclass(slots=True)
class UniqueLabels:
    """Names that are given once each; a number that was tried is not tried again, however often a name comes.

    `taken` are names that no number may make: the ids of all cases of a source, as each keeps its own where it can.
    """

    used: set[str] = field(default_factory=set)
    _first: dict[str, Pointer] = field(default_factory=dict)
    _numbers: dict[str, Iterator[str]] = field(default_factory=dict)

    def claim(self, name: str) -> str:
        """Take a name if nobody has it, else the first free number behind it."""
        numbers = self._numbers.setdefault(name, number_names(name))
        own = next(one for one in numbers if one not in self.used)
        self.used.add(own)
        return own

    def claim_for_case(self, id_: str, pointer: Pointer) -> tuple[str, tuple[str, ...]]:
        """Return what the case at `pointer` is called by its id, and what is to be said if a case before has that."""
        self.used.add(id_)
        if self._first.setdefault(id_, pointer) == pointer:
            return id_, ()
        own = self.claim(id_)
        return own, (f"{id_} is also the case at {json_pointer(self._first[id_])}; here it is {own}",)


def make_id(name: str) -> str:
    """Return a name that is an id: the name itself, or behind a letter."""
    return name if is_id(name) else f"n_{name}"
