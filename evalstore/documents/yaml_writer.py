"""Writes new YAML files line by line, so that readers of YAML 1.1 and 1.2 read the same values back."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Any

from evalstore.documents.yaml_reader import read_yaml
from evalstore.errors import RefusedError

# What some reader of YAML 1.1 or 1.2 would take for something other than text.
_RETYPED = re.compile(
    r"|~|null|y|n|yes|no|on|off|true|false|[-+.]?[0-9][0-9_,.:eExXoOa-fA-F+-]*|[-+]?\.(?:inf|nan)|[=<].*|[0-9]{4}-.*",
    re.IGNORECASE | re.DOTALL,
)
_LINE = r"[^\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]"
_PLAIN = re.compile(rf"[\w(/]{_LINE}*")
_MARKS = re.compile(r": | #|[ :]\Z")
_BLOCK = re.compile(rf"(?=\S)(?:{_LINE}+(?<!\s)\n|\n)+(?:{_LINE}+(?<!\s))?\Z")
_ODD = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_KEY_LIMIT = 1000  # of 1,024 characters a key may be away from its colon


def write_yaml(value: Any, *, header: str = "") -> str:
    """Return `value` as a YAML document after `header` (comment lines); proves that it reads back equal."""
    lines = [_quoted(value)] if isinstance(value, str) else _lines(value)
    text = header + "\n".join(lines) + "\n"
    if read_yaml(text, "<new file>").value != value:
        raise RefusedError("a value cannot be written as YAML without changing it")
    return text


def _lines(value: Any) -> list[str]:
    if isinstance(value, dict) and value:
        return [line for key, item in value.items() for line in _pair(key if _is_plain(key) else _quoted(key), item)]
    if isinstance(value, list) and value:
        return [line for item in value for line in _hung("- ", _lines(item))]
    return _text(value) if isinstance(value, str) else [_scalar(value)]


def _pair(key: str, item: Any) -> list[str]:
    head = [f"{key}:"] if len(key) < _KEY_LIMIT else [f"? {key}", ":"]
    lines = _lines(item)
    if isinstance(item, dict | list) and item:
        return [*head, *_indented(lines)]
    return [*head[:-1], *_hung(head[-1] + " ", lines)]


def _hung(lead: str, lines: list[str]) -> list[str]:
    return [lead + lines[0], *_indented(lines[1:])]


def _indented(lines: list[str]) -> list[str]:
    return ["  " + line if line else "" for line in lines]


def _scalar(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    if isinstance(value, int | Decimal):
        return str(value)
    return "{}" if isinstance(value, dict) else "[]"


def _text(text: str) -> list[str]:
    if "\n" in text and _BLOCK.match(text):
        body = text.split("\n")
        kept = {"": "-", "\n": ""}.get(text[len(text.rstrip("\n")) :], "+")
        return ["|" + kept, *(body if kept == "-" else body[:-1])]
    return [text if _is_plain(text) else _quoted(text)]


def _is_plain(text: str) -> bool:
    return bool(_PLAIN.fullmatch(text)) and not _RETYPED.fullmatch(text) and not _MARKS.search(text)


def _quoted(text: str) -> str:
    return _ODD.sub(lambda odd: f"\\u{ord(odd[0]):04x}", json.dumps(text, ensure_ascii=False))
