"""Reads the plain values of YAML's core schema, without positions, as nearly every file needs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from evalstore.documents.document import DEPTH_LIMIT, DIGIT_LIMIT, NODE_LIMIT, parse_number
from evalstore.errors import LoadError, Place

NOT_PLAIN: Any = object()  # what `read_plain_value` returns for a text that it cannot read
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
# The class of an event that opens a container -> the container. Of the others, only items matter.
_OPENED: dict[str, type] = {"MappingStartEvent": dict, "SequenceStartEvent": list}
_CLOSING = frozenset({"MappingEndEvent", "SequenceEndEvent"})
_SILENT = frozenset(
    {"StreamStartEvent", "StreamEndEvent", "DocumentStartEvent", "DocumentEndEvent"}
)


def may_be_typed(text: str) -> bool:
    """Whether an unquoted scalar may mean something other than text."""
    return not text or text[0] in TYPED_STARTS


def resolve_plain_scalar(text: str, place: Place) -> object:
    """Return the value of an unquoted scalar in the core schema: null, bool, number or text.

    See YAML 1.2, 10.3.2.
    """
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
        raise LoadError(
            f"{text} is not a finite number", place=place, hint="quote it if it is a string"
        )
    return text


def read_plain_value(text: str) -> Any:
    """Return the value of a YAML text, or `NOT_PLAIN` for an anchor, an alias, a tag or an error.

    It finds what reading with positions finds, in half the time; what that refuses is `NOT_PLAIN`
    here.
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
    """Something that only reading with positions can read or refuse."""


# The loop is over every event of every file: calls would double its time.
def _build_value(parser: Any) -> Any:  # noqa: PLR0912
    root: list[Any] = []
    container: Any = root
    key = _NO_PLAIN_KEY  # of the open mapping; a list has none
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
