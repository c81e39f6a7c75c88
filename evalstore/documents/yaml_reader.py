"""Reads YAML 1.2 (core schema) from the events of PyYAML's C parser, which are fast, flat and carry positions.

No object is ever constructed from a tag: only mappings, lists, texts, numbers, bools and null are read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evalstore.documents.document import (
    DEPTH_LIMIT,
    DIGIT_LIMIT,
    NODE_LIMIT,
    Document,
    LazySpans,
    Pointer,
    Span,
    check_text,
    parse_number,
)
from evalstore.errors import LimitError, LoadError, Place

_TAB = "indent with spaces: YAML does not allow tabs"
_UNCLOSED = "it is never closed: quote a string that begins with # or contains a comma or a bracket"
# What the parser says -> what to do; that it cannot name what it looked for, has to do with where it stopped.
_HINTS = {
    "found a tab character that violates indentation": _TAB,
    "found a tab character where an indentation space is expected": _TAB,
    "found unknown escape character": "in double quotes a backslash begins an escape: use single quotes, as in '\\d+'",
    "found unexpected end of stream": "this quotation mark is never closed",
    "found unexpected document separator": "this quotation mark is never closed",
    "did not find expected ',' or ']'": _UNCLOSED,
    "did not find expected ',' or '}'": _UNCLOSED,
    "did not find expected '-' indicator": "start all items of a list in the same column, each with - and a space",
    "did not find expected key": "start all keys of a mapping in one column, and write nothing after a quoted string",
    "did not find expected alphabetic or numeric character": "a string that begins with * or & needs quotes",
    "could not find expected ':'": "end a key with a colon and a space, and indent every line of a quoted string",
    "block sequence entries are not allowed in this context": "start the list on the line below its key",
}
# Where these end, nothing is wrong: the slip is where they begin.
_BEGINNINGS = frozenset(
    {
        "while scanning a quoted scalar",
        "while parsing a flow sequence",
        "while parsing a flow mapping",
        "while scanning a simple key",
    }
)
_NO_EXPECTED_KEY = "did not find expected key"
_CUT_SHORT = frozenset({_NO_EXPECTED_KEY, "did not find expected ',' or ']'", "did not find expected ',' or '}'"})
_APOSTROPHE = re.compile(r"'[^']*\w'\w")
# A value in brackets with more behind it, as a pattern has.
_BRACKETED = re.compile(r"(?:: |- )([\[{])[^\]}]*[\]}]+[^\s,\]}]")
# libyaml 0.2.6, of PyYAML 6.0.4, ends at 1,000 levels, and reads so far ahead that it notices before our readers do.
_TOO_DEEP = "exceeded maximum nesting depth"
_COLON, _NO_TOKEN = "mapping values are not allowed in this context", "found character that cannot start any token"


def explain_yaml_error(error: Any, text: str, file: str, depth_limit: int) -> LoadError:
    """Return the error of YAML's parser (a `yaml.YAMLError`) with its place and a hint; `depth_limit` is our own."""
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "cannot be read"
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    if getattr(error, "context", None) in _BEGINNINGS and error.context_mark:
        mark = error.context_mark
    if mark is None:
        return LoadError(f"not YAML: {problem}", place=Place(file))
    if problem == _TOO_DEEP:
        place = Place(file, mark.line + 1, mark.column + 1)
        return LimitError(f"nested deeper than {depth_limit} levels", place=place)
    line = text.split("\n")[mark.line] if mark.line <= text.count("\n") else ""
    hint = (
        _hint_at_text(problem, line)
        or _HINTS.get(problem)
        or _hint_at_place(problem, line[: mark.column], line[mark.column : mark.column + 1])
    )
    return LoadError(f"not YAML: {problem}", place=Place(file, mark.line + 1, mark.column + 1), hint=hint)


def _hint_at_text(problem: str, line: str) -> str | None:
    """Return what to do about a text that YAML takes for something else; None where there is none in the line."""
    if problem in _CUT_SHORT and _APOSTROPHE.search(line):
        return "double an apostrophe within '…', as in 'It''s fine'; or use \"…\""
    if problem == _NO_EXPECTED_KEY and (found := _BRACKETED.search(line)):
        return f"a string that begins with {found[1]} needs quotes"
    return None


def _hint_at_place(problem: str, before: str, char: str) -> str | None:
    if problem == _COLON:
        if ": " in before:
            return "a string with a colon needs quotes"
        return "it is indented too far, or a key above has no colon"
    if problem == _NO_TOKEN:
        return _TAB if char == "\t" else f"a string that begins with {char} needs quotes"
    return None


NOT_PLAIN: Any = object()  # what `read_plain_value` returns for a text that it does not read

# The first characters of unquoted scalars that may mean something other than text.
TYPED_STARTS = frozenset("~nNtTfF+-.0123456789")
# Unquoted words that are not texts.
PLAIN_WORDS: Mapping[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
SPECIAL_NUMBER = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_NO_PLAIN_KEY: Any = object()
_UNPLACED = Place("")


def may_be_typed(text: str) -> bool:
    """Whether an unquoted scalar may mean something other than text."""
    return not text or text[0] in TYPED_STARTS


def resolve_plain_scalar(text: str, place: Place) -> object:
    """Return the value of an unquoted scalar in the core schema (YAML 1.2, 10.3.2): null, bool, number or text."""
    if text in PLAIN_WORDS:
        return PLAIN_WORDS[text]
    if _INT.fullmatch(text):
        radix = {"0o": 8, "0x": 16}.get(text[:2])
        if radix and len(text) > DIGIT_LIMIT:
            raise LoadError(f"a number has more than {DIGIT_LIMIT} digits", place=place)
        return int(text, radix) if radix else parse_number(text, place)
    if _FLOAT.fullmatch(text):
        return parse_number(text, place)
    if SPECIAL_NUMBER.fullmatch(text):
        raise LoadError(f"{text} is not a finite number", place=place, hint="quote it if it is a string")
    return text


def read_plain_value(text: str) -> Any:
    """Return the value of a YAML text, or `NOT_PLAIN` where it has an anchor, an alias, a tag or anything amiss.

    It finds what reading with positions finds, in half of the time; what that refuses is `NOT_PLAIN` here.
    """
    if not text:  # a store without settings does not load the parser for them
        return None
    import yaml
    from yaml._yaml import CParser

    parser = CParser(text)
    try:
        return _build_value(parser)
    except (yaml.YAMLError, LoadError, _NotPlainError):
        return NOT_PLAIN
    finally:
        parser.dispose()


class _NotPlainError(Exception):
    """Something that only reading with positions reads or refuses."""


# The class of an event that opens a container -> the container. Of the others only what is an item is of interest.
_OPENED: dict[str, type] = {"MappingStartEvent": dict, "SequenceStartEvent": list}
_CLOSING = frozenset({"MappingEndEvent", "SequenceEndEvent"})
_SILENT = frozenset({"StreamStartEvent", "StreamEndEvent", "DocumentStartEvent", "DocumentEndEvent"})


def _build_value(parser: Any) -> Any:  # noqa: PLR0912  # the loop over every event of every file: calls would double it
    root: list[Any] = []
    container: Any = root
    key = _NO_PLAIN_KEY  # of the open mapping; in a list there is none
    stack: list[tuple[Any, Any]] = []
    nodes = 0
    next_event = parser.get_event
    while (event := next_event()) is not None:
        name = type(event).__name__
        if name in _SILENT:
            if root and name == "DocumentStartEvent":
                raise _NotPlainError
            continue
        if name in _CLOSING:
            value, nodes = container, nodes + len(container)
            container, key = stack.pop()
        elif event.anchor is not None or event.tag is not None:  # an alias, too
            raise _NotPlainError
        elif key is _NO_PLAIN_KEY and type(container) is dict:
            key = event.value if name == "ScalarEvent" else _NO_PLAIN_KEY
            if key is _NO_PLAIN_KEY or key == "<<" or key in container:
                raise _NotPlainError
            continue
        elif make := _OPENED.get(name):
            stack.append((container, key))
            if len(stack) >= DEPTH_LIMIT:
                raise _NotPlainError
            container, key = make(), _NO_PLAIN_KEY
            continue
        else:
            value = event.value
            if event.implicit[0] and may_be_typed(value):
                value = resolve_plain_scalar(value, _UNPLACED)
        if key is _NO_PLAIN_KEY:
            container.append(value)
        else:
            container[key], key = value, _NO_PLAIN_KEY
    if nodes >= NODE_LIMIT:
        raise _NotPlainError
    return root[0] if root else None


if TYPE_CHECKING:
    from evalstore.documents.document_builder import DocumentBuilder

    _KeyTaker = Callable[[Any, Span, DocumentBuilder], None]

LIMIT = 1 << 20
LEGACY_LIMIT = 8 << 20  # about two seconds: as long as a file with as many values as NODE_LIMIT allows

LEGACY_DEPTH = 300  # about where PyYAML ends
_CONFLICT = re.compile(r"^<{7} ", re.MULTILINE)
_CORE = "tag:yaml.org,2002:"
_TEXT_TAGS = frozenset({"!", _CORE + "str"})
_CONTAINERS: dict[str, tuple[type, set[str | None]]] = {
    "MappingStartEvent": (dict, {None, "!", _CORE + "map"}),
    "SequenceStartEvent": (list, {None, "!", _CORE + "seq"}),
}

_new_tuple = tuple.__new__  # a NamedTuple's own is three times slower, and a file has hundreds of positions


def read_yaml(data: bytes | str, file: str) -> Document:
    """Parse one YAML document; raises `LoadError` with the place for anything that is not plain data.

    Its positions are found by a second parse, when they are first asked for.
    """
    text, bom = check_text(data, file, LIMIT)
    value = read_plain_value(text)
    # What is not the plain case is read again with positions: it is refused there, or has an anchor or a tag.
    if value is NOT_PLAIN:
        return _parse_yaml(text, file, bom=bom)
    read = _PositionReader(text)
    return Document(file, text, value, LazySpans(read.find_spans), LazySpans(read.find_key_spans), bom)


@dataclass(slots=True)
class _PositionReader:
    """Reads the positions of a text once, for values and keys."""

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
    """Parse one YAML document of another tool: larger, with keys that are not texts, and with merge keys expanded.

    Of a key that stands twice the last counts, as for PyYAML; what no artifact can hold becomes an `OpaqueValue`.
    """
    text, bom = check_text(data, file, LEGACY_LIMIT)
    return _parse_yaml(text, file, bom=bom, loose=True)


def _parse_yaml(text: str, file: str, *, bom: bool, loose: bool = False) -> Document:
    import yaml
    from yaml._yaml import CParser

    # Parser events only: no constructor of PyYAML runs, so no tag can make an object.
    from evalstore.documents.document_builder import DocumentBuilder

    builder = DocumentBuilder(file, text, legacy=loose, depth_limit=LEGACY_DEPTH if loose else DEPTH_LIMIT)
    parser = CParser(text)
    take_key = _add_any_key if loose else _add_plain_key
    try:
        while (event := parser.get_event()) is not None:
            if handle := _HANDLERS.get(type(event).__name__):
                handle(event, builder, take_key)
    except yaml.YAMLError as error:
        raise _find_merge_conflict(text, file) or explain_yaml_error(error, text, file, builder.depth_limit) from None
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
            f"the tag {event.tag} is not supported", place=builder.locate(span), hint="evalstore reads only plain data"
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
        raise LoadError("a second document begins here", place=place, hint="keep one document per file")


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
        raise LoadError("merge keys (<<) are not supported", place=builder.locate(span), hint="write the keys out")
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
    if event.tag is not None and event.tag not in {_CORE + name for name in ("null", "bool", "int", "float")}:
        raise LoadError(f"the tag {event.tag} is not supported", place=place, hint="evalstore reads only plain data")
    if builder.legacy and not builder.wants_key and SPECIAL_NUMBER.fullmatch(text):
        from evalstore.documents.document import OpaqueValue

        return OpaqueValue("NaN" if text.lower() == ".nan" else "-Infinity" if text[0] == "-" else "Infinity")
    value = resolve_plain_scalar(text, place)
    if event.tag is not None and isinstance(value, str):
        raise LoadError(f"{text!r} does not fit its tag {event.tag}", place=place)
    return value


def _make_span(event: Any) -> Span:
    start = event.start_mark
    return _new_tuple(Span, (start.line + 1, start.column + 1, start.index, event.end_mark.index))


def _find_merge_conflict(text: str, file: str) -> LoadError | None:
    marker = _CONFLICT.search(text)
    if marker is None:
        return None
    place = Place(file, text.count("\n", 0, marker.start()) + 1, 1)
    hint = "remove the markers, or take one side whole (git checkout --ours or --theirs), and edit again"
    return LoadError("holds a merge conflict", place=place, hint=hint)
