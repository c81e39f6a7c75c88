"""Keeps the values of parsed YAML between runs, in one file of the git directory that can be deleted at any time.

The key of a value is the SHA-256 of the bytes that it was parsed from, so that it is right for ever; the file is read
only by the code that wrote it. A line that is damaged is as good as none.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from evalstore.documents import write_row
from evalstore.errors import EvalstoreError
from evalstore.files import place_below, read_below, sweep_below, write_aside_below
from evalstore.kept_answers import Facts, add_code

FILE = "evalstore/parsed-values"  # below the git directory
LIMIT = 32 << 20  # bytes of the file; of more the values that this run has not asked for are dropped
ABSENT: Any = object()  # what is found where nothing is kept
_KEY, _SUM = 64, 8  # hex digits: of a key, and of the checksum of a line
_encode = json.JSONEncoder(separators=(",", ":")).encode
_decode = json.JSONDecoder(parse_float=Decimal).decode


@dataclass(slots=True)
class KeptValues:
    """The values that earlier runs kept, and what this one adds; nothing is written before `save`."""

    directory: Path
    _kept: dict[bytes, bytes]
    _used: dict[bytes, bytes] = field(default_factory=dict)
    _has_new: bool = False

    @classmethod
    def open(cls, directory: Path) -> KeptValues:
        """Read the file below a git directory; one that is missing, damaged or of another version holds nothing."""
        data = b""
        with suppress(EvalstoreError):
            data = read_below(directory, FILE, LIMIT)
        head, *lines = data.split(b"\n")
        return cls(directory, {line[:_KEY]: line for line in lines} if head == _describe_reader() else {})

    def find(self, data: bytes) -> Any:
        """Return the value of a YAML file's bytes; `ABSENT` when it is not kept."""
        key = hashlib.sha256(data).hexdigest().encode("ascii")
        line = self._kept.get(key)
        if line is None or line != _format_line(key, payload := line[_KEY + _SUM :]):
            return ABSENT
        self._used[key] = line
        return _decode(payload.decode())

    def add(self, data: bytes, value: Any) -> None:
        """Keep the value of a file's bytes."""
        key = hashlib.sha256(data).hexdigest().encode("ascii")
        self._used[key] = _format_line(key, _write_value(value).encode())
        self._has_new = True

    def save(self) -> None:
        """Write what is new; where the git directory cannot be written, nothing is kept."""
        if not self._has_new:
            return
        with suppress(EvalstoreError):
            sweep_below(self.directory, FILE)
            # Not synced: after a crash damaged lines are found by their checksums.
            write_aside_below(self.directory, FILE, self._list_lines())
            place_below(self.directory, FILE)
        self._has_new = False

    def _list_lines(self) -> Iterator[bytes]:
        room = LIMIT - len(head := _describe_reader())
        yield head
        unused = (line for key, line in self._kept.items() if key not in self._used)
        for line in chain(self._used.values(), unused):
            room -= len(line) + 1
            if room >= 0:
                yield b"\n" + line


def _write_value(value: Any) -> str:
    try:
        return _encode(value)
    except TypeError:  # a decimal, which is written as exactly as it was read
        return write_row(value).rstrip("\n")


def _format_line(key: bytes, payload: bytes) -> bytes:
    return b"%b%08x%b" % (key, zlib.crc32(key + payload), payload)


@cache
def _describe_reader() -> bytes:
    """Return what the value of a YAML text depends on but the text: the code that reads it."""
    facts = Facts()
    add_code(facts)
    return facts.digest.encode("ascii")
