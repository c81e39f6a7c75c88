"""Renders whether two sides can be compared, as text and JSON: the answer first, then its parts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from evalstore.audits.wording.points import format_size
from evalstore.report.text_layout import PAPER, Part, Screen
from evalstore.text import make_printable

if TYPE_CHECKING:
    from fractions import Fraction

    from evalstore.audits.comparability import Comparability


_COLOURS = {"yes": Part.PATCH, "no": Part.MAJOR}


def text(found: Comparability, screen: Screen = PAPER) -> str:
    """Return the answer, its parts with their reasons, and what would help."""
    colour = _COLOURS.get(found.answer, Part.MINOR)
    head = screen.wrap(f"{found.answer}: {_describe_answer(found)}", inner="", part=colour)
    return "\n".join([*head, "", *_describe_rest(found, screen)])


def _describe_answer(found: Comparability) -> str:
    sides = f"{found.a} and {found.b}"
    if found.answer == "yes":
        return f"scores under {sides} mean the same"
    if found.answer == "no":
        return f"not all scores under {sides} can be compared"
    again = found.answer != "bounded" or any(
        part.answer == "yes, after scoring again" for part in found.parts
    )
    once = " once one side is graded as the other was" if again else ""
    within = f" within {_format_bound(found.bound_after)}" if found.answer == "bounded" else ""
    stand = (
        f"; without it, within {_format_bound(found.bound)}"
        if again and found.bound is not None
        else ""
    )
    return f"scores under {sides} can be compared{within}{once}{stand}"


def _format_bound(bound: Fraction | None) -> str:
    return "-" if bound is None else f"{format_size(bound)} points"


def _describe_rest(found: Comparability, screen: Screen) -> Iterator[str]:
    for part in found.parts:
        name = make_printable(part.name)
        yield from screen.wrap(f"{name}: {part.answer} ({part.reason})", lead="  ", inner="    ")
    yield from screen.wrap(*(f"note: {make_printable(note)}" for note in found.notes))
