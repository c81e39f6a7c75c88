"""Writes tables, lists and folded lists of a page; on a narrow screen each row of a table becomes a labelled block."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from evalstore.report.pages.html import Markup, make_element
from evalstore.report.text_layout import format_percent

_MOST_ITEMS = 200


def format_table(
    head: Sequence[str], rows: Sequence[Markup], caption: str = "", *, numbers: Sequence[str] = ()
) -> Markup:
    """Return a table; a column without a name has no head, and those of `numbers` have theirs on the right."""
    words = (
        make_element("th", word, scope="col", class_="n" if word in numbers else "") if word else make_element("td")
        for word in head
    )
    return make_element(
        "table",
        make_element("caption", caption) if caption else Markup(),
        make_element("thead", make_element("tr", *words)),
        make_element("tbody", *rows),
        class_="stack",
    )


def format_row(*cells: str, id_: str = "") -> Markup:
    """Return one row of a table."""
    return make_element("tr", *cells, Markup("\n"), id=id_)


def format_head(*words: str) -> Markup:
    """Return the first cell of a row, which names it."""
    return make_element("th", *words, scope="row")


def format_cell(name: str, *words: str, is_number: bool = False, class_: str = "") -> Markup:
    """Return a cell of the column `name`."""
    classes = " ".join(filter(None, ["n" if is_number else "", class_]))
    return make_element("td", *words, class_=classes, data_name=name)


def format_number(name: str, value: Fraction | None) -> Markup:
    """Return a cell with a score in points of a hundred, `-` for None."""
    return format_cell(name, format_percent(value), is_number=True)


def format_refs(refs: Sequence[str]) -> Markup:
    """Return references in a row, each on one line where it fits."""
    last = len(refs) - 1
    parts = (make_element("span", ref + ("," if place < last else ""), class_="ref") for place, ref in enumerate(refs))
    return make_element("span", Markup(" ".join(parts)))


def format_items(items: Sequence[str]) -> Markup:
    """Return a list; nothing for an empty one."""
    return make_element("ul", *(make_element("li", item) for item in items)) if items else Markup()


def format_folded(title: str, items: Sequence[str]) -> Markup:
    """Return a list that opens; of a long one the first items, and how many more there are."""
    more = [f"and {len(items) - _MOST_ITEMS:,} more"] if len(items) > _MOST_ITEMS else []
    summary = make_element("summary", f"{title} ({len(items):,})")
    return make_element("details", summary, make_element("div", format_items([*items[:_MOST_ITEMS], *more])))
