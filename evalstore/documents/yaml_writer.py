"""Turns a value into YAML events and writes them with ruamel.yaml: `dump` takes twice as long.

It is a separate module because ruamel.yaml is slow to import: `yaml_layout` imports it on first
use.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.events import (
    DocumentEndEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
    StreamStartEvent,
)
from ruamel.yaml.tag import Tag

from evalstore.documents.opaque import OpaqueValue, parse_flat
from evalstore.documents.yaml_reader import read_legacy_yaml, read_yaml
from evalstore.errors import RefusedError

# Plain scalars that some reader of YAML 1.1 or 1.2 takes for something other than text.
_RETYPED = re.compile(
    (
        r"|~|null|y|n|yes|no|on|off|true|false|[-+.]?[0-9][0-9_,.:eExXoOa-fA-F+-]*|"
        r"[-+]?\.(?:inf|nan)|[=<].*|[0-9]{4}-.*"
    ),
    re.IGNORECASE | re.DOTALL,
)
_LINE_TEXT = r"[^\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]"
_PLAIN = re.compile(rf"[\w(/]{_LINE_TEXT}*")
_INDICATORS = re.compile(r": | #|[ :]\Z")
_BLOCK = re.compile(rf"(?=\S)(?:{_LINE_TEXT}+(?<!\s)\n|\n)+(?:{_LINE_TEXT}+(?<!\s))?\Z")
_SPECIAL = {"NaN": ".nan", "Infinity": ".inf", "-Infinity": "-.inf"}
_STR, _MAP, _SEQ = (Tag(suffix=f"tag:yaml.org,2002:{name}") for name in ("str", "map", "seq"))


def format_yaml(value: Any) -> str:
    """Return plain data as a YAML document in which every reader reads texts as texts."""
    yaml = YAML(typ="rt", pure=True)
    yaml.width = 1 << 30  # a folded line would come back as other text
    yaml.indent(mapping=2, sequence=4, offset=2)
    stream = io.StringIO()
    yaml.emit(_emit_document(value), stream)
    return stream.getvalue()


def _emit_document(value: Any) -> Iterator[Event]:
    yield StreamStartEvent()
    yield DocumentStartEvent(explicit=False)
    # A text that is the whole document is quoted: ruamel does not indent a block there.
    yield from [_make_scalar(value, '"')] if isinstance(value, str) else _emit_node(value)
    yield DocumentEndEvent(explicit=False)
    yield StreamEndEvent()


def _emit_node(value: Any) -> Iterator[Event]:
    if isinstance(value, dict):
        yield MappingStartEvent(
            None, _MAP, implicit=True, flow_style=not value, nr_items=len(value)
        )
        for key, item in value.items():
            yield from _emit_node(key)
            yield from _emit_node(item)
        yield MappingEndEvent()
    elif isinstance(value, list):
        yield SequenceStartEvent(None, _SEQ, implicit=True, flow_style=not value)
        for item in value:
            yield from _emit_node(item)
        yield SequenceEndEvent()
    elif isinstance(value, str):
        yield _make_scalar(value, _choose_style(value))
    elif isinstance(value, OpaqueValue) and value.text[:1] in {"[", "{"}:
        yield from _emit_node(parse_flat(value.text))
    elif isinstance(value, OpaqueValue):
        yield _make_scalar(_SPECIAL.get(value.text, value.text), "")
    else:
        yield _make_scalar(
            json.dumps(value) if value is None or isinstance(value, bool) else str(value), ""
        )


def _make_scalar(text: str, style: str) -> Event:
    return ScalarEvent(None, _STR, (not style, bool(style), True), text, style=style)


def _choose_style(text: str) -> str:
    # Lines of plain text read best as a block; anything that could be misread is quoted.
    if "\n" in text and _BLOCK.match(text):
        return "|"
    return (
        ""
        if _PLAIN.fullmatch(text) and not _RETYPED.fullmatch(text) and not _INDICATORS.search(text)
        else '"'
    )


def write_yaml(value: Any, *, header: str = "") -> str:
    """Return `value` as a YAML document after `header`, which is comment lines.

    Raises `RefusedError` if it reads back different.
    """
    text = header + format_yaml(value)
    return _require_equal(text, equal=read_yaml(text, "<new file>").value == value)


def write_legacy_yaml(value: Any) -> str:
    """Return `value` as a YAML document that `read_legacy_yaml` reads back equal.

    Its keys need not be texts.
    """
    text = format_yaml(value)
    return _require_equal(text, equal=read_legacy_yaml(text, "<new file>").value == value)


def _require_equal(text: str, *, equal: bool) -> str:
    if not equal:
        raise RefusedError("a value cannot be written as YAML without changing it")
    return text
