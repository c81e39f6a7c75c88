"""Bounds what a row group of Parquet can decode to, from the headers of its pages, before any of them is decoded.

A page of a few bytes can stand for gigabytes, and a footer can say anything. The header of each page says how large the
page becomes, and Arrow refuses a page that becomes another size: https://parquet.apache.org/docs/file-format/.
"""

from __future__ import annotations

from collections.abc import Iterator
from io import SEEK_END
from math import ceil
from typing import Any, BinaryIO, NamedTuple

from evalstore.errors import LimitError, Place

DECODE_LIMIT = 256 << 20  # bytes of the pages that are decoded at once
_LISTS_LIMIT = 1 << 30  # bytes of all lists of a row group: nothing says before they are decoded where a row ends
_REPEATED = 64  # bytes a value, below which most texts of a column have come before
_COLUMN_LIMIT = 10_000
_FOOTER_LIMIT = 64 << 20
CONTAINER_LIMIT = 100_000  # columns, or row groups, in a footer
_BATCH = 1024
_HEADER, _LARGEST_HEADER = 256, 16 << 20  # bytes that are read of a header: a guess, and Arrow's own limit
_WIDTH = 12  # bytes of the widest value that is no text
_LEVELS = 8  # bytes for the place of a value within lists
# Fields of a page's header in its Thrift definition, and of the parts of it that say how many values there are.
_UNPACKED, _PACKED, _DATA, _DATA_V2 = 2, 3, 5, 8
_COUNT = 1


class _Page(NamedTuple):
    unpacked: int
    values: int


def check_columns(metadata: Any, place: Place) -> None:
    """Raise `LimitError` where there are more columns than any table of outputs has."""
    if metadata.num_columns > _COLUMN_LIMIT:
        raise LimitError(f"there are more than {_COLUMN_LIMIT:,} columns", place=place)


def check_footer(source: BinaryIO, place: Place) -> None:
    """Raise `LimitError` where the footer is so large that reading it takes gigabytes."""
    size = source.seek(0, SEEK_END)
    source.seek(max(size - 8, 0))
    if int.from_bytes(source.read(4), "little") > _FOOTER_LIMIT and size > _FOOTER_LIMIT:
        raise LimitError(
            f"its footer is larger than {_FOOTER_LIMIT:,} bytes",
            place=place,
            hint="write it anew with more rows in a row group, or as several files",
        )


def list_dictionaries(metadata: Any) -> list[str]:
    """Return the paths of the columns whose texts come again and again: they are read as dictionaries."""
    return [
        column.path
        for column, chunk in (_list_columns(metadata, 0) if metadata.num_row_groups else ())
        if (column.physical_type, column.logical_type.type, column.max_repetition_level) == ("BYTE_ARRAY", "STRING", 0)
        if chunk.total_uncompressed_size < _REPEATED * max(chunk.num_values, 1)
    ]


def count_batch_rows(source: BinaryIO, metadata: Any, group: int, place: Place) -> int:
    """Return how many rows of a row group may be decoded at once; `LimitError` where its pages are too large.

    A text may be as large as the largest page of its column, whatever stands there of it. Raises `ValueError` where a
    header makes no sense.
    """
    held, row, lists = 0, 0, 0
    for column, chunk in _list_columns(metadata, group):
        pages = list(_list_pages(source, *_find_range(chunk)))
        largest, values = max((page.unpacked for page in pages), default=0), sum(page.values for page in pages)
        width = max(column.length or 0, _WIDTH)
        held += largest
        if column.max_repetition_level:
            lists += sum(page.unpacked for page in pages) + values * (width + _LEVELS)
        a_row = ceil(values / max(metadata.row_group(group).num_rows, 1)) if column.max_repetition_level else 1
        row += a_row * (largest if column.physical_type == "BYTE_ARRAY" else width)
    if held > DECODE_LIMIT:
        raise LimitError(f"its pages need more than {DECODE_LIMIT:,} bytes of memory at once", place=place)
    if lists > _LISTS_LIMIT:
        raise LimitError(
            f"the lists of a row group need more than {_LISTS_LIMIT:,} bytes of memory",
            place=place,
            hint="write it anew with fewer rows in a row group",
        )
    return max(1, min(_BATCH, DECODE_LIMIT // max(row, 1)))


def _list_columns(metadata: Any, group: int) -> Iterator[tuple[Any, Any]]:
    """Yield (schema, chunk) of the columns of a row group."""
    chunks = metadata.row_group(group)
    return ((metadata.schema.column(number), chunks.column(number)) for number in range(chunks.num_columns))


def _find_range(chunk: Any) -> tuple[int, int]:
    """Return where Arrow begins to read a column chunk, and how many bytes of it."""
    start, dictionary = chunk.data_page_offset, chunk.dictionary_page_offset
    if chunk.has_dictionary_page and dictionary is not None and 0 < dictionary < start:
        start = dictionary
    return start, chunk.total_compressed_size


def _list_pages(source: BinaryIO, start: int, size: int) -> Iterator[_Page]:
    end = start + size
    while start < end:
        header, length = _read_header(source, start)
        packed = _find_number(header, _PACKED)
        data, data_v2 = _find_struct(header, _DATA), _find_struct(header, _DATA_V2)
        values = _find_number(data or data_v2, _COUNT) if data or data_v2 else 0
        yield _Page(_find_number(header, _UNPACKED), values)
        start += length + packed


def _find_number(header: dict[int, Any], field: int) -> int:
    value = header.get(field)
    if not isinstance(value, int) or value < 0:
        raise ValueError("a page does not say how large it is")
    return value


def _find_struct(header: dict[int, Any], field: int) -> dict[int, Any]:
    found = header.get(field)
    return found if isinstance(found, dict) else {}


def _read_header(source: BinaryIO, start: int) -> tuple[dict[int, Any], int]:
    """Return the fields of a page's header by their numbers, and how many bytes it takes."""
    size = _HEADER
    while True:
        source.seek(start)
        data = source.read(size)
        try:
            return _decode_struct(data, 0)
        except IndexError:
            if len(data) < size or size >= _LARGEST_HEADER:
                raise ValueError("a page has no end") from None
            size *= 16


def _decode_struct(data: bytes, at: int, depth: int = 3) -> tuple[dict[int, Any], int]:
    """Decode a struct of Thrift's compact protocol; texts in it are left out."""
    fields, number = dict[int, Any](), 0
    while kind := data[at] & 0x0F:
        step = data[at] >> 4
        at += 1
        if step:
            number += step
        else:
            number, at = _decode_integer(data, at)
        fields[number], at = _decode_value(data, at, kind, depth)
    return fields, at + 1


def _decode_value(data: bytes, at: int, kind: int, depth: int) -> tuple[Any, int]:
    match kind:
        case 1 | 2:
            return kind == 1, at
        case 3:
            return data[at], at + 1
        case 4 | 5 | 6:
            return _decode_integer(data, at)
        case 7:
            return None, at + 8
        case 8:
            size, at = _decode_varint(data, at)
            return None, at + size
        case 12 if depth:
            return _decode_struct(data, at, depth - 1)
        case _:
            raise ValueError("a page has a field that no page has")


def _decode_integer(data: bytes, at: int) -> tuple[int, int]:
    value, at = _decode_varint(data, at)
    return (value >> 1) ^ -(value & 1), at


def _decode_varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        value |= (data[at] & 0x7F) << shift
        at += 1
        if data[at - 1] & 0x80 == 0:
            return value, at
    raise ValueError("a number of a page has no end")
