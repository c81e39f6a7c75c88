"""Bytes into text: UTF-8 only, within a limit, without what different readers read differently."""

from __future__ import annotations

import re

from evalstore.errors import LoadError, Place

_ODD = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")
_BOM = "\ufeff"
TEXT_LIMIT = 1 << 20


def read_text(data: bytes, file: str) -> tuple[str, bool]:
    """Return a text file's text without its byte order mark, and whether it had one; as strict as for YAML."""
    return check_text(data, file, TEXT_LIMIT)


def check_text(data: bytes | str, file: str, limit: int) -> tuple[str, bool]:
    """Return the text without its byte order mark, and whether it had one."""
    if len(data) > limit:
        raise LoadError(f"larger than {limit:,} bytes, the limit for one file", place=Place(file))
    text = decode(data, file) if isinstance(data, bytes) else data
    bom = text.startswith(_BOM)
    text = text[1:] if bom else text
    if odd := _ODD.search(text):
        raise LoadError(
            f"the character U+{ord(odd[0]):04X} cannot stand in a file",
            place=place_of(text, odd.start(), file),
            hint="write it as an escape in a double-quoted string",
        )
    return text, bom


def decode(data: bytes, file: str, line: int = 1) -> str:
    """Decode UTF-8, naming the line and column of the first byte that is not."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8", "replace")
        place = place_of(before, len(before), file)
        place = Place(file, (place.line or 1) + line - 1, place.column)
        raise LoadError("not UTF-8", place=place, hint="save the file as UTF-8") from None


def place_of(text: str, offset: int, file: str) -> Place:
    """Return line and column of a character offset."""
    return Place(file, text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset))
