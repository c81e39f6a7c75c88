"""The syntax tree of a pattern: characters, anchors, and how they are put together; any language here is one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto


class AnchorKind(Enum):
    """What an anchor asks of the place that it stands at; `$` without flag m is an alternation of two of them."""

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
class FoldedChar:
    """One character, as the engine reads it under flag i."""

    char: str


@dataclass(frozen=True, slots=True)
class CharClass:
    """One character of a class, in the engine's own syntax and under its flag (i, for `.` s)."""

    source: str
    flag: str


@dataclass(frozen=True, slots=True)
class Anchor:
    """A place between two characters; it consumes none."""

    kind: AnchorKind


@dataclass(frozen=True, slots=True)
class Concatenation:
    """One part after the other."""

    parts: tuple[RegexTree, ...]


@dataclass(frozen=True, slots=True)
class Alternation:
    """One of several parts."""

    parts: tuple[RegexTree, ...]


@dataclass(frozen=True, slots=True)
class Repetition:
    """The same at least `least` and at most `most` times; None is no end."""

    body: RegexTree
    least: int
    most: int | None


@dataclass(frozen=True, slots=True)
class Lookahead:
    """The rest of the text begins with the body (`positive`), or does not."""

    body: RegexTree
    positive: bool


Atom = Chars | FoldedChar | CharClass
RegexTree = Atom | Anchor | Concatenation | Alternation | Repetition | Lookahead


def get_children(tree: RegexTree) -> tuple[RegexTree, ...]:
    """Return the trees that a tree is put together from."""
    if isinstance(tree, Concatenation | Alternation):
        return tree.parts
    return (tree.body,) if isinstance(tree, Repetition | Lookahead) else ()


def iterate_tree(tree: RegexTree) -> Iterator[RegexTree]:
    """Yield a tree, and then all trees within it."""
    yield tree
    for child in get_children(tree):
        yield from iterate_tree(child)


ANY_TEXT = Repetition(CharClass(".", "s"), 0, None)
