"""Reads one row of a longer JSON text; an error concerns only that row, and reading continues."""

from __future__ import annotations

import io
from collections.abc import Collection, Mapping
from typing import Any

from evalstore.documents import JsonStream
from evalstore.errors import LimitError, LoadError, Place
from evalstore.runs.run_files import parse_json_object
from evalstore.text import make_excerpt

# NaN as an output is an error of its row; anywhere else it is a missing number.
_OUTPUTS = frozenset(
    {
        *("output", "outputs", "response", "answer", "messages", "resps", "interactions"),
        *("actualOutput", "actual_output", "prediction", "predictions", "input"),
    }
)


def parse_lenient_object(line: bytes, place: Place) -> Mapping[str, Any]:
    """Return the object on another tool's line, with null for NaN and the infinities."""
    try:
        return parse_json_object(line, place)
    except LoadError:
        if b"NaN" not in line and b"Infinity" not in line:
            raise
        value = read_item(JsonStream(io.BytesIO(line), place.file), None)
        if isinstance(value, LoadError):
            raise
        return value


def read_item(stream: JsonStream, fields: Collection[str] | None) -> Mapping[str, Any] | LoadError:
    """Return the next object of a stream, or an error if it is not one; the stream is past it."""
    place = stream.locate()
    if stream.peek() != "{":
        stream.skip()
        return LoadError("a row is one JSON object", place=place)
    value: dict[str, Any] = {}
    problem: LoadError | None = None
    for key in stream.iterate_members():
        if fields is not None and key not in fields:
            stream.skip()
            continue
        if key in value:
            problem = LoadError(f"duplicate key '{make_excerpt(key, 60)}'", place=place)
        try:
            value[key] = stream.read() if key in _OUTPUTS else stream.read_lenient()
        except LimitError:
            raise
        except LoadError as error:
            problem = LoadError(
                f"in its `{make_excerpt(key, 60)}`: {error.message}", place=error.place
            )
    return problem or value
