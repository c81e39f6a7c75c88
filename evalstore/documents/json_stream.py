"""Reads a JSON document piece by piece: strict in the parts that are taken, tolerant of NaN in those that are skipped.

No more of the text is held than its largest single part; a container is skipped part by part.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Collection, Iterator
from typing import Any, NoReturn, Protocol

from evalstore.documents.json_reader import LIMIT, check_row, row_decoder
from evalstore.documents.tree import DEPTH_LIMIT
from evalstore.errors import LimitError, LoadError, Place

_CHUNK = 256 << 10
# A text that is cut off is found out within the longest word of JSON from its end.
_MARGIN = 32
_SPACE = re.compile(r"[ \t\n\r]*+")
# `len` stands in for every number, because `int` refuses long ones and `float` makes an infinity of some.
_SKIPPED = json.JSONDecoder(parse_int=len, parse_float=len, parse_constant=len)


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
        self._at = self._counted = 0
        self._lines = 1
        self._begun = self._ended = self._not_text = False

    def here(self) -> Place:
        """Return where the next part begins: the file and the line."""
        self.peek()
        return self._place()

    def peek(self) -> str:
        """Return the character that the next part begins with; empty at the end of the text."""
        while True:
            match = _SPACE.match(self._text, self._at)
            self._at = match.end() if match else self._at
            if self._at < len(self._text) or not self._fill():
                return self._text[self._at : self._at + 1]

    def value(self) -> Any:
        """Take the value that stands next as plain data, with numbers exact; `LoadError` where it is not sound JSON."""
        place = self.here()
        value, start = self._decoded(row_decoder(place))
        check_row(value, self._text[start : self._at], place)
        return value

    def skip(self) -> None:
        """Pass over the value that stands next, whatever numbers it holds."""
        steps: Iterator[object] = iter([None])
        if (opened := self.peek()) in {"[", "{"}:
            steps = self.items() if opened == "[" else self.members()
        for _ in steps:
            self._decoded(_SKIPPED)

    def members(self) -> Iterator[str]:
        """Go into the object that stands next and yield its keys; take or skip each value before the next key."""
        self._take("{", "an object")
        if self.peek() == "}":
            self._at += 1
            return
        while True:
            if self.peek() != '"':
                self._refuse("expected a key")
            key, _ = self._decoded(_SKIPPED)
            self._take(":", "a colon")
            yield key
            if self._take(",}", "a comma or }") == "}":
                return

    def items(self) -> Iterator[int]:
        """Go into the array that stands next and yield a number for each item; take or skip each before the next."""
        self._take("[", "an array")
        if self.peek() == "]":
            self._at += 1
            return
        number = 0
        while True:
            yield number
            number += 1
            if self._take(",]", "a comma or ]") == "]":
                return

    def fields(self, wanted: Collection[str]) -> dict[str, Any]:
        """Take the object that stands next, but only the members that are wanted, each at most once."""
        found: dict[str, Any] = {}
        for key in self.members():
            if key not in wanted:
                self.skip()
                continue
            if key in found:
                raise LoadError(f"the key {key!r} stands twice in one object", place=self._place())
            found[key] = self.value()
        return found

    def end(self) -> None:
        """Refuse whatever stands after the value."""
        if self.peek():
            self._refuse("something stands after the value")

    def _place(self) -> Place:
        self._lines += self._text.count("\n", self._counted, self._at)
        self._counted = self._at
        return Place(self.name, self._lines)

    def _take(self, characters: str, expected: str) -> str:
        found = self.peek()
        if not found or found not in characters:
            self._refuse(f"expected {expected}")
        self._at += 1
        return found

    def _decoded(self, decoder: json.JSONDecoder) -> tuple[Any, int]:
        """Return the value that stands next and where in the text held it begins."""
        self.peek()
        while True:
            try:
                value, end = decoder.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                if not (self._cut_off(error) and self._fill()):
                    self._broken(error)
            except RecursionError:
                raise LimitError(f"nested deeper than {DEPTH_LIMIT} levels", place=self._place()) from None
            else:
                # `12` at the end of what was read may be the beginning of `123`, and `12e+` that of `12e+3`.
                if end < len(self._text) - 2 or not self._fill():
                    start, self._at = self._at, end
                    return value, start

    def _cut_off(self, error: json.JSONDecodeError) -> bool:
        return error.pos >= len(self._text) - _MARGIN or error.msg.startswith("Unterminated string")

    def _broken(self, error: json.JSONDecodeError) -> NoReturn:
        if error.msg.startswith("Unterminated string") or not self._text[error.pos :].strip():
            self._at = len(self._text)
            self._refuse("it ends in the middle of a value")
        self._at = error.pos
        self._refuse(error.msg[0].lower() + error.msg[1:])

    def _refuse(self, message: str) -> NoReturn:
        at_end = self._at >= len(self._text)
        reason = f"{message}, and the text ends" if at_end and message.startswith("expected") else message
        raise LoadError(f"not JSON: {reason}", place=self._place())

    def _fill(self) -> bool:
        """Read on, twice as far each time that one part needs it, and let go of what was taken; False at the end."""
        held = len(self._text) - self._at
        if held > LIMIT:
            raise LimitError(f"one value is larger than {LIMIT:,} bytes", place=self._place())
        data = b"" if self._ended else self._file.read(max(_CHUNK, held))
        self._ended = not data
        more = self._decode(data)
        if not data:
            return False
        self._place()
        self._text = self._text[self._at :] + more
        self._at = self._counted = 0
        return True

    def _decode(self, data: bytes) -> str:
        """Decode what was read; bytes that are no text are refused when all the text before them has been looked at."""
        if self._not_text:
            self._at = len(self._text)
            raise LoadError("not UTF-8", place=self._place(), hint="save the file as UTF-8")
        try:
            more = self._decoder.decode(data, final=not data)
        except UnicodeDecodeError as error:
            more, self._not_text = error.object[: error.start].decode("utf-8"), True
            if not data:
                return self._decode(data)
        if more and not self._begun:
            self._begun, more = True, more.removeprefix("\ufeff")
        return more
