"""Reads YAML 1.2 (core schema) from the events of PyYAML's C parser, which are fast, flat and carry positions.

No object is ever constructed from a tag: only mappings, lists, texts, numbers, bools and null are read.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from evalstore.documents.document import DEPTH_LIMIT, DIGIT_LIMIT, Document, Span, check_text, parse_number
from evalstore.documents.document_builder import DocumentBuilder
from evalstore.documents.opaque import OpaqueValue
from evalstore.errors import LoadError, Place

LIMIT = 1 << 20
LEGACY_LIMIT = 8 << 20  # about two seconds: as long as a file with as many values as NODE_LIMIT allows

LEGACY_DEPTH = 300  # about where PyYAML ends
# The first characters of unquoted scalars that may mean something other than text.
_TYPED_STARTS = frozenset("~nNtTfF+-.0123456789")
_NULL = re.compile(r"|~|null|Null|NULL")
_BOOL = re.compile(r"true|True|TRUE|false|False|FALSE")
_INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_SPECIAL = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_CONFLICT = re.compile(r"^<{7} ", re.MULTILINE)
_CORE = "tag:yaml.org,2002:"
_TEXT_TAGS = frozenset({"!", _CORE + "str"})
_CONTAINERS: dict[str, tuple[type, set[str | None]]] = {
    "MappingStartEvent": (dict, {None, "!", _CORE + "map"}),
    "SequenceStartEvent": (list, {None, "!", _CORE + "seq"}),
}


_KeyTaker = Callable[[Any, Span, DocumentBuilder], None]
_new_tuple = tuple.__new__  # a NamedTuple's own is three times slower, and a file has hundreds of positions


def read_yaml(data: bytes | str, file: str) -> Document:
    """Parse one YAML document; raises `LoadError` with the place for anything that is not plain data."""
    return _parse_yaml(data, file, loose=False)


def read_legacy_yaml(data: bytes | str, file: str) -> Document:
    """Parse one YAML document of another tool: larger, with keys that are no texts, and with merge keys expanded.

    Of a key that stands twice the last counts, as for PyYAML; what no artifact can hold becomes an `OpaqueValue`.
    """
    return _parse_yaml(data, file, loose=True)


def _parse_yaml(data: bytes | str, file: str, *, loose: bool) -> Document:
    import yaml
    from yaml._yaml import CParser

    # Parser events only: no constructor of PyYAML runs, so no tag can make an object.
    text, bom = check_text(data, file, LEGACY_LIMIT if loose else LIMIT)
    builder = DocumentBuilder(file, text, legacy=loose, depth_limit=LEGACY_DEPTH if loose else DEPTH_LIMIT)
    parser = CParser(text)
    take_key = _add_any_key if loose else _add_plain_key
    try:
        while (event := parser.get_event()) is not None:
            if handle := _HANDLERS.get(type(event).__name__):
                handle(event, builder, take_key)
    except yaml.YAMLError as error:
        raise _find_merge_conflict(text, file) or _explain_yaml_error(error, file) from None
    finally:
        parser.dispose()
    return builder.build(bom=bom)


def _handle_scalar(event: Any, builder: DocumentBuilder, take_key: _KeyTaker) -> None:
    span = _make_span(event)
    if builder.wants_key:
        take_key(event, span, builder)
    else:
        builder.add_scalar(_resolve_scalar(event, span, builder), span, event.anchor)


def _handle_container(event: Any, builder: DocumentBuilder, _: _KeyTaker) -> None:
    kind, tags = _CONTAINERS[type(event).__name__]
    span = _make_span(event)
    if builder.wants_key:
        raise LoadError("a key is a mapping or a list", place=builder.locate(span), hint="keys are plain words")
    if event.tag not in tags:
        raise LoadError(f"the tag {event.tag} is not read", place=builder.locate(span), hint="only plain data is read")
    builder.open_container(kind(), span, event.anchor)


def _handle_end(event: Any, builder: DocumentBuilder, _: _KeyTaker) -> None:
    builder.close_container(event.end_mark.index)


def _handle_alias(event: Any, builder: DocumentBuilder, _: _KeyTaker) -> None:
    span = _make_span(event)
    if builder.wants_key:
        raise LoadError("an alias cannot be a key", place=builder.locate(span))
    builder.add_alias(event.anchor, span)


def _handle_document(event: Any, builder: DocumentBuilder, _: _KeyTaker) -> None:
    if builder.done:
        place = builder.locate(_make_span(event))
        raise LoadError("a second document begins here", place=place, hint="keep one document a file")


# The class of an event -> what it does; those of the stream, and the ends of documents, do nothing.
_HANDLERS: dict[str, Callable[[Any, DocumentBuilder, _KeyTaker], None]] = {
    "ScalarEvent": _handle_scalar,
    "MappingStartEvent": _handle_container,
    "SequenceStartEvent": _handle_container,
    "MappingEndEvent": _handle_end,
    "SequenceEndEvent": _handle_end,
    "AliasEvent": _handle_alias,
    "DocumentStartEvent": _handle_document,
}


def _add_plain_key(event: Any, span: Span, builder: DocumentBuilder) -> None:
    if _is_merge_key(event):
        raise LoadError("merge keys (<<) are not read", place=builder.locate(span), hint="write the keys out")
    builder.add_key(event.value, span)


def _add_any_key(event: Any, span: Span, builder: DocumentBuilder) -> None:
    if _is_merge_key(event):
        builder.add_merge_key(span)
    else:
        builder.add_key(_resolve_scalar(event, span, builder), span)


def _is_merge_key(event: Any) -> bool:
    return bool(event.value == "<<" and event.implicit[0])


def _resolve_scalar(event: Any, span: Span, builder: DocumentBuilder) -> object:
    text: str = event.value
    tag = event.tag
    if tag in _TEXT_TAGS or (tag is None and not (event.implicit[0] and _may_be_typed(text))):
        return text
    place = builder.locate(span)
    if event.tag is not None and event.tag not in {_CORE + name for name in ("null", "bool", "int", "float")}:
        raise LoadError(f"the tag {event.tag} is not read", place=place, hint="only plain data is read")
    if builder.legacy and not builder.wants_key and _SPECIAL.fullmatch(text):
        return OpaqueValue("NaN" if text.lower() == ".nan" else "-Infinity" if text[0] == "-" else "Infinity")
    value = resolve_plain_scalar(text, place)
    if event.tag is not None and isinstance(value, str):
        raise LoadError(f"{text!r} does not fit its tag {event.tag}", place=place)
    return value


def _may_be_typed(text: str) -> bool:
    return not text or text[0] in _TYPED_STARTS


def resolve_plain_scalar(text: str, place: Place) -> object:
    """Return the value of an unquoted scalar in the core schema (YAML 1.2, 10.3.2): null, bool, number or text."""
    if _NULL.fullmatch(text):
        return None
    if _BOOL.fullmatch(text):
        return text[0] in "tT"
    if _INT.fullmatch(text):
        radix = {"0o": 8, "0x": 16}.get(text[:2])
        if radix and len(text) > DIGIT_LIMIT:
            raise LoadError(f"a number has more than {DIGIT_LIMIT} digits", place=place)
        return int(text, radix) if radix else parse_number(text, place)
    if _FLOAT.fullmatch(text):
        return parse_number(text, place)
    if _SPECIAL.fullmatch(text):
        raise LoadError(f"{text} is no number that can be calculated with", place=place, hint="quote it if it is text")
    return text


def _make_span(event: Any) -> Span:
    start = event.start_mark
    return _new_tuple(Span, (start.line + 1, start.column + 1, start.index, event.end_mark.index))


def _find_merge_conflict(text: str, file: str) -> LoadError | None:
    marker = _CONFLICT.search(text)
    if marker is None:
        return None
    place = Place(file, text.count("\n", 0, marker.start()) + 1, 1)
    hint = "take the markers out; or take one side whole (git checkout --ours or --theirs), and edit again"
    return LoadError("holds a merge conflict", place=place, hint=hint)


def _explain_yaml_error(error: Any, file: str) -> LoadError:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    place = Place(file, mark.line + 1, mark.column + 1) if mark else Place(file)
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "cannot be read"
    return LoadError(f"not YAML: {problem}", place=place)
