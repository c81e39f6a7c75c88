"""Reads YAML 1.2 (core schema) from the events of PyYAML's C parser, which have positions.

No object is ever constructed from a tag: only mappings, lists, texts, numbers, bools and null are
read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evalstore.documents.document import DEPTH_LIMIT, Document, LazySpans, Pointer, Span, check_text
from evalstore.documents.yaml_hints import explain_yaml_error
from evalstore.documents.yaml_values import (
    NOT_PLAIN,
    SPECIAL_NUMBER,
    may_be_typed,
    read_plain_value,
    resolve_plain_scalar,
)
from evalstore.errors import LoadError, Place

if TYPE_CHECKING:
    from evalstore.documents.document_builder import DocumentBuilder

    _KeyTaker = Callable[[Any, Span, DocumentBuilder], None]

LIMIT = 1 << 20
# About two seconds: as long as a file with NODE_LIMIT values takes.
LEGACY_LIMIT = 8 << 20
LEGACY_DEPTH = 300  # about where PyYAML gives up
_CONFLICT = re.compile(r"^<{7} ", re.MULTILINE)
_CORE = "tag:yaml.org,2002:"
_TEXT_TAGS = frozenset({"!", _CORE + "str"})
_SCALAR_TAGS = frozenset(_CORE + name for name in ("null", "bool", "int", "float"))
_CONTAINERS: dict[str, tuple[type, set[str | None]]] = {
    "MappingStartEvent": (dict, {None, "!", _CORE + "map"}),
    "SequenceStartEvent": (list, {None, "!", _CORE + "seq"}),
}

# A NamedTuple's own constructor is three times slower, and a file has hundreds of positions.
_new_tuple = tuple.__new__


def read_yaml(data: bytes | str, file: str) -> Document:
    """Parse one YAML document; raises `LoadError` with the place for anything but plain data.

    Its positions are found by a second parse, when they are first needed.
    """
    text, bom = check_text(data, file, LIMIT)
    value = read_plain_value(text)
    # Anything unusual is read again with positions: it is refused there, or has an anchor or a tag.
    if value is NOT_PLAIN:
        return _parse_yaml(text, file, bom=bom)
    read = _PositionReader(text)
    return Document(
        file, text, value, LazySpans(read.find_spans), LazySpans(read.find_key_spans), bom
    )


@dataclass(slots=True)
class _PositionReader:
    """Reads the positions in a text once, for values and keys."""

    text: str
    _document: Document | None = None

    def find_spans(self) -> Mapping[Pointer, Span]:
        return self._read().spans

    def find_key_spans(self) -> Mapping[Pointer, Span]:
        return self._read().key_spans

    def _read(self) -> Document:
        if self._document is None:
            self._document = _parse_yaml(self.text, "", bom=False)
        return self._document


def read_legacy_yaml(data: bytes | str, file: str) -> Document:
    """Parse one YAML document of another tool: larger, with any keys, and merge keys expanded.

    Of duplicate keys the last counts, as in PyYAML; what no artifact can hold becomes an
    `OpaqueValue`.
    """
    text, bom = check_text(data, file, LEGACY_LIMIT)
    return _parse_yaml(text, file, bom=bom, loose=True)


def _parse_yaml(text: str, file: str, *, bom: bool, loose: bool = False) -> Document:
    import yaml
    from yaml._yaml import CParser

    # Parser events only: no constructor of PyYAML runs, so no tag can make an object.
    from evalstore.documents.document_builder import DocumentBuilder

    builder = DocumentBuilder(
        file, text, legacy=loose, depth_limit=LEGACY_DEPTH if loose else DEPTH_LIMIT
    )
    parser = CParser(text)
    take_key = _add_any_key if loose else _add_plain_key
    try:
        while (event := parser.get_event()) is not None:
            if handle := _HANDLERS.get(type(event).__name__):
                handle(event, builder, take_key)
    except yaml.YAMLError as error:
        raise _find_merge_conflict(text, file) or explain_yaml_error(
            error, text, file, builder.depth_limit
        ) from None
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
        raise LoadError(
            "a key is a mapping or a list",
            place=builder.locate(span),
            hint="use plain words as keys; quote a string that begins with { or [",
        )
    if event.tag not in tags:
        raise LoadError(
            f"the tag {event.tag} is not supported",
            place=builder.locate(span),
            hint="evalstore reads only plain data",
        )
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
        raise LoadError(
            "a second document begins here", place=place, hint="keep one document per file"
        )


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
        raise LoadError(
            "merge keys (<<) are not supported",
            place=builder.locate(span),
            hint="write the keys out",
        )
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
    if tag in _TEXT_TAGS or (tag is None and not (event.implicit[0] and may_be_typed(text))):
        return text
    place = builder.locate(span)
    if tag is not None and tag not in _SCALAR_TAGS:
        raise LoadError(
            f"the tag {tag} is not supported", place=place, hint="evalstore reads only plain data"
        )
    if builder.legacy and not builder.wants_key and SPECIAL_NUMBER.fullmatch(text):
        from evalstore.documents.opaque import OpaqueValue

        return OpaqueValue(_name_special_number(text))
    value = resolve_plain_scalar(text, place)
    if tag is not None and isinstance(value, str):
        raise LoadError(f"{text!r} does not fit its tag {tag}", place=place)
    return value


def _name_special_number(text: str) -> str:
    """Return JavaScript's word for YAML's `.nan`, `.inf` or `-.inf`."""
    if text.lower() == ".nan":
        return "NaN"
    return "-Infinity" if text.startswith("-") else "Infinity"


def _make_span(event: Any) -> Span:
    start = event.start_mark
    return _new_tuple(Span, (start.line + 1, start.column + 1, start.index, event.end_mark.index))


def _find_merge_conflict(text: str, file: str) -> LoadError | None:
    marker = _CONFLICT.search(text)
    if marker is None:
        return None
    place = Place(file, text.count("\n", 0, marker.start()) + 1, 1)
    hint = (
        "remove the markers, or take one side whole (git checkout --ours or --theirs), and edit "
        "again"
    )
    return LoadError("holds a merge conflict", place=place, hint=hint)
