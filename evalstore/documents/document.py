"""A parsed file: its plain value, the position of each part, and how bytes become its text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, NamedTuple

from evalstore.documents.file_signs import name_binary_file
from evalstore.errors import LimitError, LoadError, Place

Pointer = tuple[str | int, ...]

DEPTH_LIMIT = 64
NODE_LIMIT = 200_000
LEGACY_NODE_LIMIT = 2_000_000  # a suite of 100,000 cases; each value costs its position, too
DIGIT_LIMIT = 400
TEXT_LIMIT = 1 << 20  # bytes, or characters of a decoded text
_BOM = "\ufeff"
# Control characters, line endings that not every reader knows, surrogates and non-characters.
_FORBIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]"
)


class Span(NamedTuple):
    """Where a node is: line and column from 1, and its characters `[start, end)` in the text."""

    line: int
    column: int
    start: int
    end: int


class DoubledKey(NamedTuple):
    """A key that one mapping has twice, the last of which counts: its pointer and both lines."""

    pointer: Pointer
    first: int
    last: int


@dataclass(slots=True, eq=False)
class LazySpans(Mapping[Pointer, Span]):
    """Positions by pointer, found when the first is requested.

    Most files are right, and nobody asks.
    """

    find: Callable[[], Mapping[Pointer, Span]]
    _found: Mapping[Pointer, Span] | None = None

    def __getitem__(self, pointer: Pointer) -> Span:
        return self._load()[pointer]

    def __iter__(self) -> Iterator[Pointer]:
        return iter(self._load())

    def __len__(self) -> int:
        return len(self._load())

    def _load(self) -> Mapping[Pointer, Span]:
        if self._found is None:
            self._found = self.find()
        return self._found


@dataclass(frozen=True, slots=True)
class Document:
    """One file as data: dicts, lists, str, int, `Decimal`, bool and None, free of aliases.

    The positions of values and of keys are kept by pointer; `bom` says whether the file began with
    a byte order mark. `doubled` are the duplicate keys of which the reader takes the last; `opaque`
    are the places of values that no artifact can hold.
    """

    file: str
    text: str
    value: Any
    spans: Mapping[Pointer, Span] = field(repr=False)
    key_spans: Mapping[Pointer, Span] = field(repr=False)
    bom: bool = False
    doubled: tuple[DoubledKey, ...] = ()
    opaque: tuple[Pointer, ...] = ()

    def rename(self, file: str) -> Document:
        """Return the same document as if it had been read from another file."""
        return replace(self, file=file)

    def locate(self, pointer: Pointer = (), *, of_key: bool = False) -> Place:
        """Return the place of the value at `pointer`, of its key, or of its nearest ancestor."""
        span = self.find_span(pointer, of_key=of_key)
        return Place(self.file, span.line, span.column) if span else Place(self.file, 1, 1)

    def find_span(self, pointer: Pointer = (), *, of_key: bool = False) -> Span | None:
        """Return the position of the value at `pointer`, of its key, or of its nearest ancestor."""
        if of_key and pointer in self.key_spans:
            return self.key_spans[pointer]
        # What is missing in the text is reported at its nearest existing ancestor.
        while pointer and pointer not in self.spans:
            pointer = pointer[:-1]
        return self.spans.get(pointer)


def encode_document(document: Document) -> bytes:
    """Return the bytes of a document's file, with its byte order mark if it had one."""
    return (("\ufeff" if document.bom else "") + document.text).encode("utf-8")


def format_json_pointer(pointer: Pointer) -> str:
    """Write a pointer as in RFC 6901."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in pointer)


def follow_pointer(value: Any, pointer: Pointer) -> tuple[Pointer, Any]:
    """Return the part of a pointer that exists in a value, and what is there."""
    for length, step in enumerate(pointer):
        inside = (
            step in value
            if isinstance(value, dict)
            else isinstance(value, list) and step in range(len(value))
        )
        if not inside:
            return pointer[:length], value
        value = value[step]
    return pointer, value


def parse_number(lexeme: str, place: Place | None = None) -> int | Decimal:
    """Read a decimal literal exactly; raises `LimitError` if it is too large to calculate with."""
    if len(lexeme) > DIGIT_LIMIT:
        raise LimitError(f"a number has more than {DIGIT_LIMIT} digits", place=place)
    if lexeme.lstrip("+-").isdigit():
        return int(lexeme)
    value = Decimal(lexeme)
    if value and abs(value.adjusted()) > DIGIT_LIMIT:
        raise LimitError(
            f"the number {lexeme} is out of range",
            place=place,
            hint=f"1e±{DIGIT_LIMIT} is the limit",
        )
    # `1.` and `1e0` are decimals that would be written as `1`, which is another number.
    return value if value.as_tuple().exponent else Decimal(f"{value}.0")


def read_text(data: bytes, file: str) -> tuple[str, bool]:
    """Return the text of a file without its byte order mark, and whether it had one.

    Bytes are read as strictly as for YAML.
    """
    return check_text(data, file, TEXT_LIMIT)


def check_text(data: bytes | str, file: str, limit: int) -> tuple[str, bool]:
    """Return a text without its byte order mark, and whether it had one.

    Raises `LoadError` for a text beyond `limit`, bytes that are not UTF-8, and characters that
    readers disagree about.
    """
    if len(data) > limit:
        raise LoadError(f"larger than {limit:,} bytes, the limit for one file", place=Place(file))
    text = _decode_whole(data, file) if isinstance(data, bytes) else data
    bom = text.startswith(_BOM)
    text = text[1:] if bom else text
    if character := _FORBIDDEN.search(text):
        known = name_binary_file(data, file, is_all=True) if isinstance(data, bytes) else None
        raise known or LoadError(
            f"the character U+{ord(character[0]):04X} is not allowed in a file",
            place=locate_offset(text, character.start(), file),
            hint="write it as an escape in a double-quoted string",
        )
    return text, bom


def _decode_whole(data: bytes, file: str) -> str:
    try:
        return decode_utf8(data, file)
    except LoadError as error:
        raise name_binary_file(data, file, is_all=True) or error from None


def decode_utf8(data: bytes, file: str, line: int = 1) -> str:
    """Decode UTF-8; an error names the line and column of the first invalid byte.

    Packed data is reported as such.
    """
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        if line == 1 and (known := name_binary_file(data, file, is_all=False)):
            raise known from None
        before = data[: error.start].decode("utf-8", "replace")
        place = locate_offset(before, len(before), file)
        place = Place(file, (place.line or 1) + line - 1, place.column)
        raise LoadError("not UTF-8", place=place, hint="save the file as UTF-8") from None


def locate_offset(text: str, offset: int, file: str) -> Place:
    """Return the place (line and column) of a character offset."""
    return Place(file, text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset))
