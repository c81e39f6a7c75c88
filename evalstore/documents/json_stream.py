"""Reads a JSON document of any size forwards, in parts: strict in those that are read, blind to those that are skipped.

A skipped part is delimited by its brackets and strings alone, so NaN in it does not matter, and no more of it is kept
in memory than its longest string.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Collection, Iterator
from itertools import accumulate, count, islice
from typing import Any, NoReturn, Protocol

from evalstore.documents.document import DEPTH_LIMIT
from evalstore.documents.json_reader import LIMIT, check_row, decode_row, describe_decode_error
from evalstore.errors import LimitError, LoadError, Place

_CHUNK = 256 << 10
_PART_LIMIT = 1_000_000
_MEMBER_LIMIT = 100_000  # keys of an object that is read one by one: formats know some dozens
_SPACE = re.compile(r"[ \t\n\r]*+")
_STRING = r'"(?:[^"\\]++|\\.)*+"'
_TEXT = re.compile(_STRING, re.DOTALL)
_SCALAR = re.compile(r"[^\s,:\"\[\]{}]++")
_PARTS = re.compile(rf"{_STRING}|[\[{{,]", re.DOTALL)


def _build_balanced_pattern(levels: int) -> str:
    """Return a pattern for text with whole strings and closed brackets, nested up to `levels` deep."""
    flat = rf'[^"\[\]{{}}]++|{_STRING}'
    within = rf"|[\[{{]{_build_balanced_pattern(levels - 1)}[\]}}]" if levels else ""
    return rf"(?:{flat}{within})*+"


_BALANCED = re.compile(_build_balanced_pattern(3), re.DOTALL)
_CLOSED = re.compile(rf"[\[{{]{_BALANCED.pattern}[\]}}]", re.DOTALL)  # most containers, at once
_WHOLE = re.compile(rf'(?:[^"]++|{_STRING})*+', re.DOTALL)
_NO_BRACKETS = re.compile(rf'[^"\[\]{{}}]++|{_STRING}', re.DOTALL)
_BRACKET = re.compile(rf"{_STRING}|([\[\]{{}}])", re.DOTALL)
_DEPTH_CHANGES = {"[": 1, "{": 1, "]": -1, "}": -1}
_SKIP_DEPTH = 1000  # levels of a part that is skipped; no reader of JSON in Python goes deeper
_WINDOW = 1 << 10  # characters of a deep container that are looked at first; twice as many each time


class Readable(Protocol):
    """A source of bytes: `read` returns at most `size` of them, and none at the end."""

    def read(self, size: int, /) -> bytes:
        """Return the next bytes."""


class JsonStream:
    """A JSON text that is read once, forwards: peek at the next part, then read it, skip it, or iterate over it."""

    def __init__(self, file: Readable, name: str) -> None:
        self.name = name
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
        """Return the next value as plain data with exact numbers; `LoadError` where it is not sound JSON."""
        place = self.locate()
        text = self._take_text()
        if text.count(",") + text.count("[") + text.count("{") > _PART_LIMIT:
            _check_parts(text, place)
        try:
            value = decode_row(text, place)
        except json.JSONDecodeError as error:
            line = (place.line or 1) + text.count("\n", 0, error.pos)
            raise LoadError(f"not JSON: {describe_decode_error(error)}", place=Place(self.name, line)) from None
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
        """Yield the keys of the next object; the caller reads or skips each value before it takes the next key."""
        self._take_character("{", "an object")
        if self.peek() == "}":
            self._offset += 1
            return
        for number in count(1):
            if number > _MEMBER_LIMIT:
                raise LimitError(f"one object has more than {_MEMBER_LIMIT:,} keys", place=self._locate_position())
            key = self._take_key()
            self._take_character(":", "a colon")
            yield key
            if self._take_character(",}", "a comma or }") == "}":
                return

    def iterate_items(self) -> Iterator[int]:
        """Yield the index of each item of the next array; the caller reads or skips each before the next."""
        self._take_character("[", "an array")
        if self.peek() == "]":
            self._offset += 1
            return
        number = 0
        while True:
            yield number
            number += 1
            if self._take_character(",]", "a comma or ]") == "]":
                return

    def read_fields(self, wanted: Collection[str]) -> dict[str, Any]:
        """Return the `wanted` members of the next object and skip the others; `LoadError` for one that stands twice."""
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
        """Raise `LoadError` for whatever stands after the value."""
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
        while not (match := _TEXT.match(self._text, self._offset)):
            if not self._fill_buffer():
                self._offset = len(self._text)
                self._refuse_here("it ends in the middle of a string")
        self._offset = match.end()

    def _skip_scalar(self) -> None:
        while not (match := _SCALAR.match(self._text, self._offset)) or match.end() == len(self._text):
            if not self._fill_buffer():
                break
        if not match:
            self._refuse_here("expected a value")
        self._offset = match.end()

    def _skip_container(self) -> None:
        if match := _CLOSED.match(self._text, self._offset):
            self._offset = match.end()
            return
        # Where much is nested no deeper than `_BALANCED` reads, one match skips it. Elsewhere brackets are counted
        # by the thousand: a loop over them would take a minute for what compresses to nothing.
        depth, window = 0, _WINDOW
        while self.peek():
            if depth and (match := _BALANCED.match(self._text, self._offset)):
                is_shallow = match.end() - self._offset >= _WINDOW
                self._offset = match.end()
                if is_shallow or not self.peek():
                    window = _WINDOW
                    continue
            match = _WHOLE.match(self._text, self._offset, self._offset + window)
            end = match.end() if match else self._offset
            if end == self._offset:
                self._skip_string()
                continue
            brackets = _NO_BRACKETS.sub("", self._text[self._offset : end])
            depths = list(accumulate(map(_DEPTH_CHANGES.__getitem__, brackets), initial=depth))[1:]
            if max(depths, default=0) > _SKIP_DEPTH:
                raise LimitError(f"nested deeper than {_SKIP_DEPTH:,} levels", place=self._locate_position())
            if 0 in depths:
                found = (match for match in _BRACKET.finditer(self._text, self._offset, end) if match[1])
                self._offset = next(islice(found, depths.index(0), None)).end()
                return
            depth = depths[-1] if depths else depth
            self._offset, window = end, min(2 * window, _CHUNK)
        self._refuse_here("it ends in the middle of a value")

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
        raise LoadError(f"not JSON: {message}{', and the text ends' if at_end else ''}", place=self._locate_position())

    def _fill_buffer(self) -> bool:
        """Read more text and drop what was read before; False at the end.

        The buffer doubles while one part needs it, so that matching a long string again stays linear.
        """
        first = self._offset if self._keep_from is None else self._keep_from
        size = len(self._text) - first
        if size > LIMIT:
            raise LimitError(f"one value is larger than {LIMIT:,} bytes", place=self._locate_position())
        data = b"" if self._at_end else self._file.read(max(_CHUNK, size))
        self._at_end = not data
        more = self._decode_chunk(data)
        if not data:
            return False
        self._locate_position()
        self._text = self._text[first:] + more
        self._offset = self._counted_to = self._offset - first
        self._keep_from = None if self._keep_from is None else 0
        return True

    def _decode_chunk(self, data: bytes) -> str:
        """Decode bytes; those that are not UTF-8 are refused only after all the text before them has been read."""
        if self._not_text:
            self._offset = len(self._text)
            raise LoadError("not UTF-8", place=self._locate_position(), hint="save the file as UTF-8")
        try:
            more = self._decoder.decode(data, final=not data)
        except UnicodeDecodeError as error:
            more, self._not_text = error.object[: error.start].decode("utf-8"), True
            if not data:
                return self._decode_chunk(data)
        if more and not self._has_text:
            self._has_text, more = True, more.removeprefix("\ufeff")
        return more


def _check_parts(text: str, place: Place) -> None:
    """Raise `LimitError` for a value whose parts would fill memory; commas and brackets in strings do not count."""
    parts = (match for match in _PARTS.finditer(text) if not match[0].startswith('"'))
    if next(islice(parts, _PART_LIMIT, None), None):
        raise LimitError(f"one value has more than {_PART_LIMIT:,} parts", place=place)
