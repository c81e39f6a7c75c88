"""Reads JSON strictly (RFC 8259): documents with positions, and rows at C speed.

Duplicate keys and NaN are refused.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from json.decoder import scanstring  # type: ignore[attr-defined]  # in every CPython, in no stub
from math import isfinite
from typing import Any, NoReturn

from evalstore.documents.document import (
    DEPTH_LIMIT,
    NODE_LIMIT,
    Document,
    Span,
    decode_utf8,
    parse_number,
)
from evalstore.documents.document_builder import DocumentBuilder
from evalstore.documents.opaque import OPAQUE_DEPTH, OpaqueValue
from evalstore.errors import LimitError, LoadError, Place

LIMIT = 64 << 20
LINE_LIMIT = 4 << 20
LEGACY_DEPTH = 900  # Python's own decoder gives up a little deeper

_TOKENS = r'[{}\[\]:,"]|-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][+-]?[0-9]++)?+|true|false|null'
_TOKEN = re.compile(rf"[ \t\n\r]*+({_TOKENS})")
_LEGACY_TOKEN = re.compile(rf"[ \t\n\r]*+({_TOKENS}|NaN|-?Infinity)")  # like Python's decoder
_SPACE = re.compile(r"[ \t\n\r]*+")
# No escape, and no character that JSON text cannot have.
_PLAIN_ID = re.compile(rb'[ \t]*+\{[ \t]*+"id"[ \t]*+:[ \t]*+"([^"\\\x00-\x1f]++)"')
_CONSTANT = re.compile(r'"(?:[^"\\]++|\\.)*+"|-?Infinity|NaN', re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPED = re.compile(r"\\u[dD][89a-fA-F]")
_WORDS = {"true": True, "false": False, "null": None}
_SCALARS = frozenset({str, int, Decimal, bool, type(None)})
_OPEN: dict[str, type] = {"{": dict, "[": list}
_PUNCTUATION = set('{}[]:,"')

# The states of the parser, each named as the message says what it expected.
_VALUE, _FIRST_VALUE = "a value", "a value or ]"
_KEY, _FIRST_KEY = "a key", "a key or }"
_COLON, _NEXT_ITEM, _NEXT_PAIR, _END = "a colon", "a comma or ]", "a comma or }", "the end"
_ALLOWED = {
    _VALUE: set('{["0'),
    _FIRST_VALUE: set('{["0]'),
    _KEY: {'"'},
    _FIRST_KEY: set('"}'),
    _COLON: {":"},
    _NEXT_ITEM: set(",]"),
    _NEXT_PAIR: set(",}"),
}
_AFTER = {"": _END, "{": _NEXT_PAIR, "[": _NEXT_ITEM}


def read_json(data: bytes | str, file: str) -> Document:
    """Parse one JSON document with the position of every value.

    Anything else is a `LoadError` at its place.
    """
    return _read_document(data, file, DocumentBuilder(file, ""))


def read_legacy_json(data: bytes | str, file: str) -> Document:
    """Parse one JSON document of another tool like Python: the last of duplicate keys counts.

    What no artifact can hold (NaN, too deep nesting) becomes an `OpaqueValue`.
    """
    return _read_document(
        data, file, DocumentBuilder(file, "", legacy=True, depth_limit=LEGACY_DEPTH)
    )


def _read_document(data: bytes | str, file: str, builder: DocumentBuilder) -> Document:
    if len(data) > LIMIT:
        raise LimitError(f"larger than {LIMIT:,} bytes, the limit for one file", place=Place(file))
    text = decode_utf8(data, file) if isinstance(data, bytes) else data
    bom = text.startswith("\ufeff")
    text = text[1:] if bom else text
    builder.text = text
    _parse_json(_JsonText(text, file), builder)
    return builder.build(bom=bom)


def read_value(text: str, file: str) -> Any:
    """Parse one JSON text as plain data, mostly at C speed.

    It accepts and refuses exactly what `read_json` does.
    """
    # A text this short cannot have too many values; what the fast decoder refuses, the strict
    # reader explains.
    if len(text) < 2 * NODE_LIMIT and not _SURROGATE.search(text):
        with suppress(json.JSONDecodeError, LoadError, RecursionError):
            bare, place = text.removeprefix("\ufeff"), Place(file)
            value = decode_row(bare, place)
            check_row(value, bare, place)
            if not _is_deeper(value, bare, DEPTH_LIMIT - 1):
                return value
    return read_json(text, file).value


def read_javascript_value(text: str) -> Any:
    """Parse one JSON text like JavaScript: of equal keys the last counts, numbers are doubles.

    Half of a surrogate pair becomes U+FFFD, and a number beyond all doubles an `OpaqueValue`.
    """
    try:
        value = _JAVASCRIPT_DECODER.decode(text)
    except json.JSONDecodeError as error:
        place = Place("output", error.lineno)
        raise LoadError(f"not JSON: {describe_decode_error(error)}", place=place) from None
    except RecursionError:
        raise LimitError(f"nested deeper than {DEPTH_LIMIT} levels") from None
    if _is_deeper(value, text, DEPTH_LIMIT):
        raise LimitError(f"nested deeper than {DEPTH_LIMIT} levels")
    return _replace_halves(value) if _ESCAPED.search(text) else value


def _replace_halves(value: Any) -> Any:
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_replace_halves(item) for item in value]
    if isinstance(value, dict):
        return {_replace_halves(key): _replace_halves(item) for key, item in value.items()}
    return value


def _read_double(lexeme: str) -> int | Decimal | OpaqueValue:
    number = float(lexeme)
    return parse_number(repr(number)) if isfinite(number) else OpaqueValue(lexeme)


def read_leading_value(text: str, start: int, file: str) -> tuple[Any, int]:
    """Parse the JSON value that begins at an offset, and return it with the offset of its end.

    Accepts exactly what `read_value` does; raises `LoadError` for anything else.
    """
    try:
        value, end = _scan(text, start)
        check_row(value, text[start:end], Place(file))
    except (StopIteration, json.JSONDecodeError):
        raise LoadError("not JSON", place=Place(file)) from None
    except RecursionError:
        raise LimitError(f"nested deeper than {DEPTH_LIMIT} levels", place=Place(file)) from None
    return value, end


def read_row(data: bytes, file: str, line: int) -> Any:
    """Parse one line of JSONL as plain data, at C speed.

    A broken line is a `LoadError` at its place.
    """
    if len(data) > LINE_LIMIT:
        raise LimitError(f"a line is longer than {LINE_LIMIT:,} bytes", place=Place(file, line))
    text = decode_utf8(data, file, line).removeprefix("\ufeff")
    # A place is made only if needed: most rows cause no message.
    try:
        value = _decode_row(text)
    except LoadError as error:
        error.place = Place(file, line)
        raise
    except json.JSONDecodeError as error:
        raise LoadError(
            f"not JSON: {describe_decode_error(error)}", place=Place(file, line, error.colno)
        ) from None
    except RecursionError:
        raise LimitError(
            f"nested deeper than {DEPTH_LIMIT} levels", place=Place(file, line)
        ) from None
    if "\\" in text or not _is_flat(value):
        check_row(value, text, Place(file, line))
    return value


def _is_flat(value: Any) -> bool:
    """Whether nothing in a value is nested, as in most rows.

    Counting brackets in the text would include those within strings.
    """
    return isinstance(value, dict) and _SCALARS.issuperset(map(type, value.values()))


def find_plain_id(data: bytes) -> str | None:
    """Return the id of a line of JSON without parsing it.

    Returns None unless the id comes first and is plainly written.
    """
    found = _PLAIN_ID.match(data)
    try:
        return found[1].decode() if found else None
    except UnicodeDecodeError:  # whoever reads the row reports it
        return None


def read_legacy_row(data: bytes, file: str, line: int) -> Document:
    """Parse one line of another tool's JSONL, like `read_legacy_json`.

    A broken line is a `LoadError`.
    """
    problem: LoadError | None = None
    # Few rows need the slower reader: those that the strict one refuses, and those that may be
    # nested too deep.
    try:
        value = read_row(data, file, line)
        if data.count(b"[") + data.count(b"{") <= OPAQUE_DEPTH:
            return Document(file, "", value, {}, {})
    except LoadError as error:
        if len(data) > LINE_LIMIT:
            raise
        problem = error
    try:
        document = read_legacy_json(data, file)
    except LoadError as error:
        raise problem or error from None
    doubled = tuple(key._replace(first=line, last=line) for key in document.doubled)
    return replace(document, text="", doubled=doubled, spans={}, key_spans={})


def check_row(value: Any, text: str, place: Place) -> None:
    """Raise `LoadError` for what a decoder accepts: half a surrogate pair, or too deep nesting."""
    escaped = "\\" in text and _ESCAPED.search(text)
    if escaped and _SURROGATE.search(json.dumps(value, ensure_ascii=False, default=str)):
        raise LoadError("half a surrogate pair is not text", place=place)
    if _is_deeper(value, text, DEPTH_LIMIT):
        raise LimitError(f"nested deeper than {DEPTH_LIMIT} levels", place=place)


def replace_constants(text: str) -> str:
    """Return JSON with null for NaN and the infinities, which other tools write for no number."""
    if "NaN" not in text and "Infinity" not in text:
        return text
    return _CONSTANT.sub(lambda found: found[0] if found[0][0] == '"' else "null", text)


def decode_row(text: str, place: Place) -> Any:
    """Decode JSON at C speed with exact numbers.

    A duplicate key and NaN are a `LoadError` at `place`.
    """
    try:
        return _decode_row(text)
    except LoadError as error:
        error.place = place
        raise


def _decode_row(text: str) -> Any:
    try:
        value, end = _scan(text, 0)
    except StopIteration:
        end = -1
    # The decoder skips surrounding space, and says what is wrong.
    return value if end == len(text) else _DECODER.decode(text)


def describe_decode_error(error: json.JSONDecodeError) -> str:
    """Return a decoder's message for use in a sentence, without its trailing ` at`."""
    return (error.msg[0].lower() + error.msg[1:]).removesuffix(" at").removesuffix(" starting")


def _build_object(items: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(items)
    if len(mapping) != len(items):
        counts = Counter(key for key, _ in items)
        duplicate = next(key for key, count in counts.items() if count > 1)
        raise LoadError(f"duplicate key {duplicate!r}")
    return mapping


def _refuse_constant(word: str) -> NoReturn:
    raise LoadError(f"{word} is not JSON")


# Made once: making a decoder takes as long as reading a row.
_DECODER = json.JSONDecoder(
    object_pairs_hook=_build_object,
    parse_float=parse_number,
    parse_int=parse_number,
    parse_constant=_refuse_constant,
)
_JAVASCRIPT_DECODER = json.JSONDecoder(
    parse_float=_read_double, parse_int=_read_double, parse_constant=_refuse_constant
)
_scan = _DECODER.scan_once  # type: ignore[attr-defined]  # in every CPython, in no stub


def _is_deeper(value: Any, text: str, levels: int) -> bool:
    """Whether a value is nested deeper than so many levels, which takes as many brackets."""
    # Most texts have few brackets, and `count` would look at each of their characters.
    count = 0
    for bracket in "[{":
        at = text.find(bracket)
        while at >= 0:
            count += 1
            if count > levels:
                return _measure_depth(value) > levels
            at = text.find(bracket, at + 1)
    return False


def _measure_depth(value: Any) -> int:
    # Level by level, because recursion would end at the depth that is to be measured.
    level, height = [value], 0
    while level := [
        child for node in level if isinstance(node, (dict, list)) for child in _list_children(node)
    ]:
        height += 1
    return height


def _list_children(node: dict[str, Any] | list[Any]) -> Iterator[Any]:
    return iter(node.values() if isinstance(node, dict) else node)


class _JsonText:
    """A JSON text with the offsets of its lines, which give line and column of any offset."""

    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.file = file
        self.lines = [0, *(match.end() for match in re.finditer("\n", text))]

    def build_span(self, start: int, end: int) -> Span:
        line = bisect_right(self.lines, start)
        return Span(line, start - self.lines[line - 1] + 1, start, end)

    def skip_space(self, offset: int) -> int:
        space = _SPACE.match(self.text, offset)
        return space.end() if space else offset

    def refuse_at(self, offset: int, message: str) -> NoReturn:
        span = self.build_span(offset, offset)
        raise LoadError(f"not JSON: {message}", place=Place(self.file, span.line, span.column))


def _parse_json(source: _JsonText, builder: DocumentBuilder) -> None:
    # A table-driven parser: `state` says which tokens may come, `open_` has the unclosed brackets.
    position, state, open_ = 0, _VALUE, ""
    token_pattern, read_scalar = (
        (_LEGACY_TOKEN, _read_legacy_scalar) if builder.legacy else (_TOKEN, _read_scalar)
    )
    while state != _END:
        match = token_pattern.match(source.text, position)
        start = match.start(1) if match else source.skip_space(position)
        if match is None or _classify_token(match[1]) not in _ALLOWED[state]:
            source.refuse_at(start, f"expected {state}")
        token, position = match[1], match.end()
        if token in _OPEN:
            builder.open_container(_OPEN[token](), source.build_span(start, position))
            open_ += token
            state = _FIRST_KEY if token == "{" else _FIRST_VALUE
            continue
        if token in ":,":
            state = _KEY if token == "," and open_[-1] == "{" else _VALUE
            continue
        if token == '"':
            position = _parse_string(source, start, builder)
            state = _COLON if state in {_KEY, _FIRST_KEY} else _AFTER[open_[-1:]]
            continue
        if token in "}]":
            builder.close_container(position)
            open_ = open_[:-1]
        else:
            span = source.build_span(start, position)
            builder.add_scalar(read_scalar(token, builder.locate(span)), span)
        state = _AFTER[open_[-1:]]
    if (end := source.skip_space(position)) != len(source.text):
        source.refuse_at(end, "unexpected text after the value")


def _read_scalar(token: str, place: Place) -> object:
    return _WORDS[token] if token in _WORDS else parse_number(token, place)


def _read_legacy_scalar(token: str, place: Place) -> object:
    try:
        return OpaqueValue(token) if token[-1] in "Ny" else _read_scalar(token, place)
    except LimitError:
        return OpaqueValue(token)


def _classify_token(token: str) -> str:
    return token if token in _PUNCTUATION else "0"


def _parse_string(source: _JsonText, start: int, builder: DocumentBuilder) -> int:
    try:
        value, end = scanstring(source.text, start + 1, True)
    except json.JSONDecodeError as error:
        source.refuse_at(error.pos, describe_decode_error(error))
    if _SURROGATE.search(value):
        source.refuse_at(start, "half a surrogate pair is not text")
    take = builder.add_key if builder.wants_key else builder.add_scalar
    take(value, source.build_span(start, end))
    return int(end)
