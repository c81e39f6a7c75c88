"""The syntax tree of a pattern: characters, anchors, and how they are combined."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import Enum, auto


class AnchorKind(Enum):
    """What an anchor asks of its place."""

    TEXT_START = auto()
    LINE_START = auto()
    TEXT_END = auto()
    LINE_END = auto()
    LAST_LINE_END = auto()  # the end of the text, or just before the newline that ends it
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
    """One character of a class, in the engine's syntax and under its flags (a and i; for `.` s)."""

    source: str
    flag: str


@dataclass(frozen=True, slots=True)
class Anchor:
    """A place between two characters; it consumes none.

    A number means a look-around that is decided beforehand.
    """

    kind: AnchorKind | int


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
    """The same at least `least` and at most `most` times; None means no end.

    `lazy` tries few before many.
    """

    body: RegexTree
    least: int
    most: int | None
    lazy: bool = False


@dataclass(frozen=True, slots=True)
class Lookahead:
    """The rest of the text begins with the body (`positive`), or does not."""

    body: RegexTree
    positive: bool


@dataclass(frozen=True, slots=True)
class Lookbehind:
    """The text before this place ends with the body (`positive`), or does not."""

    body: RegexTree
    positive: bool


@dataclass(frozen=True, slots=True)
class Group:
    """The body, whose text is kept under a number from 1 up; groups of one name share a number."""

    body: RegexTree
    number: int


@dataclass(frozen=True, slots=True)
class Atomic:
    """The first way that the body matches here, and no other, as in a possessive repeat."""

    body: RegexTree


@dataclass(frozen=True, slots=True)
class BackReference:
    """The text that a group holds; `folds` compares as flag i does."""

    number: int
    folds: bool


@dataclass(frozen=True, slots=True)
class Conditional:
    """One part if the group took part in the match, the other if it did not."""

    number: int
    yes: RegexTree
    no: RegexTree


Atom = Chars | FoldedChar | CharClass
Lookaround = Lookahead | Lookbehind
RegexTree = (
    Atom
    | Anchor
    | Concatenation
    | Alternation
    | Repetition
    | Lookahead
    | Lookbehind
    | Group
    | Atomic
    | BackReference
    | Conditional
)


def get_children(tree: RegexTree) -> tuple[RegexTree, ...]:
    """Return the trees that a tree is built from."""
    if isinstance(tree, Concatenation | Alternation):
        return tree.parts
    if isinstance(tree, Conditional):
        return tree.yes, tree.no
    return (tree.body,) if isinstance(tree, Repetition | Lookaround | Group | Atomic) else ()


def replace_children(tree: RegexTree, change: Callable[[RegexTree], RegexTree]) -> RegexTree:
    """Return a tree with `change` applied to each tree that it is built from."""
    if isinstance(tree, Concatenation | Alternation):
        return type(tree)(tuple(map(change, tree.parts)))
    if isinstance(tree, Conditional):
        return Conditional(tree.number, change(tree.yes), change(tree.no))
    return (
        replace(tree, body=change(tree.body))
        if isinstance(tree, Repetition | Lookaround | Group | Atomic)
        else tree
    )


def iterate_tree(tree: RegexTree) -> Iterator[RegexTree]:
    """Yield a tree, and then all trees within it."""
    yield tree
    for child in get_children(tree):
        yield from iterate_tree(child)


def can_be_empty(tree: RegexTree) -> bool:
    """Whether a tree may match without reading a letter."""
    if isinstance(tree, Atom):
        return False
    if isinstance(tree, Repetition):
        return tree.least == 0 or can_be_empty(tree.body)
    if isinstance(tree, Concatenation):
        return all(map(can_be_empty, tree.parts))
    if isinstance(tree, Alternation | Conditional):
        return any(map(can_be_empty, get_children(tree)))
    return can_be_empty(tree.body) if isinstance(tree, Group | Atomic) else True


ANY_TEXT = Repetition(CharClass(".", "s"), 0, None)


class UndecidedError(Exception):
    """A language that cannot be translated exactly, or costs too much.

    The text says which, as a clause.
    """
