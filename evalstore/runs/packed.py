"""Opens a user's file, and unpacks it if its first bytes are those of gzip or Zstandard."""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, cast

from evalstore.documents import GZIP, ZSTANDARD
from evalstore.errors import LoadError, Place
from evalstore.files import open_user_file
from evalstore.runs.unpack_budget import UnpackBudget

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_OPENERS: dict[bytes, Callable[[BinaryIO], Any]] = {
    GZIP: lambda file: gzip.GzipFile(fileobj=file),
    ZSTANDARD: zstd.ZstdFile,
}
# Rows repeat their prompts and are read one by one, so a file of rows may be packed this many times
# tighter than a log. A bomb in gzip is still twice as tight as that.
_ALIKE = 8
# The exceptions that reading a damaged file raises.
DAMAGE = (zlib.error, zstd.ZstdError, EOFError, OSError)


def is_packed(path: Path) -> bool:
    """Whether a file is packed, so that its bytes are not its lines."""
    with open_user_file(path) as file:
        return _find_opener(file) is not None


def open_unpacked(path: Path) -> BinaryIO:
    """Open a file for reading forwards.

    Reading raises `LimitError` if it unpacks to far more than its size allows.
    """
    file = open_user_file(path)
    opener = _find_opener(file)
    if opener is None:
        return file
    place = Place(str(path))
    size = _ALIKE * file.seek(0, io.SEEK_END)
    budget = UnpackBudget(size, place, steps=1, advice="unpack it first")
    file.seek(0)
    return cast("BinaryIO", io.BufferedReader(_Unpacked(opener(file), file, place, budget)))


def _find_opener(file: BinaryIO) -> Callable[[BinaryIO], Any] | None:
    head = file.read(4)
    file.seek(0)
    return next((opener for magic, opener in _OPENERS.items() if head.startswith(magic)), None)


def open_zstandard(file: Any) -> Any:
    """Open a stream that Zstandard packed, such as a member of an archive."""
    return zstd.ZstdFile(file)


class _Unpacked(io.RawIOBase):
    """The unpacked bytes of a file, counted; raises `LoadError` if they are damaged."""

    def __init__(self, source: Any, file: BinaryIO, place: Place, budget: UnpackBudget) -> None:
        super().__init__()
        self._source, self._file, self._place, self._budget = source, file, place, budget

    def readable(self) -> bool:
        """Return true, because `BufferedReader` asks."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read into a buffer, and return how many bytes were read."""
        try:
            data: bytes = self._source.read(len(buffer))
        except DAMAGE as error:
            raise LoadError(
                f"cannot be unpacked: {str(error) or 'it is damaged'}", place=self._place
            ) from None
        self._budget.spend_bytes(len(data))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        """Close the unpacker and the file."""
        self._file.close()
        super().close()
