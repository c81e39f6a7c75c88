"""Reads a JSON document piece by piece: strict in the parts that are taken; of those passed over, only their extent.

What is passed over is told by its brackets and strings alone, so NaN in it does not matter, and no more of it is held
than its longest string.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Collection, Iterator
from typing import Any, NoReturn, Protocol

from evalstore.documents.document import DEPTH_LIMIT
from evalstore.documents.json_reader import LIMIT, check_row, decode_row, words_of
from evalstore.errors import LimitError, LoadError, Place

_CHUNK = 256 << 10
_PART_LIMIT = 1_000_000
_SPACE = re.compile(r"[ \t\n\r]*+")
_STRING = r'"(?:[^"\\]++|\\.)*+"'
_TEXT = re.compile(_STRING, re.DOTALL)
_SCALAR = re.compile(r"[^\s,:\"\[\]{}]++")
_PARTS = re.compile(rf"{_STRING}|[\[{{,]", re.DOTALL)


def _build_balanced_pattern(levels: int) -> str:
    """Return a pattern for text in which every string is whole and every bracket closed, nested so far."""
    flat = rf'[^"\[\]{{}}]++|{_STRING}'
    within = rf"|[\[{{]{_build_balanced_pattern(levels - 1)}[\]}}]" if levels else ""
    return rf"(?:{flat}{within})*+"


_BALANCED = re.compile(_build_balanced_pattern(3), re.DOTALL)


class Readable(Protocol):
    """What gives bytes: as many as asked for or fewer, and none at its end."""

    def read(self, size: int, /) -> bytes:
        """Return the next bytes."""


class JsonStream:
    """A JSON text that is read once, forwards: look at what stands next, then take it, skip it, or go into it."""

    def __init__(self, file: Readable, name: str) -> None:
        self.name = name
        self._file = file
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._text = ""
        self._offset = self._counted_to = 0
        self._keep_from: int | None = None
        self._lines = 1
        self._has_text = self._at_end = self._not_text = False

    def here(self) -> Place:
        """Return where the next part begins: the file and the line."""
        self.peek()
        return self._locate_position()

    def peek(self) -> str:
        """Return the character that the next part begins with; empty at the end of the text."""
        while True:
            match = _SPACE.match(self._text, self._offset)
            self._offset = match.end() if match else self._offset
            if self._offset < len(self._text) or not self._fill_buffer():
                return self._text[self._offset : self._offset + 1]

    def value(self) -> Any:
        """Take the value that stands next as plain data, with numbers exact; `LoadError` where it is not sound JSON."""
        place = self.here()
        text = self._take_text()
        if text.count(",") + text.count("[") + text.count("{") > _PART_LIMIT:
            _check_parts(text, place)
        try:
            value = decode_row(text, place)
        except json.JSONDecodeError as error:
            line = (place.line or 1) + text.count("\n", 0, error.pos)
            raise LoadError(f"not JSON: {words_of(error)}", place=Place(self.name, line)) from None
        except RecursionError:
            raise LimitError(f"nested deeper than {DEPTH_LIMIT} levels", place=place) from None
        check_row(value, text, place)
        return value

    def skip(self) -> None:
        """Pass over the value that stands next."""
        opened = self.peek()
        if opened == '"':
            self._skip_string()
        elif opened in {"[", "{"}:
            self._skip_container()
        else:
            self._skip_scalar()

    def members(self) -> Iterator[str]:
        """Go into the object that stands next and yield its keys; take or skip each value before the next key."""
        self._take_character("{", "an object")
        if self.peek() == "}":
            self._offset += 1
            return
        while True:
            key = self._take_key()
            self._take_character(":", "a colon")
            yield key
            if self._take_character(",}", "a comma or }") == "}":
                return

    def items(self) -> Iterator[int]:
        """Go into the array that stands next and yield a number for each item; take or skip each before the next."""
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

    def fields(self, wanted: Collection[str]) -> dict[str, Any]:
        """Take the object that stands next, but only the members that are wanted, each at most once."""
        found: dict[str, Any] = {}
        for key in self.members():
            if key not in wanted:
                self.skip()
                continue
            if key in found:
                raise LoadError(f"the key {key!r} stands twice in one object", place=self._locate_position())
            found[key] = self.value()
        return found

    def end(self) -> None:
        """Refuse whatever stands after the value."""
        if self.peek():
            self._refuse_here("something stands after the value")

    def _take_text(self) -> str:
        """Pass over the value that stands next and return it as it is written."""
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
            self._refuse_here(words_of(error))
        return key

    def _skip_string(self) -> None:
        while not (match := _TEXT.match(self._text, self._offset)):
            if not self._fill_buffer():
                self._offset = len(self._text)
                self._refuse_here("it ends in the middle of a text")
        self._offset = match.end()

    def _skip_scalar(self) -> None:
        while not (match := _SCALAR.match(self._text, self._offset)) or match.end() == len(self._text):
            if not self._fill_buffer():
                break
        if not match:
            self._refuse_here("expected a value")
        self._offset = match.end()

    def _skip_container(self) -> None:
        """Pass over a container, from one bracket that is not closed at once to the next."""
        depth = 0
        while opened := self.peek():
            if opened == '"':
                self._skip_string()
            elif opened in "[{]}":
                self._offset += 1
                depth += 1 if opened in "[{" else -1
            if not depth:
                return
            match = _BALANCED.match(self._text, self._offset)
            self._offset = match.end() if match else self._offset
        self._refuse_here("it ends in the middle of a value")

    def _take_character(self, characters: str, expected: str) -> str:
        found = self.peek()
        if not found or found not in characters:
            self._refuse_here(f"expected {expected}")
        self._offset += 1
        return found

    def _locate_position(self) -> Place:
        self._lines += self._text.count("\n", self._counted_to, self._offset)
        self._counted_to = self._offset
        return Place(self.name, self._lines)

    def _refuse_here(self, message: str) -> NoReturn:
        at_end = self._offset >= len(self._text) and message.startswith("expected")
        raise LoadError(f"not JSON: {message}{', and the text ends' if at_end else ''}", place=self._locate_position())

    def _fill_buffer(self) -> bool:
        """Read on, twice as far each time that one part needs it, and let go of what was taken; False at the end."""
        first = self._offset if self._keep_from is None else self._keep_from
        held = len(self._text) - first
        if held > LIMIT:
            raise LimitError(f"one value is larger than {LIMIT:,} bytes", place=self._locate_position())
        data = b"" if self._at_end else self._file.read(max(_CHUNK, held))
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
        """Decode what was read; bytes that are no text are refused when all the text before them has been looked at."""
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
    """Refuse a value whose parts would fill memory; commas and brackets within its strings are none."""
    parts = sum(1 for match in _PARTS.finditer(text) if not match[0].startswith('"'))
    if parts > _PART_LIMIT:
        raise LimitError(f"one value has more than {_PART_LIMIT:,} parts", place=place)
