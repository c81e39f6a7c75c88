"""Reads the value of a YAML text in its plainest form, line by line: three times as fast as a parser of all YAML.

That form: block mappings and lists, scalars of one line, scalars in brackets or braces, literal blocks, comments.
"""

from __future__ import annotations

import re
from itertools import accumulate
from typing import Any

from evalstore.documents.document import DEPTH_LIMIT, NODE_LIMIT
from evalstore.documents.yaml_values import NOT_PLAIN, TYPED_STARTS, resolve_plain_scalar
from evalstore.errors import LoadError, Place

_KEY = r"[A-Za-z_][A-Za-z0-9_.-]{0,63}+"
_QUOTED = r"""(?:"(?:[^"\\\n]|\\["\\/nt])*+"|'(?:[^'\n]|'')*+')"""
# Plain, a text has neither ": " nor " #"; its first character tells what else it may be.
_PLAIN = r"[\w(/\\^$.+][^:#\n]*+(?:(?::(?=[^ \n])|(?<=[^ ])\#)[^:#\n]*+)*+"
# The indent, the dash of an item, a key, and a value: plain, or quoted, in brackets or braces, or the mark of a block.
# The last alternative is a line of any other form, so that one call finds all lines.
_LINE = re.compile(
    rf"""([ ]*+)(?:(-[ ]+)?(?:({_KEY}):(?:[ ]+|(?=\n)))?
    (?:({_PLAIN})|({_QUOTED}|\[[^\n]*\]|\{{[^\n]*\}}|\|-?)[ ]*)?(?:(?<=[ ])\#[^\n]*)?|\#[^\n]*)\n|([^\n]*\n)""",
    re.VERBOSE,
)
_ITEM = re.compile(rf"[ ]*(?:({_KEY}):[ ]+)?(?:([\w(/][\w(/ .)$%+-]*)|({_QUOTED})[ ]*)(,|\Z)")
_INDENT = re.compile(r"( +)[^ \n]")
_BLANK = re.compile(r"^ +$", re.MULTILINE)
_NO_KEY: Any = object()
_ROOT = ""
_QUOTES = frozenset("'\"")
_ESCAPE = re.compile(r"\\(.)")
_ESCAPES = {"n": "\n", "t": "\t"}  # the other ones stand for themselves
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
    lines = _LINE.findall(text)
    starts: list[int] = []
    after_block = 0
    for number, (spaces, dash, new_key, plain, other, odd) in enumerate(lines):
        if number < after_block:
            continue
        if odd:
            raise _OddLineError
        if not dash and not new_key:
            if plain or other:
                raise _OddLineError  # the second line of a text
            continue
        at = len(spaces)
        while column > at or (column == at and not dash and type(container) is list):
            if key is not _NO_KEY:
                container[key] = None
                key = _NO_KEY
            column, container = stack.pop()
        if dash and not (column == at and type(container) is list):
            column, container, key = at, _open(stack, column, container, key, []), _NO_KEY
        elif not dash and column < at:
            column, container, key = at, _open(stack, column, container, key, {}), _NO_KEY
        elif key is not _NO_KEY:
            container[key], key = None, _NO_KEY
        if dash and new_key:
            inner: dict[str, Any] = {}
            container.append(inner)
            stack.append((column, container))
            column, container = at + len(dash), inner
        if plain:
            value = _read_plain(plain)
        elif not other:
            if not new_key or new_key in container:
                raise _OddLineError
            key = new_key
            continue
        elif other[0] in _QUOTES:
            value = _read_quoted(other)
        elif other[0] == "|":
            starts = starts or _list_starts(text)
            value, count = _read_block(text, starts[number + 1], column, keep_end=other == "|")
            after_block = number + 1 + count
        else:
            value = _read_items(other)
        if not new_key:
            container.append(value)
        elif new_key in container:
            raise _OddLineError
        else:
            container[new_key] = value
    # Every line is a node, and every comma may be one more.
    if container is root or len(lines) + text.count(",") >= NODE_LIMIT:
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


def _read_plain(plain: str) -> Any:
    text = plain.rstrip(" ")
    return resolve_plain_scalar(text, _UNPLACED) if text[0] in TYPED_STARTS else text


def _read_quoted(quoted: str) -> str:
    text = quoted[1:-1]
    if quoted[0] == "'":
        return text.replace("''", "'")
    return _ESCAPE.sub(lambda match: _ESCAPES.get(match[1], match[1]), text) if "\\" in text else text


def _list_starts(text: str) -> list[int]:
    """Return where each line begins."""
    return list(accumulate((len(line) + 1 for line in text.split("\n")), initial=0))


def _read_block(text: str, start: int, column: int, *, keep_end: bool) -> tuple[str, int]:
    """Return the text of a literal block that begins at `start`, and the number of its lines."""
    indent = _INDENT.match(text, start)
    if indent is None or len(indent[1]) <= column:
        raise _OddLineError
    lines = re.compile(rf"(?:{indent[1]}[^\n]*\n|\n)+").match(text, start)
    if lines is None or _BLANK.search(lines[0]):
        raise _OddLineError
    body = lines[0].replace("\n" + indent[1], "\n")[len(indent[1]) :].rstrip("\n")
    return body + ("\n" if keep_end else ""), lines[0].count("\n")


def _read_items(text: str) -> Any:
    """Return a list in brackets, or a mapping in braces, of scalars."""
    items: list[Any] = []
    keys: list[str | None] = []
    position, end = 1, len(text) - 1
    while position < end:
        if (item := _ITEM.match(text, position, end)) is None:
            raise _OddLineError
        key, plain, quoted, comma = item.groups()
        items.append(_read_plain(plain) if plain else _read_quoted(quoted))
        keys.append(key)
        position = item.end()
        if comma and position == end:
            raise _OddLineError
    if text[0] == "[" and not any(keys):
        return items
    if text[0] == "[" or None in keys or len(set(keys)) < len(keys):
        raise _OddLineError
    return dict(zip(keys, items, strict=True))
