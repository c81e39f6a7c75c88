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
    shape = _draw_box(places[0], max(places[1] - places[0], 1), 10, f"{side} open" if is_open else side)
    return _frame(f"from {format_percent(start)} to {format_percent(end)}", _draw_level(scale.find_place(start)), shape)


def draw_range(least: Fraction, most: Fraction, scale: BarScale) -> Markup:
    """Draw both ends between which a value lies, with a line at 0; an exact one is a mark."""
    places = scale.find_place(least), scale.find_place(most)
    shape = _draw_box(places[0] - 1, places[1] - places[0] + 2, 6, "mark")
    label = f"from {format_percent(least)} to {format_percent(most)}"
    return _frame(label, shape, _draw_level(scale.find_place(Fraction(0))))


def draw_mark(value: Fraction, scale: BarScale) -> Markup:
    """Draw one level as a mark."""
    place = scale.find_place(value)
    return _frame(format_percent(value), _draw_level(place), _draw_box(place - 2, 4, 14, "mark"))


def draw_bar(value: Fraction, *, is_strong: bool = False) -> Markup:
    """Draw a share of all points from the left; a strong one is in the colour of marks."""
    rail = _draw_box(0, _WIDTH, 6, "rail")
    bar = _draw_box(0, float(value * _WIDTH), 6, "mark" if is_strong else "bar")
    return _frame(f"{format_percent(value)} of 100", rail, bar)


def _draw_box(start: float, width: float, height: int, class_: str) -> Markup:
    """Draw a box from `start`, in the middle of the height."""
    top = (_HEIGHT - height) // 2
    return make_element("rect", x=f"{start:.2f}", y=str(top), width=f"{width:.2f}", height=str(height), class_=class_)


def _draw_level(place: float) -> Markup:
    return make_element("line", x1=f"{place:.2f}", x2=f"{place:.2f}", y1="0", y2=str(_HEIGHT), class_="level")


def _frame(label: str, *shapes: Markup) -> Markup:
    # The names of SVG have capitals, so it is written here and not by `make_element`.
    return Markup(
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" preserveAspectRatio="none" role="img" aria-label="{label}">'
        f"{''.join(shapes)}</svg>"
    )
