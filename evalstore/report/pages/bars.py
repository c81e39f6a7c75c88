"""Draws bars, steps and marks on a scale as shapes of SVG."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from evalstore.report.text_layout import format_percent

# Of a bar's view box in `parts.html.jinja`, which is stretched to its cell.
_WIDTH, _HEIGHT = (
    200,
    16,
)
_CAP = 1  # width of a whisker's end
_DASH, _DASHES = 3, 2  # width and number of the dashes at the cut end of a whisker
_MARGIN = 4  # room for a mark at both ends


class Shape(NamedTuple):
    """A box, or, without a width, an upright line at `x`.

    `look` is its class in the style sheet.
    """

    x: float
    width: float | None
    height: int
    look: str

    @property
    def top(self) -> int:
        """Return its upper edge, which centres it vertically."""
        return (_HEIGHT - self.height) // 2


class Drawing(NamedTuple):
    """A bar: what it shows in words, and its shapes, rearmost first."""

    label: str
    shapes: tuple[Shape, ...]


@dataclass(frozen=True, slots=True)
class BarScale:
    """The values between which bars are drawn."""

    low: Fraction
    high: Fraction

    @classmethod
    def from_values(cls, values: Iterable[Fraction]) -> BarScale:
        """Return the scale from the smallest to the largest value."""
        found = [*values]
        return cls(min(found), max(found))

    def __str__(self) -> str:
        return f"{format_percent(self.low)} to {format_percent(self.high)}"

    def find_place(self, value: Fraction) -> float:
        """Return the place of a value in the view box; the middle if the scale has no length."""
        part = (
            Fraction(1, 2) if self.low == self.high else (value - self.low) / (self.high - self.low)
        )
        return float(_MARGIN + part * (_WIDTH - 2 * _MARGIN))


def draw_step(
    start: Fraction,
    end: Fraction,
    scale: BarScale,
    *,
    is_open: bool = False,
    ends: Sequence[Fraction] = (),
) -> Drawing:
    """Draw a change from one level to another, outlined if it could be chance (`is_open`).

    A whisker leads to both `ends` of its interval, or to 0 or 1 if these are beyond.
    """
    places = sorted(map(scale.find_place, (start, end)))
    side = "rise" if end > start else "fall"
    if end == start:
        side = "level"
    box = Shape(places[0], max(places[1] - places[0], 1), 10, f"{side} open" if is_open else side)
    label = f"from {format_percent(start)} to {format_percent(end)}"
    whisker = _draw_whisker(ends, scale.find_place) if ends else ()
    span = f"; interval {format_percent(ends[0])} to {format_percent(ends[1])}" if ends else ""
    return Drawing(f"{label}{span}", (_draw_level(start, scale), box, *whisker))


def draw_mark(value: Fraction, scale: BarScale) -> Drawing:
    """Draw one level as a mark."""
    box = Shape(scale.find_place(value) - 2, 4, 14, "mark")
    return Drawing(format_percent(value), (_draw_level(value, scale), box))


def draw_bar(value: Fraction, *, is_strong: bool = False, ends: Sequence[float] = ()) -> Drawing:
    """Draw a share of all points from the left; a strong one has the colour of marks.

    A whisker leads to both `ends` of its interval.
    """
    bar = Shape(0, float(value * _WIDTH), 6, "mark" if is_strong else "bar")
    whisker = _draw_whisker([*map(Fraction, ends)], lambda end: float(end * _WIDTH)) if ends else ()
    return Drawing(f"{format_percent(value)} of 100", (Shape(0, _WIDTH, 6, "rail"), bar, *whisker))


def limit_share(value: Fraction) -> Fraction:
    """Return a share of all points, limited to 0 through 1."""
    return min(max(value, Fraction(0)), Fraction(1))


def _draw_whisker(
    ends: Sequence[Fraction], find_place: Callable[[Fraction], float]
) -> tuple[Shape, ...]:
    """Draw a line with a cap at both ends.

    An end beyond 0 or 1 is cut there, and dashed instead of capped.
    """
    low, high = (find_place(limit_share(end)) for end in ends)
    start, stop, shapes = low, high, list[Shape]()
    for end, place, inwards in ((ends[0], low, 1), (ends[1], high, -1)):
        if end == limit_share(end):
            shapes.append(Shape(place - _CAP / 2, _CAP, 10, "whisker"))
            continue
        for number in range(_DASHES):
            near = place + inwards * 2 * _DASH * number
            shapes.append(Shape(min(near, near + inwards * _DASH), _DASH, 2, "whisker"))
        inner = place + inwards * 2 * _DASH * _DASHES
        start, stop = (inner, stop) if inwards > 0 else (start, inner)
    return (Shape(start, max(stop - start, 0), 2, "whisker"), *shapes)


def _draw_level(value: Fraction, scale: BarScale) -> Shape:
    return Shape(scale.find_place(value), None, _HEIGHT, "level")
