"""JSONL as objects, one line at a time: split at line feeds only, and never held whole."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evalstore.documents import LINE_LIMIT, read_row
from evalstore.errors import LoadError, Place
from evalstore.files import open_user_file


def read_objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line number, object) for every line that is not blank; anything else is a `LoadError` at file:line."""
    with open_user_file(path) as file:
        number = 0
        # A limit, because the whole of a file without line breaks would be one line.
        while line := file.readline(LINE_LIMIT + 2):
            number += 1
            if line.isspace():
                continue
            value = read_row(line.removesuffix(b"\n"), str(path), number)
            if not isinstance(value, dict):
                raise LoadError("a line is one JSON object", place=Place(str(path), number))
            yield number, value


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, in hex."""
    found = hashlib.sha256()
    with open_user_file(path) as file:
        while block := file.read(1 << 20):
            found.update(block)
    return found.hexdigest()
