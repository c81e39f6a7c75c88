"""Filters a list by choices, with rules of CSS and no script."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from markupsafe import Markup


@dataclass(frozen=True, slots=True)
class FilterMenu:
    """One list of choices: labels by the class of the items that each leaves in sight.

    `every` is the label for all.
    """

    label: str
    every: str
    choices: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class FilteredList:
    """Items below their filters.

    An item has the class `q` and those of the choices that it is found by.
    """

    menus: tuple[FilterMenu, ...]
    items: tuple[Markup, ...]
    about: str

    @property
    def rules(self) -> str:
        """The rules of CSS by which the filters work."""
        return write_rules(self.menus)


def write_rules(menus: Iterable[FilterMenu]) -> str:
    """Return the rules of CSS by which filters work."""
    keys = (key for menu in menus for key in menu.choices)
    return "".join(f".list:has(.o{key}:checked) .q:not(.{key}){{display:none}}\n" for key in keys)


def select_items(items: Iterable[tuple[Markup, int]], budget: int) -> tuple[Markup, ...]:
    """Return the first items within `budget` bytes together.

    Each comes with the number of its bytes that do not count.
    """
    found: list[Markup] = []
    size = 0
    for item, uncounted in items:
        size += len(item.encode()) - uncounted
        if size > budget:
            break
        found.append(item)
    return tuple(found)


def filter_items(
    menus: Iterable[FilterMenu], items: tuple[Markup, ...], about: str
) -> FilteredList:
    """Return items below those menus that have choices."""
    return FilteredList(tuple(menu for menu in menus if menu.choices), items, about)
