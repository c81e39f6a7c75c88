"""Writes new YAML files, so that readers of YAML 1.1 and 1.2 read the same values back; proves it of each."""

from __future__ import annotations

import json
import re
from typing import Any

from evalstore.documents.yaml_reader import read_legacy_yaml, read_yaml
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
# What JSON leaves as it is, and YAML does not.
_ODD = re.compile(r"[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_KEY_LIMIT = 1000  # readers stop looking for the colon behind 1024 characters
_STEP = "  "


def write_yaml(value: Any, *, header: str = "") -> str:
    """Return `value` as a YAML document after `header` (comment lines); proves that it reads back equal."""
    text = header + _document(value)
    return _proved(text, read_yaml(text, "<new file>").value == value)


def write_legacy_yaml(value: Any) -> str:
    """Return `value`, whose keys need not be texts, as a YAML document that `read_legacy_yaml` reads back equal."""
    text = _document(value)
    return _proved(text, read_legacy_yaml(text, "<new file>").value == value)


def _proved(text: str, equal: bool) -> str:  # noqa: FBT001
    if not equal:
        raise RefusedError("a value cannot be written as YAML without changing it")
    return text


def _document(value: Any) -> str:
    if not value or not isinstance(value, dict | list):
        return (_quoted(value) if isinstance(value, str) else _scalar(value, "")) + "\n"
    parts: list[str] = []
    _collection(value, "", parts)
    return "".join(parts)


def _collection(value: dict[Any, Any] | list[Any], pad: str, parts: list[str]) -> None:
    """Append the lines of what is not empty, each behind `pad` but the first: there the text stands already."""
    lead, inner = "", pad + _STEP
    pairs = ((_key(key, pad), item) for key, item in value.items()) if isinstance(value, dict) else None
    for head, item in pairs or (("-", item) for item in value):
        parts.append(lead + head)
        lead = pad
        if item and isinstance(item, dict | list):
            parts.append(" " if head == "-" else f"\n{inner}")
            _collection(item, inner, parts)
        else:
            parts.append(f" {_scalar(item, inner)}\n")


def _key(key: Any, pad: str) -> str:
    text = _word(key) if isinstance(key, str) else _scalar(key, pad)
    return f"{text}:" if len(text) < _KEY_LIMIT else f"? {text}\n{pad}:"


def _scalar(value: Any, pad: str) -> str:
    if isinstance(value, str):
        return _literal(value, pad) if "\n" in value and _BLOCK.match(value) else _word(value)
    if isinstance(value, dict | list):
        return "{}" if isinstance(value, dict) else "[]"
    return json.dumps(value) if value is None or isinstance(value, bool) else str(value)


def _word(text: str) -> str:
    plain = _PLAIN.fullmatch(text) and not _RETYPED.fullmatch(text) and not _MARKS.search(text)
    return text if plain else _quoted(text)


def _quoted(text: str) -> str:
    return _ODD.sub(lambda odd: f"\\u{ord(odd[0]):04x}", json.dumps(text, ensure_ascii=False))


def _literal(text: str, pad: str) -> str:
    body = text.removesuffix("\n")
    chomping = "-" if body == text else "+" if body.endswith("\n") else ""
    return f"|{chomping}\n" + "\n".join(pad + line if line else "" for line in body.split("\n"))
