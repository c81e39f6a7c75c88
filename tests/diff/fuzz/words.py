"""The texts and numbers that everything else is made of: few, so that they meet, and odd, so that they hurt."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from random import Random
from typing import Any, TypeVar

Item = TypeVar("Item")
Make = Callable[[Random], Any]

# Letters whose lower case is a trap: sigma in its three forms, the kelvin sign, both Turkish i, both sharp s, the long s.
ODD = [
    "\u03a3",
    "\u0391\u03a3",
    "\u03c3",
    "\u03c2",
    "\u212a",
    "\u0130",
    "\u0131",
    "\u0307",
    "\u00df",
    "\u1e9e",
    "\u017f",
]
# Blanks that are none for some, ends of lines of every sort, a combining mark, what takes two units in UTF-16.
BLANKS = [
    " ",
    "\n",
    "\r\n",
    "\t",
    "\u00a0",
    "\u001c",
    "\u2028",
    "\u200b",
    "\u0301",
    "\U0001f600",
    "\ufeff",
    "\x00",
    "\x0b",
    "\x1f",
    "\x85",
]
PHRASES = ["a", "b", "ab", "A", "aB", "aba", "#", "# a", "1", "12", "k", "i", "s", "ss", " ", "\n", "b a", *ODD]
MARKDOWN = [
    "\n\n",
    "## b",
    "# a\n",
    "###### c",
    "b\n===",
    "```\na\n```",
    "    a",
    "- a\n- b",
    "> a",
    "#a",
    "## A\u03a3",
]
PHP = ["```php\n$x = 1;\n```", "```php\n$x = ;\n```"]
JSON = [
    "{}",
    "[]",
    "[1]",
    "1",
    "2.0",
    '"a"',
    '{"a": 1}',
    '{"a": "a"}',
    '{"a": 1.0, "b": 2}',
    '{"b": null}',
    '{"a":1,"a":2}',
    "[" * 65 + "]" * 65,
    "[" * 65,
]
TOOLS = ["a", "b", "c"]

COUNTS = [0, 1, 2]
WEIGHTS = [0, 0, 1, 1, 2, 3, Decimal("0.5"), Decimal("0.1")]
BARS = [0, Decimal("0.3"), Decimal("0.5"), Decimal("0.5"), Decimal("0.6"), Decimal("0.7"), 1, 1]


def some(random: Random, items: Sequence[Item], least: int, most: int) -> list[Item]:
    """Return a few of some items, the same more than once now and then."""
    return [random.choice(items) for _ in range(random.randint(least, most))]


def optional(random: Random, makes: Mapping[str, Make], chance: float = 0.3) -> dict[str, Any]:
    """Return a mapping with some of the keys."""
    return {name: make(random) for name, make in makes.items() if random.random() < chance}


def one_of(*items: Any) -> Make:
    """Return a maker of one of some values."""
    return lambda random: random.choice(items)
