"""Writes filters that need no script: lists of choices, and a rule of CSS for each choice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evalstore.report.pages.html import Markup, join_markup, make_element
from evalstore.text import make_excerpt

_LABEL = 70


@dataclass(frozen=True, slots=True)
class FilterMenu:
    """One list of choices: by class of the items that a choice leaves in sight, its label; `every` leaves all."""

    label: str
    every: str
    choices: Mapping[str, str]


def format_filtered(menus: Sequence[FilterMenu], items: Sequence[Markup], about: str) -> tuple[Markup, str]:
    """Return items below their filters and a line that counts those in sight, and the rules of CSS for it.

    An item has the class `q` and those of the choices that it is found by.
    """
    useful = [menu for menu in menus if menu.choices]
    keys = [key for menu in useful for key in menu.choices]
    rules = "".join(f".list:has(.o{key}:checked) .q:not(.{key}){{display:none}}\n" for key in keys)
    legend = make_element("legend", "Show only")
    count = make_element("p", f"{about} Shown: ", make_element("span", class_="count"), class_="quiet")
    fieldset = make_element("fieldset", legend, *map(_format_menu, useful)) if useful else Markup()
    return make_element("div", join_markup(fieldset, Markup("\n"), *items), count, class_="list"), rules


def shorten_label(text: str) -> str:
    """Return a text as long as a choice may be."""
    return make_excerpt(text, _LABEL)


def _format_menu(menu: FilterMenu) -> Markup:
    options = [make_element("option", shorten_label(text), class_=f"o{key}") for key, text in menu.choices.items()]
    # Without this, a browser may bring a choice of an earlier visit back.
    select = make_element("select", make_element("option", menu.every), *options, autocomplete="off")
    return make_element("label", menu.label, select)
