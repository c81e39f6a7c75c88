"""Reads the value of a YAML text in its plainest form, line by line: three times as fast as a parser of all YAML.

That form: block mappings and lists, scalars of one line, scalars in brackets or braces, literal blocks, comment lines.
"""

from __future__ import annotations

import re
from typing import Any

from evalstore.documents.document import DEPTH_LIMIT, NODE_LIMIT
from evalstore.documents.yaml_values import NOT_PLAIN, may_be_typed, resolve_plain_scalar
from evalstore.errors import LoadError, Place

_KEY = r"[A-Za-z_][A-Za-z0-9_.-]{0,63}+"
_QUOTED = r"""(?:"([^"\\\n]*)"|'([^'\n]*)')"""
# Plain, a text has neither ": " nor " #"; its first character tells what else it may be.
_PLAIN = r"[\w(/][^:#\n]*+(?:(?::(?=[^ \n])|(?<=[^ ])\#)[^:#\n]*+)*+"
# The indent, the dash of an item, a key, and a value: plain, in double or single quotes, or of another sort.
_LINE = re.compile(
    rf"""([ ]*+)(?:(-[ ]+)?(?:({_KEY}):(?:[ ]+|(?=\n)))?
    (?:({_PLAIN})|(?:{_QUOTED}|(\[[^\n]*\]|\{{[^\n]*\}}|\|-?))[ ]*)?|\#[^\n]*)\n""",
    re.VERBOSE,
)
_ITEM = re.compile(rf"[ ]*(?:({_KEY}):[ ]+)?(?:([\w(/][\w(/ .)$%+-]*)|{_QUOTED}[ ]*)(,|\Z)")
_INDENT = re.compile(r"( +)[^ \n]")
_BLANK = re.compile(r"^ +$", re.MULTILINE)
_NO_KEY: Any = object()
_ROOT = ""
_UNPLACED = Place("")


class _OddLineError(Exception):
    """Something that only a parser of all YAML reads or refuses."""


def read_plain_lines(text: str) -> Any:
    """Return the value of a YAML text (1.2, core schema); `NOT_PLAIN` for one that is not of the plainest form."""
    # Other line ends, white space and controls have rules of their own.
    if not text.endswith("\n") or not text.replace("\n", "").isprintable():
        return NOT_PLAIN
    try:
        return _read_lines(text)
    except (LoadError, _OddLineError):
        return NOT_PLAIN


def _read_lines(text: str) -> Any:  # noqa: PLR0912, PLR0915  # the loop over every line of every file
    root: dict[str, Any] = {}
    # Of the innermost open container: its column, and in a mapping the key that waits for its value.
    column: int = -1
    container: Any = root
    key: Any = _ROOT
    stack: list[tuple[int, Any]] = []
    position, end, nodes = 0, len(text), 0
    match_line = _LINE.match
    while position < end:
        if (line := match_line(text, position)) is None:
            raise _OddLineError
        position = line.end()
        spaces, dash, new_key, plain, double, single, other = line.groups()
        at, nodes = len(spaces), nodes + 1
        if dash is None and new_key is None:
            if line.end() - line.start() > at + 1 and text[line.start() + at] != "#":
                raise _OddLineError  # the second line of a text
            continue
        while column > at or (column == at and dash is None and type(container) is list):
            if key is not _NO_KEY:
                container[key] = None
                key = _NO_KEY
            column, container = stack.pop()
        if dash and not (column == at and type(container) is list):
            column, container, key = at, _open(stack, column, container, key, []), _NO_KEY
        elif dash is None and column < at:
            column, container, key = at, _open(stack, column, container, key, {}), _NO_KEY
        elif key is not _NO_KEY:
            container[key], key = None, _NO_KEY
        if dash and new_key:
            inner: dict[str, Any] = {}
            container.append(inner)
            stack.append((column, container))
            column, container = at + len(dash), inner
        if new_key in container and type(container) is dict:
            raise _OddLineError
        if other is None:
            if plain is None and double is None and single is None:
                if new_key is None:
                    raise _OddLineError
                key = new_key
                continue
            value = _read_scalar(plain, double, single)
        elif other[0] == "|":
            value, position = _read_block(text, position, column, keep_end=other == "|")
        else:
            value = _read_items(other)
            nodes += len(value)
        if new_key is None:
            container.append(value)
        else:
            container[new_key] = value
    if container is root or nodes >= NODE_LIMIT:
        raise _OddLineError
    if key is not _NO_KEY:
        container[key] = None
    return root[_ROOT]


def _open(stack: list[tuple[int, Any]], column: int, container: Any, key: Any, inner: Any) -> Any:
    """Put a new container where a key waits for one, and return it."""
    if key is _NO_KEY or len(stack) > DEPTH_LIMIT // 2:
        raise _OddLineError
    container[key] = inner
    stack.append((column, container))
    return inner


def _read_scalar(plain: str | None, double: str | None, single: str | None) -> Any:
    if plain is None:
        return double if single is None else single
    text = plain.rstrip(" ")
    return resolve_plain_scalar(text, _UNPLACED) if may_be_typed(text) else text


def _read_block(text: str, start: int, column: int, *, keep_end: bool) -> tuple[str, int]:
    """Return the text of a literal block that begins at `start`, and where it ends."""
    indent = _INDENT.match(text, start)
    if indent is None or len(indent[1]) <= column:
        raise _OddLineError
    lines = re.compile(rf"(?:{indent[1]}[^\n]*\n|\n)+").match(text, start)
    if lines is None or _BLANK.search(lines[0]):
        raise _OddLineError
    body = lines[0].replace("\n" + indent[1], "\n")[len(indent[1]) :].rstrip("\n")
    return body + ("\n" if keep_end else ""), lines.end()


def _read_items(text: str) -> Any:
    """Return a list in brackets, or a mapping in braces, of scalars."""
    items: list[Any] = []
    keys: list[str | None] = []
    position, end = 1, len(text) - 1
    while position < end:
        if (item := _ITEM.match(text, position, end)) is None:
            raise _OddLineError
        key, plain, double, single, comma = item.groups()
        items.append(_read_scalar(plain, double, single))
        keys.append(key)
        position = item.end()
        if comma and position == end:
            raise _OddLineError
    if text[0] == "[" and not any(keys):
        return items
    if text[0] == "[" or None in keys or len(set(keys)) < len(keys):
        raise _OddLineError
    return dict(zip(keys, items, strict=True))
