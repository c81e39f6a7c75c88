"""Writes JSON with every number as exact as it was read; `json` alone knows no `Decimal`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from evalstore.errors import RefusedError


def write_json(value: Any) -> str:
    """Return `value` as a JSON document of indented lines."""
    return "".join(_format_parts(value, "\n", ": ")) + "\n"


def write_row(value: Any) -> str:
    """Return `value` as one line of JSONL."""
    return "".join(_format_parts(value, "", ":")) + "\n"


def _format_parts(value: Any, line: str, colon: str) -> Iterator[str]:
    if isinstance(value, dict | list) and value:
        inner = line and line + "  "
        keys = [_format_key(key) + colon for key in value] if isinstance(value, dict) else None
        yield "{" if keys else "["
        for index, item in enumerate(value.values() if isinstance(value, dict) else value):
            yield ("," if index else "") + inner + (keys[index] if keys else "")
            yield from _format_parts(item, inner, colon)
        yield line + ("}" if keys else "]")
    else:
        yield str(value) if isinstance(value, Decimal) else json.dumps(value, ensure_ascii=False)


def _format_key(key: Any) -> str:
    if not isinstance(key, str):
        raise RefusedError(f"the key {key} is no text, and JSON has no other keys")
    return json.dumps(key, ensure_ascii=False)
