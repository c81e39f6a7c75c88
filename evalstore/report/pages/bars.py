"""Draws the bars of a page: small SVG on one scale, each with its numbers in words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from evalstore.report.pages.html import Markup, make_element
from evalstore.report.text_layout import format_percent

_WIDTH, _HEIGHT = 200, 16  # of a bar's view box, which is stretched to its cell
_MARGIN = 4  # room for a mark at both ends


@dataclass(frozen=True, slots=True)
class BarScale:
    """The values between which bars are drawn."""

    low: Fraction
    high: Fraction

    @classmethod
    def from_values(cls, values: Iterable[Fraction]) -> BarScale:
        """Return the scale from the least to the largest value."""
        found = [*values]
        return cls(min(found), max(found))

    def __str__(self) -> str:
        return f"{format_percent(self.low)} to {format_percent(self.high)}"

    def find_place(self, value: Fraction) -> float:
        """Return where a value is in the view box; in the middle where the scale has no length."""
        part = Fraction(1, 2) if self.low == self.high else (value - self.low) / (self.high - self.low)
        return float(_MARGIN + part * (_WIDTH - 2 * _MARGIN))


def draw_step(start: Fraction, end: Fraction, scale: BarScale, *, is_open: bool = False) -> Markup:
    """Draw a change from one level to another; it is an outline where it is open whether it would be there again."""
    places = sorted(map(scale.find_place, (start, end)))
    side = "rise" if end > start else "fall" if end < start else "level"
    shape = make_element(
        "rect",
        x=f"{places[0]:.2f}",
        y="3",
        width=f"{max(places[1] - places[0], 1):.2f}",
        height="10",
        class_=f"{side} open" if is_open else side,
    )
    return _frame(f"from {format_percent(start)} to {format_percent(end)}", _draw_level(scale.find_place(start)), shape)


def draw_range(least: Fraction, most: Fraction, scale: BarScale) -> Markup:
    """Draw both ends between which a value lies, with a line at 0; an exact one is a mark."""
    places = scale.find_place(least), scale.find_place(most)
    shape = make_element(
        "rect",
        x=f"{places[0] - 1:.2f}",
        y="5",
        width=f"{places[1] - places[0] + 2:.2f}",
        height="6",
        class_="mark",
    )
    label = f"from {format_percent(least)} to {format_percent(most)}"
    return _frame(label, shape, _draw_level(scale.find_place(Fraction(0))))


def draw_mark(value: Fraction, scale: BarScale) -> Markup:
    """Draw one level as a mark."""
    place = scale.find_place(value)
    mark = make_element("rect", x=f"{place - 2:.2f}", y="1", width="4", height="14", class_="mark")
    return _frame(format_percent(value), _draw_level(place), mark)


def draw_bar(value: Fraction, *, is_strong: bool = False) -> Markup:
    """Draw a share of all points from the left; a strong one is in the colour of marks."""
    rail = make_element("rect", x="0", y="5", width=str(_WIDTH), height="6", class_="rail")
    width = f"{float(value * _WIDTH):.2f}"
    bar = make_element("rect", x="0", y="5", width=width, height="6", class_="mark" if is_strong else "bar")
    return _frame(f"{format_percent(value)} of 100", rail, bar)


def _draw_level(place: float) -> Markup:
    return make_element("line", x1=f"{place:.2f}", x2=f"{place:.2f}", y1="0", y2=str(_HEIGHT), class_="level")


def _frame(label: str, *shapes: Markup) -> Markup:
    # The names of SVG have capitals, so it is written here and not by `make_element`.
    return Markup(
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" preserveAspectRatio="none" role="img" aria-label="{label}">'
        f"{''.join(shapes)}</svg>"
    )
