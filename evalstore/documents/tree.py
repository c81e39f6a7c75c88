"""A parsed file: its plain value, and where in the text each part of it stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, NamedTuple

from evalstore.errors import LimitError, Place

Pointer = tuple[str | int, ...]

DEPTH_LIMIT = 64
NODE_LIMIT = 200_000
DIGIT_LIMIT = 400


class Mark(NamedTuple):
    """Where a node stands: line and column from 1, and its characters `[start, end)` of the text."""

    line: int
    column: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Document:
    """One file as data: dicts, lists, str, int, `Decimal`, bool and None, free of aliases."""

    file: str
    text: str
    value: Any
    marks: Mapping[Pointer, Mark] = field(repr=False)
    keys: Mapping[Pointer, Mark] = field(repr=False)
    bom: bool = False

    def place(self, pointer: Pointer = (), *, of_key: bool = False) -> Place:
        """Return where `pointer` stands, or its nearest ancestor that is in the text."""
        if of_key and pointer in self.keys:
            return Place(self.file, self.keys[pointer].line, self.keys[pointer].column)
        while pointer and pointer not in self.marks:
            pointer = pointer[:-1]
        mark = self.marks.get(pointer)
        return Place(self.file, mark.line, mark.column) if mark else Place(self.file, 1, 1)


def json_pointer(pointer: Pointer) -> str:
    """Write a pointer as RFC 6901 does."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in pointer)


def number(lexeme: str, place: Place | None = None) -> int | Decimal:
    """Read a decimal literal exactly, or refuse one too large to calculate with."""
    if len(lexeme) > DIGIT_LIMIT:
        raise LimitError(f"a number has more than {DIGIT_LIMIT} digits", place=place)
    if lexeme.lstrip("+-").isdigit():
        return int(lexeme)
    value = Decimal(lexeme)
    if value and abs(value.adjusted()) > DIGIT_LIMIT:
        raise LimitError(f"the number {lexeme} is out of range", place=place, hint=f"1e±{DIGIT_LIMIT} is the limit")
    # `1.` and `1e0` are decimals that would be written as `1`, and that is another number.
    return value if value.as_tuple().exponent else Decimal(f"{value}.0")
