"""One line of stored outputs, in the shapes that people have them in, as a value; opens no file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalstore.errors import LoadError, Place
from evalstore.model import Output
from evalstore.runs.calls import read_calls
from evalstore.runs.instance import read_eee_output
from evalstore.runs.values import StoredOutput

_SHAPES = 'a line is {"id": "…", "output": "…"}, or a row of Every Eval Ever with its `sample_id`'


def read_stored_output(row: Mapping[str, Any], place: Place) -> StoredOutput | None:
    """Return what one line records; None when its model gave no output."""
    if "sample_id" in row or "schema_version" in row:
        return read_eee_output(row, place)
    for key in ("id", "output"):
        if not isinstance(row.get(key), str):
            wrong = f"its `{key}` is no text" if key in row else f"it has no `{key}`"
            raise LoadError(f"this line is no output: {wrong}", place=place, hint=_SHAPES)
    return StoredOutput(row["id"], Output(row["output"], read_calls(row.get("tool_calls"), place)), place.line or 0)
