"""Reads a JSON document of any size forwards: strict in what it reads, blind to what it skips.

A skipped part is delimited by its brackets and strings alone, so NaN in it does not matter, and no
more of it is kept in memory than its longest string.
"""

from __future__ import annotations

import codecs
import json
import re
import sys
from collections.abc import Callable, Collection, Iterator
from itertools import accumulate, count
from typing import Any, NoReturn, Protocol

from evalstore.documents.document import DEPTH_LIMIT
from evalstore.documents.json_reader import (
    LIMIT,
    check_row,
    decode_row,
    describe_decode_error,
    replace_constants,
)
from evalstore.errors import LimitError, LoadError, Place

_CHUNK = 256 << 10
_PART_LIMIT = 1_000_000
_PART_COST, _MEMBER_COST = 8, 100  # steps to read a comma or bracket, and to find a key or an item
_MEMBER_LIMIT = 100_000  # keys of an object that is read one by one: formats know some dozens
_SPACE = re.compile(r"[ \t\n\r]*+")
_STRING = r'"(?:[^"\\]++|\\.)*+"'
_TEXT = re.compile(_STRING, re.DOTALL)
_TEXT_REST = re.compile(r'(?:[^"\\]++|\\.)*+', re.DOTALL)
_SCALAR = re.compile(r"[^\s,:\"\[\]{}]++")
_BRACKET = re.compile(rf"{_STRING}|([\[\]{{}}])", re.DOTALL)
_FLAT = re.compile(rf'[\[{{](?:[^"\[\]{{}}]++|{_STRING})*+[\]}}]', re.DOTALL)
_CLOSED = (b"[]", b"{}") * 4
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_DEPTH_CHANGES = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_SKIP_DEPTH = 1000  # levels of a skipped part; no JSON reader in Python goes deeper
_WINDOW = 256  # characters of a container to search first; twice as many each further time


class Readable(Protocol):
    """A source of bytes: `read` returns at most `size` of them, and none at the end."""

    def read(self, size: int, /) -> bytes:
        """Return the next bytes."""


class JsonStream:
    """A JSON text, read once and forwards: peek at the next part, then read, skip or iterate it.

    `spend` is called with the steps taken, of about 0.1 µs each, and may raise; `limit` is how many
    bytes of memory the text of one value may take when it is read.
    """

    def __init__(
        self, file: Readable, name: str, *, spend: Callable[[int], object] = int, limit: int = LIMIT
    ) -> None:
        self.name = name
        self._spend, self._limit = spend, limit
        self._file = file
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._text = ""
        self._offset = self._counted_to = 0
        self._keep_from: int | None = None
        self._lines = 1
        self._has_text = self._at_end = self._not_text = False

    def locate(self) -> Place:
        """Return the place (file and line) of the next part."""
        self.peek()
        return self._locate_position()

    def peek(self) -> str:
        """Return the first character of the next part; empty at the end of the text."""
        while True:
            match = _SPACE.match(self._text, self._offset)
            self._offset = match.end() if match else self._offset
            if self._offset < len(self._text) or not self._fill_buffer():
                return self._text[self._offset : self._offset + 1]

    def read(self) -> Any:
        """Return the next value as plain data with exact numbers; `LoadError` for bad JSON."""
        place = self.locate()
        return self._decode(self._take_text(), place)

    def read_lenient(self) -> Any:
        """Return the next value like `read`, but with null for NaN and the infinities."""
        place = self.locate()
        return self._decode(replace_constants(self._take_text()), place)

    def _decode(self, text: str, place: Place) -> Any:
        parts = count_parts(text)
        self._spend(_PART_COST * parts)
        if parts > _PART_LIMIT:
            raise LimitError(f"one value has more than {_PART_LIMIT:,} parts", place=place)
        try:
            value = decode_row(text, place)
        except json.JSONDecodeError as error:
            line = (place.line or 1) + text.count("\n", 0, error.pos)
            raise LoadError(
                f"not JSON: {describe_decode_error(error)}", place=Place(self.name, line)
            ) from None
        except RecursionError:
            raise LimitError(f"nested deeper than {DEPTH_LIMIT} levels", place=place) from None
        check_row(value, text, place)
        return value

    def skip(self) -> None:
        """Skip the next value."""
        opened = self.peek()
        if opened == '"':
            self._skip_string()
        elif opened in {"[", "{"}:
            self._skip_container()
        else:
            self._skip_scalar()

    def iterate_members(self) -> Iterator[str]:
        """Yield the keys of the next object.

        The caller reads or skips each value before taking the next key.
        """
        self._take_character("{", "an object")
        if self.peek() == "}":
            self._offset += 1
            return
        for number in count(1):
            self._spend(_MEMBER_COST)
            if number > _MEMBER_LIMIT:
                raise LimitError(
                    f"one object has more than {_MEMBER_LIMIT:,} keys",
                    place=self._locate_position(),
                )
            key = self._take_key()
            self._take_character(":", "a colon")
            yield key
            if self._take_character(",}", "a comma or }") == "}":
                return

    def iterate_items(self) -> Iterator[int]:
        """Yield the index of each item of the next array.

        The caller reads or skips each item before taking the next.
        """
        self._take_character("[", "an array")
        if self.peek() == "]":
            self._offset += 1
            return
        number = 0
        while True:
            self._spend(_MEMBER_COST)
            yield number
            number += 1
            if self._take_character(",]", "a comma or ]") == "]":
                return

    def read_fields(self, wanted: Collection[str]) -> dict[str, Any]:
        """Return the `wanted` members of the next object, skipping the others.

        A duplicate is a `LoadError`.
        """
        fields: dict[str, Any] = {}
        for key in self.iterate_members():
            if key not in wanted:
                self.skip()
                continue
            if key in fields:
                raise LoadError(f"duplicate key {key!r}", place=self._locate_position())
            fields[key] = self.read()
        return fields

    def expect_end(self) -> None:
        """Raise `LoadError` for anything after the value."""
        if self.peek():
            self._refuse_here("unexpected text after the value")

    def _take_text(self) -> str:
        """Skip the next value and return its text."""
        self._keep_from = self._offset
        self.skip()
        text, self._keep_from = self._text[self._keep_from : self._offset], None
        return text

    def _take_key(self) -> str:
        if self.peek() != '"':
            self._refuse_here("expected a key")
        try:
            key: str = json.loads(self._take_text())
        except json.JSONDecodeError as error:
            self._refuse_here(describe_decode_error(error))
        return key

    def _skip_string(self) -> None:
        self._offset += 1
        while True:
            match = _TEXT_REST.match(self._text, self._offset)
            self._offset = match.end() if match else self._offset
            if self._text.startswith('"', self._offset):
                self._offset += 1
                return
            if not self._fill_buffer():
                self._offset = len(self._text)
                self._refuse_here("it ends in the middle of a string")

    def _skip_scalar(self) -> None:
        while not (match := _SCALAR.match(self._text, self._offset)) or match.end() == len(
            self._text
        ):
            if not self._fill_buffer():
                break
        if not match:
            self._refuse_here("expected a value")
        self._offset = match.end()

    def _skip_container(self) -> None:
        if match := _FLAT.match(self._text, self._offset, self._offset + _WINDOW):
            self._offset = match.end()
            return
        # Windows of text are reduced to their brackets at C speed: a loop over them, or a pattern,
        # would take minutes for what compresses to nothing. Only the window in which the container
        # ends is examined bracket by bracket.
        self._offset += 1
        depth, in_string, window, is_last = 1, False, _WINDOW, False
        while part := self._peek_part(window):
            bare, ends_in_string = _remove_strings(part, in_string=in_string)
            depths = _list_depths(bare, depth)
            self._spend(sum(map(bare.count, '"[]{}')) + 2 * len(depths))
            if all(depths):
                if max(depths) > _SKIP_DEPTH:
                    raise LimitError(
                        f"nested deeper than {_SKIP_DEPTH:,} levels", place=self._locate_position()
                    )
                self._offset += len(part)
                depth, in_string = depths[-1], ends_in_string
                window = window if is_last else min(2 * window, _CHUNK)
            elif len(part) > _WINDOW:
                window, is_last = len(part) // 2, True
            else:
                self._offset += _find_end(part, depth, in_string=in_string)
                return
        self._refuse_here("it ends in the middle of a value")

    def _peek_part(self, size: int) -> str:
        """Return at most `size` characters from here, without half of an escape.

        It is empty at the end of the text.
        """
        while not (part := _cut_part(self._text, self._offset, size)) and self._fill_buffer():
            pass
        return part

    def _take_character(self, characters: str, expected: str) -> str:
        character = self.peek()
        if not character or character not in characters:
            self._refuse_here(f"expected {expected}")
        self._offset += 1
        return character

    def _locate_position(self) -> Place:
        self._lines += self._text.count("\n", self._counted_to, self._offset)
        self._counted_to = self._offset
        return Place(self.name, self._lines)

    def _refuse_here(self, message: str) -> NoReturn:
        at_end = self._offset >= len(self._text) and message.startswith("expected")
        raise LoadError(
            f"not JSON: {message}{', and the text ends' if at_end else ''}",
            place=self._locate_position(),
        )

    def _fill_buffer(self) -> bool:
        """Read more text and drop what has been read; False at the end.

        The buffer grows by a quarter while one value needs it, so that copying a long one stays
        linear.
        """
        first = self._offset if self._keep_from is None else self._keep_from
        size = len(self._text) - first
        self._check_size(size, self._limit)
        data = b"" if self._at_end else self._file.read(max(_CHUNK, size // 4))
        self._at_end = not data
        more = self._decode_chunk(data)
        if not data:
            return False
        self._locate_position()
        self._text = self._text[first:] + more
        self._offset = self._counted_to = self._offset - first
        self._keep_from = None if self._keep_from is None else 0
        # One character may have made all others four times as wide.
        self._check_size(size, 2 * self._limit)
        return True

    def _check_size(self, size: int, limit: int) -> None:
        if size * sys.getsizeof(self._text) > limit * len(self._text):
            raise LimitError(
                f"one value is larger than {self._limit:,} bytes", place=self._locate_position()
            )

    def _decode_chunk(self, data: bytes) -> str:
        """Decode bytes; invalid UTF-8 is refused after all the text before it has been read."""
        if self._not_text:
            self._offset = len(self._text)
            raise LoadError(
                "not UTF-8", place=self._locate_position(), hint="save the file as UTF-8"
            )
        try:
            more = self._decoder.decode(data, final=not data)
        except UnicodeDecodeError as error:
            more, self._not_text = error.object[: error.start].decode("utf-8"), True
            if not data:
                return self._decode_chunk(data)
        if more and not self._has_text:
            self._has_text, more = True, more.removeprefix("\ufeff")
        return more


def _cut_part(text: str, start: int, size: int) -> str:
    """Return at most `size` characters from `start`, without half of an escape."""
    part = text[start : start + size]
    return part[:-1] if (len(part) - len(part.rstrip("\\"))) % 2 else part


def _remove_strings(part: str, *, in_string: bool) -> tuple[str, bool]:
    """Return a part with one mark per string, and whether it ends in a string.

    It may begin in one.
    """
    if "\\" in part:
        part = part.replace("\\\\", "").replace('\\"', "")
    pieces = part.split('"')
    return '"'.join(pieces[in_string::2]), in_string ^ (len(pieces) % 2 == 0)


def count_parts(text: str) -> int:
    """Return how many commas and opening brackets a text has outside strings."""
    offset, in_string, parts = 0, False, 0
    while part := _cut_part(text, offset, _CHUNK):
        bare, in_string = _remove_strings(part, in_string=in_string)
        parts += sum(map(bare.count, ",[{"))
        offset += len(part)
    return parts


def _list_depths(bare: str, depth: int) -> list[int]:
    """Return the depths of a text without strings, starting from a depth, bracket by bracket."""
    brackets = bare.encode("utf-8", "replace").translate(None, _NO_BRACKETS)
    for closed in _CLOSED:
        brackets = brackets.replace(closed, b"")
    return list(accumulate(map(_DEPTH_CHANGES.__getitem__, brackets), initial=depth))


def _find_end(part: str, depth: int, *, in_string: bool) -> int:
    """Return where in a part the container ends that is open at this depth.

    The part may begin in a string.
    """
    for match in _BRACKET.finditer('"' * in_string + part):
        depth += _DEPTH_CHANGES[ord(match[1])] if match[1] else 0
        if match[1] and not depth:
            return match.end() - in_string
    return len(part)
