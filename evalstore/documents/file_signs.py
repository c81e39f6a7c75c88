"""Names files that are no text by how they begin, and says whether one is cut off; reads none."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from evalstore.errors import LoadError, Place

ZIP, GZIP, ZSTANDARD = (b"PK\x03\x04", b"PK\x05\x06"), b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
PARQUET = b"PAR1"
_UNPACK = "unpack it first"
_JSON_LINES = "write its rows as JSON Lines"
_ZIP_END, _ZIP_TAIL = b"PK\x05\x06", 22 + 65_535  # the last record, and the longest comment in it
_PARQUET_ENDS = 12  # bytes: the sign, the length of the footer, and the sign again
_PDF_TAIL = 1024  # bytes within which readers look for the end of a PDF


class FileSign(NamedTuple):
    """What a file is that begins so, what to do, and whether it is there to its end."""

    what: str
    hint: str
    is_whole: Callable[[bytes], bool] = lambda _: True


def _is_whole_archive(data: bytes) -> bool:
    return _ZIP_END in data[-_ZIP_TAIL:]


def _is_whole_parquet(data: bytes) -> bool:
    footer = int.from_bytes(data[-8:-4], "little")
    return data.endswith(PARQUET) and 0 < footer <= len(data) - _PARQUET_ENDS


def _is_whole_database(data: bytes) -> bool:
    page, pages = int.from_bytes(data[16:18], "big"), int.from_bytes(data[28:32], "big")
    return 0 < (65_536 if page == 1 else page) * pages <= len(data)


_SIGNS = {
    **dict.fromkeys(ZIP, FileSign("a zip archive, not text", _UNPACK, _is_whole_archive)),
    GZIP: FileSign("packed by gzip", _UNPACK),
    ZSTANDARD: FileSign("packed by Zstandard", _UNPACK),
    b"BZh": FileSign("packed by bzip2", _UNPACK),
    b"\xfd7zXZ": FileSign("packed by xz", _UNPACK, lambda data: data.endswith(b"YZ")),
    PARQUET: FileSign("Parquet, not text", _JSON_LINES, _is_whole_parquet),
    b"ARROW1": FileSign("Arrow, not text", _JSON_LINES),
    b"SQLite format 3\0": FileSign("an SQLite database, not text", _JSON_LINES, _is_whole_database),
    b"%PDF-": FileSign(
        "a PDF, not text", "write its text as YAML", lambda data: b"%%EOF" in data[-_PDF_TAIL:]
    ),
}


def name_binary_file(data: bytes, file: str, *, is_all: bool) -> LoadError | None:
    """Return the error that names bytes which no text begins with; None where none is known.

    `is_all`: they are the whole file, of which it can be said whether it is cut off.
    """
    sign = next((one for start, one in _SIGNS.items() if data.startswith(start)), None)
    if sign is None:
        return None
    if is_all and not sign.is_whole(data):
        broken = f"is {sign.what}, and broken: it was damaged or cut off"
        return LoadError(broken, place=Place(file), hint="copy or write the file again")
    return LoadError(f"is {sign.what}", place=Place(file), hint=sign.hint)
