"""Renders what `evalstore site` wrote, as text and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalstore.report.text_layout import count_noun
from evalstore.text import make_printable

if TYPE_CHECKING:
    from evalstore.site.contents import WrittenSite


def text(site: WrittenSite) -> str:
    """Return the first page's path, how many pages there are, and what was left out."""
    notes = [f"note: {make_printable(note)}" for note in site.notes]
    return "\n".join(
        [f"{make_printable(site.folder)}/index.html and {count_noun(site.pages - 1, 'more page')}", *notes]
    )
