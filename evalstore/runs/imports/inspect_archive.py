"""Opens the archive of a log of Inspect AI, within bounds of memory and time."""

from __future__ import annotations

import copy
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import RawIOBase
from pathlib import Path
from typing import Any

from evalstore.documents import JsonStream
from evalstore.errors import LimitError, LoadError, Place
from evalstore.files import BLOCK, open_user_file
from evalstore.runs.packed import DAMAGE, open_zstandard
from evalstore.runs.unpack_budget import UnpackBudget

_ZSTD = 93
# Bytes of memory for the text of one value; parsing it takes several times as much.
_VALUE_LIMIT = 16 << 20
_STEPS = 8  # allowed steps for each byte of an archive; real logs take about two
_MEMBER_STEPS = 1_000  # steps counted for opening a member
_MEMBER_LIMIT = 1 << 30  # bytes that one member may unpack to, however large the archive is
_BROKEN = (
    *DAMAGE,
    zipfile.BadZipFile,
    struct.error,
    NotImplementedError,
    OverflowError,
    RuntimeError,
    ValueError,
)


class Archive:
    """An open archive: its members by name (the last if several), and their content as streams."""

    def __init__(self, file: zipfile.ZipFile, name: str, budget: UnpackBudget) -> None:
        self.name, self._budget = name, budget
        self.members: Mapping[str, zipfile.ZipInfo] = {
            member.filename: member for member in file.infolist()
        }
        self._file = file

    @contextmanager
    def open_member(self, member: str) -> Iterator[JsonStream]:
        """Open a member; raises `LimitError` for more steps than the archive's size allows."""
        place = self.place_of(member)
        with ArchiveMember(self._file, self.members[member], place) as source:
            self._budget.spend_steps(_MEMBER_STEPS)
            yield JsonStream(source, place.file, spend=self._budget.spend_steps, limit=_VALUE_LIMIT)

    def read_blocks(self, member: str) -> Iterator[bytes]:
        """Yield the bytes of a member."""
        with ArchiveMember(self._file, self.members[member], self.place_of(member)) as source:
            self._budget.spend_steps(_MEMBER_STEPS)
            while block := source.read(BLOCK):
                yield block

    def place_of(self, member: str) -> Place:
        """Return where a member is, written like a path into the archive."""
        return Place(f"{self.name}/{member}")


class ArchiveMember(RawIOBase):
    """A member's bytes; raises `LoadError` if they are damaged or not of the announced size."""

    def __init__(self, file: zipfile.ZipFile, member: zipfile.ZipInfo, place: Place) -> None:
        self._place, self._announced = place, member
        self._sum, self._read = 0, 0
        with _explain_damage(place, _BROKEN):
            self._source = (
                self._open_zstandard(file) if member.compress_type == _ZSTD else file.open(member)
            )

    def read(self, size: int = -1) -> bytes:
        """Read at most `size` bytes."""
        left = self._announced.file_size - self._read
        with _explain_damage(self._place, _BROKEN):
            data: bytes = self._source.read(min(size, left + 1) if size >= 0 else left + 1)
        self._read += len(data)
        self._sum = zlib.crc32(data, self._sum)
        ended = size != 0 and not data
        whole = self._read == self._announced.file_size and self._sum == self._announced.CRC
        if self._read > self._announced.file_size or (ended and not whole):
            raise LoadError(
                "is damaged: its content does not match the archive's index", place=self._place
            )
        return data

    def _open_zstandard(self, file: zipfile.ZipFile) -> Any:
        """Open a Zstandard member, which `zipfile` cannot unpack, or only without bounds.

        The packed bytes are read as if the member were stored without compression.
        """
        packed = copy.copy(self._announced)
        packed.compress_type, packed.file_size = zipfile.ZIP_STORED, packed.compress_size
        del packed.CRC  # it is the checksum of the unpacked bytes
        return open_zstandard(file.open(packed))


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """Open a zip archive.

    Raises `LoadError` if it is not a zip archive or is incomplete, `LimitError` for a zip bomb.
    """
    with open_user_file(path) as raw:
        with _explain_damage(Place(str(path)), _BROKEN):
            file = zipfile.ZipFile(raw)
        with file:
            size, place = raw.seek(0, 2), Place(str(path))
            budget = UnpackBudget(
                size, place, steps=_STEPS, advice="convert the log: inspect log convert --to json"
            )
            _check_sizes(file.infolist(), size, place, budget)
            yield Archive(file, str(path), budget)


def _check_sizes(
    members: list[zipfile.ZipInfo], size: int, place: Place, budget: UnpackBudget
) -> None:
    """Check the announced sizes of an archive before anything is unpacked."""
    if any(member.flag_bits & 1 for member in members):
        raise LoadError("this archive is encrypted", place=place)
    packed, unpacked = (
        sum(getattr(member, key) for member in members) for key in ("compress_size", "file_size")
    )
    largest = max((member.file_size for member in members), default=0)
    if packed > size or largest > _MEMBER_LIMIT:
        raise LimitError("this archive unpacks to far more than a log can have", place=place)
    budget.spend_bytes(unpacked)


@contextmanager
def _explain_damage(place: Place, broken: tuple[type[Exception], ...]) -> Iterator[None]:
    try:
        yield
    except broken as error:
        raise LoadError(
            f"cannot be unpacked: {str(error) or 'it is damaged'}", place=place
        ) from None
