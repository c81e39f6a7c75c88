"""Writes columns of Arrow as the JSON of their rows: one converter a column, and each text of a dictionary once."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from decimal import Decimal
from functools import cache
from importlib import import_module
from itertools import islice, pairwise
from json.encoder import encode_basestring
from typing import Any

from evalstore.documents import read_row, write_row
from evalstore.errors import LimitError, LoadError
from evalstore.runs.eee_format import UNKNOWN

# A column as JSON: of each row its text, None where it has none.
Cells = list[str | None]

# Where texts hold JSON, as in tables whose tool had no other way to nest.
_NESTED = frozenset({"tool_calls", "messages", "interactions", "metadata", "evaluation"})
_EVALUATION = "evaluation"
_TRUTH = {None: None, True: "true", False: "false"}
_NO_SCORE = {"score": UNKNOWN, "is_correct": False}
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def write_rows(batch: Any, limit: int) -> list[str]:
    """Return the JSON of each row of a record batch: a column is a key, and what is null is absent.

    Raises `LoadError` where JSON has no such value, or a text should be JSON and is not, and `LimitError` where the
    rows take more than `limit` characters.
    """
    try:
        members = [
            (field.name, _write_column(array, limit, field.name))
            for field, array in zip(batch.schema, batch.columns, strict=True)
        ]
    except UnicodeDecodeError:
        raise LoadError("a text is not UTF-8") from None
    return _join_members(members, batch.num_rows, limit)


def _write_column(array: Any, limit: int, name: str = "") -> Cells:
    """Return a column, or a member of one, by the type that Arrow gives it; `name` only where rows have it as a key."""
    if array.null_count == len(array):
        return [None] * len(array)
    kind = _find_kind(array.type)
    if name in _NESTED and kind not in {"struct", "list"}:
        return [_write_nested(name, value) for value in array.to_pylist(maps_as_pydicts="strict")]
    if kind == "dictionary":
        return _write_dictionary(array)
    if kind == "struct":
        return _write_evaluations(array, limit) if name == _EVALUATION else _write_structs(array, limit)
    if kind == "list":
        return _write_lists(array, limit)
    if kind == "text":
        return _write_texts(array)
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
        "text": types.is_string(type_) or types.is_large_string(type_),
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


def _write_dictionary(array: Any) -> Cells:
    used = array.indices.unique().drop_null()
    texts = _write_texts(array.dictionary.take(used))
    found = {-1: None, **dict(zip(used.to_pylist(), texts, strict=True))}
    return [found[index] for index in _list_numbers(array.indices)]


def _write_texts(array: Any) -> Cells:
    # `to_pylist` makes an object of Arrow's for each value, which takes as long as all the rest.
    _, starts, data = array.buffers()
    is_large = import_module("pyarrow").types.is_large_string(array.type)
    all_ends = memoryview(starts).cast("q") if is_large else memoryview(starts).cast("i")
    ends = all_ends[array.offset : array.offset + len(array) + 1].tolist()
    view = memoryview(data or b"")
    cells = [encode_basestring(str(view[start:end], "utf-8")) for start, end in pairwise(ends)]
    return list(cells) if array.null_count == 0 else _leave_out(cells, array)


def _leave_out(cells: Iterable[str], array: Any) -> Cells:
    """Return cells with None where an array is null."""
    return [cell if is_there else None for cell, is_there in zip(cells, array.is_valid().to_pylist(), strict=True)]


def _list_numbers(array: Any) -> list[int]:
    """Return whole numbers, -1 for null."""
    numbers = array.cast("int32").fill_null(-1)
    return memoryview(numbers.buffers()[1]).cast("i")[numbers.offset : numbers.offset + len(numbers)].tolist()


def _write_structs(array: Any, limit: int) -> Cells:
    names = [array.type.field(number).name for number in range(array.type.num_fields)]
    members = [(name, _write_column(member, limit)) for name, member in zip(names, array.flatten(), strict=True)]
    rows = _join_members(members, len(array), limit)
    return list(rows) if array.null_count == 0 else _leave_out(rows, array)


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
    cells = [cell or "null" for cell in _write_column(array.flatten(), limit)]
    _refuse_above(limit, cells)
    rest = iter(cells)
    return [
        None if length < 0 else "[" + ", ".join(islice(rest, length)) + "]"
        for length in _list_numbers(array.value_lengths())
    ]


def _join_members(members: list[tuple[str, Cells]], count: int, limit: int) -> list[str]:
    """Return an object for each row, with the members that it has."""
    if len({name for name, _ in members}) < len(members):
        raise LoadError("two columns have one name")
    columns = list[Cells]()
    for name, cells in members:
        key = encode_basestring(name) + ": "
        columns.append([None if cell is None else key + cell for cell in cells])
        _refuse_above(limit, columns[-1])
    if not columns:
        return ["{}"] * count
    return ["{" + ", ".join(filter(None, row)) + "}" for row in zip(*columns, strict=True)]


def _refuse_above(limit: int, cells: Iterable[str | None]) -> None:
    """Raise `LimitError` before many copies of one large text are joined."""
    if sum(map(len, filter(None, cells))) > limit:
        raise LimitError(f"a row is larger than {limit:,} characters")


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
