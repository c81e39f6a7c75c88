"""Writes columns of Arrow as the JSON of their rows: one converter a column, and each text of a dictionary once."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from decimal import Decimal
from functools import cache
from importlib import import_module
from itertools import islice, pairwise
from json.encoder import encode_basestring
from typing import Any

from evalstore.documents import read_row, write_row
from evalstore.errors import LimitError, LoadError
from evalstore.runs.eee_format import UNKNOWN

# A column as JSON: of each row its text, None where it has none. What is nested is put together as it is asked for,
# because whole columns of copies take longer to make room for than to write.
Cells = Iterable[str | None]

# Where texts hold JSON, as in tables whose tool had no other way to nest.
_NESTED = frozenset({"tool_calls", "messages", "interactions", "metadata", "evaluation"})
_EVALUATION = "evaluation"
_ESCAPES = {b"\\": b"\\\\", b'"': b'\\"', b"\n": b"\\n", b"\r": b"\\r", b"\t": b"\\t"}  # a backslash comes first
_CONTROLS = bytes(range(1, 32))
_SHORTEST_VALUE = 3  # characters of a value in a list, with what is between it and the next
_TRUTH = {None: None, True: "true", False: "false"}
_NO_SCORE = {"score": UNKNOWN, "is_correct": False}
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def write_rows(batch: Any, limit: int) -> Iterable[str]:
    """Return the JSON of each row of a record batch, once: a column is a key, and what is null is absent.

    Raises `LoadError` where JSON has no such value, or a text should be JSON and is not, and `LimitError` where the
    rows take more than `limit` characters.
    """
    try:
        names = [field.name for field in batch.schema]
        cells = [_write_column(array, limit, name) for name, array in zip(names, batch.columns, strict=True)]
    except UnicodeDecodeError:
        raise LoadError("a text is not UTF-8") from None
    return _join_members(names, batch.columns, cells, limit) if names else ["{}"] * batch.num_rows


def _write_column(array: Any, limit: int, name: str = "") -> Cells:
    """Return a column, or a member of one, by the type that Arrow gives it; `name` only where rows have it as a key."""
    if array.null_count == len(array):
        return [None] * len(array)
    kind = _find_kind(array.type)
    if kind == "dictionary":
        return _write_dictionary(array, limit, name)
    if name in _NESTED and kind not in {"struct", "list"}:
        return [_write_nested(name, value) for value in array.to_pylist(maps_as_pydicts="strict")]
    if kind == "struct":
        return _write_evaluations(array, limit) if name == _EVALUATION else _write_structs(array, limit)
    if kind == "list":
        return _write_lists(array, limit)
    if kind == "text":
        return _write_texts(array, limit)
    if kind == "integer":
        return [None if number is None else str(number) for number in array.to_pylist()]
    if kind == "float":
        return [None if number is None else _write_float(number) for number in array.to_pylist()]
    if kind == "truth":
        return [_TRUTH[value] for value in array.to_pylist()]
    return [_encode_value(_convert_value(value)) for value in array.to_pylist(maps_as_pydicts="strict")]


@cache
def _find_kind(type_: Any) -> str:
    """Return the converter of a type; "" for all those that come one value after the other."""
    types = import_module("pyarrow").types
    if types.is_dictionary(type_):
        return "dictionary" if _find_kind(type_.value_type) == "text" else ""
    kinds = {
        "text": types.is_string(type_) or types.is_large_string(type_) or types.is_binary(type_),
        "integer": types.is_integer(type_),
        "float": types.is_floating(type_),
        "truth": types.is_boolean(type_),
        "struct": types.is_struct(type_),
        "list": types.is_list(type_) or types.is_large_list(type_),
    }
    return next((kind for kind, is_it in kinds.items() if is_it), "")


def _write_float(number: float) -> str | None:
    if math.isinf(number):
        raise LoadError("a number is infinite, and JSON has no such number")
    return None if math.isnan(number) else repr(number)


def _write_dictionary(array: Any, limit: int, name: str) -> Cells:
    used = array.indices.unique().drop_null()
    texts = _write_column(array.dictionary.take(used), limit, name)
    found = {-1: None, **dict(zip(used.to_pylist(), texts, strict=True))}
    cells = [found[index] for index in _list_numbers(array.indices)]
    # Of what is written, only such texts can be longer than what was read.
    if sum(map(len, filter(None, cells))) > limit:
        raise _make_limit_error(limit)
    return cells


def _write_texts(array: Any, limit: int) -> Cells:
    # `to_pylist` makes an object of Arrow's for each value, which takes as long as all the rest.
    _, starts, data = array.buffers()
    is_large = import_module("pyarrow").types.is_large_string(array.type)
    all_ends = memoryview(starts).cast("q") if is_large else memoryview(starts).cast("i")
    ends = all_ends[array.offset : array.offset + len(array) + 1].tolist()
    if ends[-1] - ends[0] > limit:
        raise _make_limit_error(limit)
    view = memoryview(data or b"")
    texts = [view[start:end] for start, end in pairwise(ends)]
    cells = _encode_together(texts) or [encode_basestring(str(text, "utf-8")) for text in texts]
    return cells if array.null_count == 0 else list(_leave_out(cells, array))


def _encode_together(texts: Sequence[memoryview]) -> list[str] | None:
    """Return texts as JSON, a third of the cost of one by one; None where a rare control character is in one."""
    joined = b"\0".join(texts)
    if joined.count(b"\0") != len(texts) - 1:
        return None
    for byte, escape in _ESCAPES.items():
        joined = joined.replace(byte, escape)
    if len(joined.translate(None, _CONTROLS)) != len(joined):
        return None
    return ('"' + joined.decode().replace("\0", '"\0"') + '"').split("\0")


def _leave_out(cells: Cells, array: Any) -> Cells:
    """Return cells with None where an array is null."""
    return (cell if is_there else None for cell, is_there in zip(cells, array.is_valid().to_pylist(), strict=True))


def _list_numbers(array: Any) -> list[int]:
    """Return whole numbers, -1 for null."""
    numbers = array.cast("int32").fill_null(-1)
    return memoryview(numbers.buffers()[1]).cast("i")[numbers.offset : numbers.offset + len(numbers)].tolist()


def _write_structs(array: Any, limit: int) -> Cells:
    names = [array.type.field(number).name for number in range(array.type.num_fields)]
    members = array.flatten()
    if not members:
        rows: Cells = ["{}"] * len(array)
    else:
        rows = _join_members(names, members, [_write_column(member, limit) for member in members], limit)
    return rows if array.null_count == 0 else _leave_out(rows, array)


def _write_evaluations(array: Any, limit: int) -> Cells:
    rows = _write_structs(array, limit)
    scores = array.field("score") if "score" in [field.name for field in array.type] else None
    if scores is not None and scores.null_count == 0:
        return rows
    scored = [False] * len(array) if scores is None else scores.is_valid().to_pylist()
    return [
        row if is_scored or row is None else _write_nested(_EVALUATION, value.as_py(maps_as_pydicts="strict"))
        for row, is_scored, value in zip(rows, scored, array, strict=True)
    ]


def _write_lists(array: Any, limit: int) -> Cells:
    values = array.flatten()
    if len(values) * _SHORTEST_VALUE > limit:
        raise _make_limit_error(limit)
    lengths = _list_numbers(array.value_lengths())
    rest = (cell or "null" for cell in _write_column(values, limit))
    return (None if length < 0 else "[" + ", ".join(islice(rest, length)) + "]" for length in lengths)


def _join_members(names: list[str], arrays: list[Any], columns: list[Cells], limit: int) -> Iterable[str]:
    """Return an object for each row, with the members that it has; `LimitError` where their keys alone are too long."""
    if len(set(names)) < len(names):
        raise LoadError("two columns have one name")
    found = [
        (f"{encode_basestring(name)}: ", len(array) - array.null_count, cells)
        for name, array, cells in zip(names, arrays, columns, strict=True)
    ]
    if sum(len(key) * present for key, present, _ in found) > limit:
        raise _make_limit_error(limit)
    count = len(arrays[0])
    used = [one for one in found if one[1]]
    if not used:
        return ["{}"] * count
    keys = [key for key, _, _ in used]
    rows = zip(*(cells for _, _, cells in used), strict=True)
    # A cell can be None where Arrow has a value: not-a-number, or a null within a dictionary.
    if all(present == count and not (isinstance(cells, list) and None in cells) for _, present, cells in used):
        template = "{" + ", ".join(key.replace("%", "%%") + "%s" for key in keys) + "}"
        return map(template.__mod__, rows)
    return (
        "{" + ", ".join([key + cell for key, cell in zip(keys, row, strict=True) if cell is not None]) + "}"
        for row in rows
    )


def _make_limit_error(limit: int) -> LimitError:
    return LimitError(f"a row is larger than {limit:,} characters")


def _write_nested(name: str, value: Any) -> str | None:
    """Return a value that may be the text of one; an evaluation without a score is as Every Eval Ever has it."""
    value = read_row(value.encode(), "", 0) if isinstance(value, str) else _convert_value(value)
    if name == _EVALUATION and isinstance(value, dict) and "score" not in value:
        value = _NO_SCORE | value
    return _encode_value(value)


def _encode_value(value: Any) -> str | None:
    try:
        return None if value is None else _encode(value)
    except TypeError:  # an exact number
        return write_row(value).removesuffix("\n")
    except ValueError:
        raise LoadError("a number is infinite, and JSON has no such number") from None


def _convert_value(value: Any) -> Any:
    """Return a value as JSON has it: null and not-a-number in a struct are absent, bytes are text, times are words."""
    if isinstance(value, dict):
        converted = ((str(key), _convert_value(item)) for key, item in value.items())
        return {key: item for key, item in converted if item is not None}
    if isinstance(value, list):
        return [_convert_value(item) for item in value]
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, float):
        return None if math.isnan(value) else value
    return value if value is None or isinstance(value, str | int | Decimal) else str(value)
