"""Reads the value of a YAML text in its plainest form, line by line: three times as fast as a parser of all YAML.

That form: block mappings and lists, scalars of one line, scalars in brackets or braces, literal blocks, comments.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import islice
from typing import Any, NoReturn

from evalstore.documents.document import DEPTH_LIMIT, NODE_LIMIT
from evalstore.documents.yaml_values import NOT_PLAIN, PLAIN_WORDS, resolve_plain_scalar
from evalstore.errors import LoadError, Place

_KEY = r"[A-Za-z_][A-Za-z0-9_.-]{0,63}+"
_QUOTED = r"""(?:"(?:[^"\\\n]|\\["\\/nt])*+"|'(?:[^'\n]|'')*+')"""
# Plain, a text has neither ": " nor " #"; its first character tells what else it may be.
_PLAIN = r"[\w(/\\^$.+][^:#\n]*+(?:(?::(?=[^ \n])|(?<=[^ ])\#)[^:#\n]*+)*+"
# The indent, the dash of an item, a key, and a value: plain, or quoted, in brackets or braces, or the mark of a block.
_LINE = re.compile(
    rf"""([ ]*+)(?:(-[ ]+)?(?:({_KEY}):(?:[ ]+|\Z))?
    (?:({_PLAIN})|({_QUOTED}|\[[^\n]*\]|\{{[^\n]*\}}|\|-?)[ ]*)?(?:(?<=[ ])\#[^\n]*)?|\#[^\n]*)""",
    re.VERBOSE,
)
# Nine of ten lines: a key or a dash, or both, and a text without ":", "#" and escapes; found in a third of the time.
_COMMON = re.compile(
    rf"""([ ]*+)(-[ ]++)?+(?:({_KEY}):(?:[ ]++|\Z))?+(?:([A-Za-z_(/][^:#\n]*+)|"([^"\\\n]*+)"[ ]*+)?+""", re.VERBOSE
)
# Between brackets: a key, and a value that is plain, quoted, or a list or mapping without another one in it. Its end is
# the first bracket that closes: where that stands in a quoted text, the text is left open, and no item.
_INNER = r"\[[^\[\]{}\n]*\]|\{[^\[\]{}\n]*\}"
_ITEM = re.compile(rf"[ ]*(?:({_KEY}):[ ]+)?(?:([\w(/][\w(/ .)$%+-]*)|({_QUOTED}|{_INNER})[ ]*)(,|\Z)")
_INDENT = re.compile(r"( +)[^ \n]")
_NO_KEY: Any = object()
_ROOT = ""
_QUOTES = frozenset("'\"")
_NUMBER_STARTS = frozenset("+-.0123456789")
_KNOWN_LINES, _KNOWN_LENGTH = 1 << 14, 100  # lines that are remembered, and characters of one
_ESCAPE = re.compile(r"\\(.)")
_ESCAPES = {"n": "\n", "t": "\t"}  # the other ones stand for themselves
_UNPLACED = Place("")


class _OddLineError(Exception):
    """Something that only a parser of all YAML reads or refuses."""


# What a line holds besides its key: a scalar, nothing yet, a literal block below it, or several scalars.
_SCALAR, _OPEN, _BLOCK, _ITEMS = range(4)
# A line by itself: its indent, the width of its dash (0: none), its key ("": none), what it holds, and the scalar or
# text. No named tuple, which would cost as much as the rest.
_Line = tuple[int, int, str, int, Any]


def read_plain_lines(text: str) -> Any:
    """Return the value of a YAML text (1.2, core schema); `NOT_PLAIN` for one that is not of the plainest form."""
    # Other line ends, white space and controls have rules of their own.
    if not text.endswith("\n") or not text.replace("\n", "").isprintable():
        return NOT_PLAIN
    try:
        return _read_lines(text)
    except (LoadError, _OddLineError):
        return NOT_PLAIN


def _read_lines(text: str) -> Any:  # noqa: PLR0912  # the loop over every line of every file
    root: dict[str, Any] = {}
    # Of the innermost open container: its column, and in a mapping the key that waits for its value.
    column: int = -1
    container: Any = root
    key: Any = _ROOT
    stack: list[tuple[int, Any]] = []
    lines = text.split("\n")
    after_block = 0
    for number, line in enumerate(lines):
        if number < after_block:
            continue
        scanned = _scan_line(line) if len(line) < _KNOWN_LENGTH else _scan_line.__wrapped__(line)
        if scanned is None:
            continue
        at, dash, new_key, form, value = scanned
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
            column, container = at + dash, inner
        if new_key and new_key in container:
            raise _OddLineError
        if form:
            if form is _OPEN:
                key = new_key
                continue
            if form is _BLOCK:
                value, count = _read_block(lines, number + 1, column, keep_end=value == "|")
                after_block = number + 1 + count
            else:
                value = _read_items(value)
        if new_key:
            container[new_key] = value
        else:
            container.append(value)
    # Every line is a node, and every comma and every bracket may be one more.
    if container is root or sum(map(text.count, ",[{"), len(lines)) >= NODE_LIMIT:
        raise _OddLineError
    if key is not _NO_KEY:
        container[key] = None
    return root[_ROOT]


@lru_cache(_KNOWN_LINES)  # most lines of a store stand in many of its files
def _scan_line(line: str) -> _Line | None:
    """Return what a line holds; None for a blank one or a comment."""
    match = _COMMON.fullmatch(line)
    if match is None:
        return _scan_uncommon_line(line)
    spaces, dash, key, plain, quoted = match.groups()
    if not dash and not key:
        return None if plain is None and quoted is None else _refuse_line()
    place = len(spaces), len(dash or ""), key or ""
    if plain:
        return *place, _SCALAR, _read_plain(plain)
    if quoted is not None:
        return *place, _SCALAR, quoted
    return (*place, _OPEN, "") if key else _refuse_line()


def _scan_uncommon_line(line: str) -> _Line | None:
    match = _LINE.fullmatch(line) or _refuse_line()
    spaces, dash, key, plain, other = match.groups("")
    place = len(spaces), len(dash), key
    if not dash and not key:
        return None if not plain and not other else _refuse_line()  # the second line of a text
    if plain:
        return *place, _SCALAR, _read_plain(plain)
    if not other:
        return (*place, _OPEN, "") if key else _refuse_line()
    if other[0] in _QUOTES:
        return *place, _SCALAR, _read_quoted(other)
    return *place, _BLOCK if other[0] == "|" else _ITEMS, other


def _refuse_line() -> NoReturn:
    raise _OddLineError


def _open(stack: list[tuple[int, Any]], column: int, container: Any, key: Any, inner: Any) -> Any:
    """Put a new container where a key waits for one, and return it."""
    if key is _NO_KEY or len(stack) > DEPTH_LIMIT // 2:
        raise _OddLineError
    container[key] = inner
    stack.append((column, container))
    return inner


def _read_plain(plain: str) -> Any:
    text = plain.rstrip(" ")
    if text[0] in _NUMBER_STARTS:
        return resolve_plain_scalar(text, _UNPLACED)
    return PLAIN_WORDS.get(text, text)


def _read_quoted(quoted: str) -> str:
    text = quoted[1:-1]
    if quoted[0] == "'":
        return text.replace("''", "'")
    return _ESCAPE.sub(lambda match: _ESCAPES.get(match[1], match[1]), text) if "\\" in text else text


def _read_block(lines: list[str], first: int, column: int, *, keep_end: bool) -> tuple[str, int]:
    """Return the text of a literal block that begins with the line `first`, and the number of its lines."""
    indent = _INDENT.match(lines[first])
    if indent is None or len(indent[1]) <= column:
        raise _OddLineError
    width, body = len(indent[1]), list[str]()
    for line in islice(lines, first, len(lines) - 1):
        if line and not line.startswith(indent[1]):
            break
        if line.isspace():
            raise _OddLineError
        body.append(line[width:])
    return "\n".join(body).rstrip("\n") + ("\n" if keep_end else ""), len(body)


def _read_items(text: str) -> Any:
    """Return a list in brackets, or a mapping in braces, of scalars, and of such lists and mappings of scalars."""
    items: list[Any] = []
    keys: list[str | None] = []
    position, end = 1, len(text) - 1
    while position < end:
        if (item := _ITEM.match(text, position, end)) is None:
            raise _OddLineError
        key, plain, other, comma = item.groups()
        read = _read_plain if plain else _read_quoted if other[0] in _QUOTES else _read_items
        items.append(read(plain or other))
        keys.append(key)
        position = item.end()
        if comma and position == end:
            raise _OddLineError
    if text[0] == "[" and not any(keys):
        return items
    if text[0] == "[" or None in keys or len(set(keys)) < len(keys):
        raise _OddLineError
    return dict(zip(keys, items, strict=True))
