"""Filters a list by choices, with CSS rules and no script."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from markupsafe import Markup


@dataclass(frozen=True, slots=True)
class FilterMenu:
    """One list of choices: a label for each class of items that it keeps visible.

    `every` is the label for all items.
    """

    label: str
    every: str
    choices: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class FilteredList:
    """Items below their filters.

    An item has the class `q` and those of the choices that find it.
    """

    menus: tuple[FilterMenu, ...]
    items: tuple[Markup, ...]
    about: str

    @property
    def rules(self) -> str:
        """The CSS rules that make the filters work."""
        return write_rules(self.menus)


def write_rules(menus: Iterable[FilterMenu]) -> str:
    """Return the CSS rules that make filters work."""
    keys = (key for menu in menus for key in menu.choices)
    return "".join(f".list:has(.o{key}:checked) .q:not(.{key}){{display:none}}\n" for key in keys)


def select_items(items: Iterable[tuple[Markup, int]], budget: int) -> tuple[Markup, ...]:
    """Return the first items that fit into `budget` bytes together.

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
    """Return items below the menus that have choices."""
    return FilteredList(tuple(menu for menu in menus if menu.choices), items, about)
