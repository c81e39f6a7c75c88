"""A pattern as a tree: sets of characters, places between them, and how they are put together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto


class Place(Enum):
    """A place between two characters; `$` without flag m is a choice of two of them."""

    TEXT_START = auto()
    LINE_START = auto()
    TEXT_END = auto()
    LINE_END = auto()
    WORD_EDGE = auto()
    NO_WORD_EDGE = auto()


@dataclass(frozen=True, slots=True)
class Chars:
    """One of these characters."""

    chars: str


@dataclass(frozen=True, slots=True)
class Folded:
    """One character, as the engine reads it under flag i."""

    char: str


@dataclass(frozen=True, slots=True)
class Set:
    """One character of a class, in the engine's own words and under its flag (i, for `.` s)."""

    source: str
    flag: str


@dataclass(frozen=True, slots=True)
class At:
    """A place."""

    place: Place


@dataclass(frozen=True, slots=True)
class Row:
    """One after the other."""

    parts: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several."""

    parts: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """The same at least `least` and at most `most` times; None is no end."""

    body: Tree
    least: int
    most: int | None


@dataclass(frozen=True, slots=True)
class Ahead:
    """What comes next begins so, or does not."""

    body: Tree
    wanted: bool


Atom = Chars | Folded | Set
Tree = Atom | At | Row | Choice | Repeat | Ahead


def parts(tree: Tree) -> tuple[Tree, ...]:
    """Return the trees that a tree is put together from."""
    if isinstance(tree, Row | Choice):
        return tree.parts
    return (tree.body,) if isinstance(tree, Repeat | Ahead) else ()


def nodes(tree: Tree) -> Iterator[Tree]:
    """Yield a tree, and then all trees within it."""
    yield tree
    for part in parts(tree):
        yield from nodes(part)


ANYTHING = Repeat(Set(".", "s"), 0, None)
