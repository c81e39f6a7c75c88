"""Renders the pages' templates, and their bars: text from outside is escaped, and a page loads and runs nothing."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from evalstore.audits.wording import format_points
from evalstore.report.text_layout import format_percent
from evalstore.text import count_noun, make_excerpt, make_printable

_WIDTH, _HEIGHT = 200, 16  # of a bar's view box in `parts.html.jinja`, which is stretched to its cell
_CAP = 1  # width of a whisker's end
_MARGIN = 4  # room for a mark at both ends


class Shape(NamedTuple):
    """A box, or without a width an upright line at `x`; `look` is its class in the style."""

    x: float
    width: float | None
    height: int
    look: str

    @property
    def top(self) -> int:
        """Return where it begins, so that it is in the middle of the height."""
        return (_HEIGHT - self.height) // 2


class Drawing(NamedTuple):
    """A bar: what it shows in words, and its shapes, the first at the back."""

    label: str
    shapes: tuple[Shape, ...]


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


def draw_step(
    start: Fraction, end: Fraction, scale: BarScale, *, is_open: bool = False, ends: Sequence[Fraction] = ()
) -> Drawing:
    """Draw a change from one level to another; it is an outline where it is open whether it would be there again.

    A whisker leads to both `ends` of its interval.
    """
    places = sorted(map(scale.find_place, (start, end)))
    side = "rise" if end > start else "fall" if end < start else "level"
    box = Shape(places[0], max(places[1] - places[0], 1), 10, f"{side} open" if is_open else side)
    label, whisker = (
        f"from {format_percent(start)} to {format_percent(end)}",
        _draw_whisker(*map(scale.find_place, ends)) if ends else (),
    )
    span = f"; interval {format_percent(ends[0])} to {format_percent(ends[1])}" if ends else ""
    return Drawing(f"{label}{span}", (_draw_level(start, scale), box, *whisker))


def draw_mark(value: Fraction, scale: BarScale) -> Drawing:
    """Draw one level as a mark."""
    box = Shape(scale.find_place(value) - 2, 4, 14, "mark")
    return Drawing(format_percent(value), (_draw_level(value, scale), box))


def draw_bar(value: Fraction, *, is_strong: bool = False, ends: Sequence[float] = ()) -> Drawing:
    """Draw a share of all points from the left; a strong one is in the colour of marks.

    A whisker leads to both `ends` of its interval.
    """
    bar = Shape(0, float(value * _WIDTH), 6, "mark" if is_strong else "bar")
    whisker = _draw_whisker(*(end * _WIDTH for end in ends)) if ends else ()
    return Drawing(f"{format_percent(value)} of 100", (Shape(0, _WIDTH, 6, "rail"), bar, *whisker))


def _draw_whisker(low: float, high: float) -> tuple[Shape, ...]:
    caps = (Shape(place - _CAP / 2, _CAP, 10, "whisker") for place in (low, high))
    return (Shape(low, high - low, 2, "whisker"), *caps)


def _draw_level(value: Fraction, scale: BarScale) -> Shape:
    return Shape(scale.find_place(value), None, _HEIGHT, "level")


MOST_CHARACTERS = 20_000  # of an output or what was asked: of more the rest is counted
# Beside the characters of markup: a CI system reads `##[…]` and, where a line begins, `::…` in its log as commands.
_ESCAPES = str.maketrans({char: f"&#{ord(char)};" for char in "&<>\"'#"})
_COLON = re.compile(r"^(\s*):", re.MULTILINE)


def escape_html(text: str) -> Markup:
    """Return text from outside as HTML that acts on nobody; line feeds and tabs stay as they are."""
    lines = ("\t".join(map(make_printable, line.split("\t"))) for line in text.split("\n"))
    return Markup(_COLON.sub(r"\1&#58;", "\n".join(lines).translate(_ESCAPES)))  # noqa: S704  # escaped here


def render_template(name: str, /, **values: Any) -> Markup:
    """Return a template of this folder with its values."""
    return Markup(_load_environment().get_template(f"{name}.html.jinja").render(values))  # noqa: S704  # escaped there


def render_page(name: str, /, *, title: str, rules: str = "", **values: Any) -> str:
    """Return a whole page; `rules` is CSS of our own beside the style that all pages share."""
    style = read_style("style") + rules
    # The policy names the one style by its hash: no script, no image, no font, no form and no other style.
    digest = base64.b64encode(hashlib.sha256(style.encode("utf-8")).digest()).decode("ascii")
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    markup = Markup(style)  # noqa: S704  # ours: the keys in its rules are numbered
    return f"{render_template(name, title=title, style=markup, policy=policy, **values)}\n"


@cache
def read_style(name: str) -> str:
    """Return the CSS of a file beside the templates."""
    return (files(__package__) / "templates" / f"{name}.css").read_text("utf-8")


@cache
def _load_environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("evalstore.report.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_escape_value,
    )
    environment.filters |= {
        "bar": draw_bar,
        "noun": count_noun,
        "number": "{:,}".format,
        "percent": format_percent,
        "points": format_points,
        "shorten": make_excerpt,
    }
    environment.globals["most_characters"] = MOST_CHARACTERS
    return environment


def _escape_value(value: Any) -> Markup:
    """Return what a template prints: markup as it is, every other value escaped in our way, not in that of Jinja."""
    return value if isinstance(value, Markup) else escape_html(str(value))


@dataclass(frozen=True, slots=True)
class FilterMenu:
    """One list of choices: by class of the items that a choice leaves in sight, its label; `every` leaves all."""

    label: str
    every: str
    choices: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class FilteredList:
    """Items below their filters; an item has the class `q` and those of the choices that it is found by."""

    menus: tuple[FilterMenu, ...]
    items: tuple[Markup, ...]
    about: str

    @property
    def rules(self) -> str:
        """Return the rules of CSS by which the filters work."""
        keys = (key for menu in self.menus for key in menu.choices)
        return "".join(f".list:has(.o{key}:checked) .q:not(.{key}){{display:none}}\n" for key in keys)


def select_items(items: Iterable[tuple[Markup, int]], budget: int) -> tuple[Markup, ...]:
    """Return the first items that are no longer than `budget` bytes together; of each, so many bytes do not count."""
    found: list[Markup] = []
    size = 0
    for item, uncounted in items:
        size += len(item.encode()) - uncounted
        if size > budget:
            break
        found.append(item)
    return tuple(found)


def filter_items(menus: Iterable[FilterMenu], items: tuple[Markup, ...], about: str) -> FilteredList:
    """Return items below those menus that have choices."""
    return FilteredList(tuple(menu for menu in menus if menu.choices), items, about)


def count_bytes(*texts: str) -> int:
    """Return about how many bytes of a page texts are that are shown as they are."""
    return sum(len(text[:MOST_CHARACTERS].encode(errors="replace")) for text in texts)
