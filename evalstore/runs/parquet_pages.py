"""Bounds what a row group of Parquet can decode to, from the headers of its pages, before any of them is decoded.

A page of a few bytes can stand for gigabytes, and a footer can say anything. The header of each page says how large the
page becomes, and Arrow refuses a page that becomes another size: https://parquet.apache.org/docs/file-format/.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from io import SEEK_END
from math import ceil
from typing import Any, BinaryIO, NamedTuple

from evalstore.errors import LimitError, Place


class _PageLimits(NamedTuple):
    """What a file may say of itself, and what may be decoded of it."""

    decoded: int = 256 << 20  # bytes of the pages that are decoded at once
    lists: int = 64 << 20  # bytes of all lists of a row group: nothing says before they are decoded where a row ends
    lists_ratio: int = 32  # bytes of them for each byte of a larger file
    columns: int = 10_000
    footer: int = 64 << 20  # bytes
    containers: int = 100_000  # columns, or row groups, in a footer
    batch: int = 1024  # rows
    values: int = 20_000  # of a batch of several rows
    guessed_header: int = 256  # bytes of a header that are read first
    header: int = 16 << 20  # bytes: Arrow's own limit
    width: int = 12  # bytes of the widest value that is not text
    levels: int = 8  # bytes for the place of a value within lists


LIMITS = _PageLimits()


class _Thrift(NamedTuple):
    """Numbers of the fields in a page's header, and in the parts of it that say how many values there are."""

    unpacked: int = 2
    packed: int = 3
    data: int = 5
    dictionary: int = 7
    data_v2: int = 8
    values: int = 1
    encoding: int = 2
    encoding_v2: int = 4
    prefixed: int = 7  # an encoding: a text begins with as much of the one before as it says


_FIELDS = _Thrift()


# Encodings of texts that Arrow reads as dictionaries, those of the levels beside them included.
_KEPT_ONCE = frozenset({"PLAIN", "RLE", "BIT_PACKED", "PLAIN_DICTIONARY", "RLE_DICTIONARY"})


class _Page(NamedTuple):
    """A page: its bytes when it is decoded, its values, and whether each of them may stand for all of those bytes."""

    unpacked: int
    values: int
    repeats: bool


class _ColumnBound(NamedTuple):
    """What a column of a row group can take in bytes: one page, all values, and a row (of lists the mean of them)."""

    values: int
    page: int
    whole: int
    row: int
    has_lists: bool

    def bound_rows(self, count: int) -> int:
        return min(self.whole, self.row * count)


def check_columns(metadata: Any, place: Place) -> None:
    """Raise `LimitError` where there are more columns than any table of outputs has."""
    if metadata.num_columns > LIMITS.columns:
        raise LimitError(f"there are more than {LIMITS.columns:,} columns", place=place)


def check_footer(source: BinaryIO, place: Place) -> None:
    """Raise `LimitError` where the footer is so large that reading it takes gigabytes."""
    size = source.seek(0, SEEK_END)
    source.seek(max(size - 8, 0))
    if int.from_bytes(source.read(4), "little") > LIMITS.footer and size > LIMITS.footer:
        raise LimitError(
            f"its footer is larger than {LIMITS.footer:,} bytes",
            place=place,
            hint="write it again with more rows per row group, or as several files",
        )


def list_dictionaries(metadata: Any) -> list[str]:
    """Return the paths of the columns whose texts are read as dictionaries, in which one that comes again is once."""
    others = set[str]()
    for group in range(metadata.num_row_groups):
        chunks = (chunk for _, chunk in _list_columns(metadata, group))
        others |= {chunk.path_in_schema for chunk in chunks if not _KEPT_ONCE.issuperset(chunk.encodings)}
    columns = map(metadata.schema.column, range(metadata.num_columns))
    return [column.path for column in columns if _has_texts(column) and column.path not in others]


def _has_texts(column: Any) -> bool:
    return column.physical_type == "BYTE_ARRAY" and column.logical_type.type in {"STRING", "NONE"}


def count_batch_rows(source: BinaryIO, metadata: Any, group: int, dictionaries: Container[str], place: Place) -> int:
    """Return how many rows of a row group may be decoded at once; `LimitError` where its pages or lists are too large.

    `dictionaries` are the columns that are read as such; in others a text may be as large as the largest page, whatever
    stands there of it. Raises `ValueError` where a header makes no sense.
    """
    rows: int = metadata.row_group(group).num_rows
    bounds = [
        _bound_column(
            column, list(_list_pages(source, *_find_range(chunk))), rows, is_dictionary=column.path in dictionaries
        )
        for column, chunk in _list_columns(metadata, group)
    ]
    if sum(bound.page for bound in bounds) > LIMITS.decoded:
        raise LimitError(f"its pages need more than {LIMITS.decoded:,} bytes of memory at once", place=place)
    most = max(LIMITS.lists, LIMITS.lists_ratio * source.seek(0, SEEK_END))
    if sum(bound.whole for bound in bounds if bound.has_lists) > most:
        raise LimitError(
            f"the lists of a row group need more than {most:,} bytes of memory",
            place=place,
            hint="write it again with fewer rows per row group",
        )
    values = sum(bound.values for bound in bounds)
    count = max(1, min(LIMITS.batch, LIMITS.values * rows // max(values, 1)))
    while count > 1 and sum(bound.bound_rows(count) for bound in bounds) > LIMITS.decoded:
        count //= 2
    return count


def _bound_column(column: Any, pages: Sequence[_Page], rows: int, *, is_dictionary: bool) -> _ColumnBound:
    largest, values = max((page.unpacked for page in pages), default=0), sum(page.values for page in pages)
    width = max(column.length or 0, LIMITS.width) + (LIMITS.levels if column.max_repetition_level else 0)
    whole, value = values * width, width
    if column.physical_type == "BYTE_ARRAY":
        repeats = not is_dictionary and any(page.repeats for page in pages)
        whole += values * largest if repeats else sum(page.unpacked for page in pages)
        value += largest
    a_row = ceil(values / max(rows, 1)) if column.max_repetition_level else 1
    return _ColumnBound(values, largest, whole, a_row * value, bool(column.max_repetition_level))


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
        packed = _find_number(header, _FIELDS.packed)
        data, data_v2 = _find_struct(header, _FIELDS.data), _find_struct(header, _FIELDS.data_v2)
        values = _find_number(data or data_v2, _FIELDS.values) if data or data_v2 else 0
        repeats = _FIELDS.dictionary in header or _FIELDS.prefixed in {
            data.get(_FIELDS.encoding),
            data_v2.get(_FIELDS.encoding_v2),
        }
        yield _Page(_find_number(header, _FIELDS.unpacked), values, repeats)
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
    size = LIMITS.guessed_header
    while True:
        source.seek(start)
        data = source.read(size)
        try:
            return _decode_struct(data, 0)
        except IndexError:
            if len(data) < size or size >= LIMITS.header:
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
