"""Reduces code to one condition, and splits a condition into `&&`, `||`, `!` and their parts.

No code is run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

Said = TypeVar("Said")

STRING = r"""(?:'(?:[^'\\\n]|\\['"\\n])*+'|"(?:[^"\\\n]|\\['"\\n])*+")"""
REGEX = r"/(?![*/])(?:[^/\\\n\[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/"
_TOKEN = re.compile(rf"{STRING}|{REGEX}|\.?[A-Za-z_$][\w$]*")
_LITERAL = re.compile(rf"{STRING}|{REGEX}")
_COMMENT = re.compile(r"(?m)^[ \t]*//.*\n|(?<=;)[ \t]*//.*$")
_IMMEDIATE = re.compile(r"\((?:\(\)\s*=>|function\s*\(\))\s*\{(?P<body>.*)\}\s*\)\(\)", re.DOTALL)
_TRY = re.compile(
    r"try\s*\{(?P<body>.*)\}\s*catch\s*(?:\(\s*\w+\s*\)\s*)?\{\s*return\s+false\s*;?\s*\}",
    re.DOTALL,
)
_NAMED = re.compile(
    rf"(?:const|let|var)\s+(?P<name>[A-Za-z_]\w*)\s*=\s*(?P<value>(?:{STRING}|{REGEX}|[^;\n])+);\s*"
)
_RETURN = re.compile(rf"return\b[ \t]*(?!\s)(?P<what>(?:{STRING}|{REGEX}|[^;{{}}])+);?", re.DOTALL)
# Operators that bind less tightly than a call: a constant with one is inserted in parentheses.
_OPERATOR = re.compile(r"[&|?!=<>+\-*/%~^]")
_GIVEN = frozenset({"output", "JSON", "String", "Array"})
_CHOICE = re.compile(r"(?P<condition>.*\S)\s*\?\s*(?:1\s*:\s*0|true\s*:\s*false)", re.DOTALL)
_BLANK = re.compile(r"\s*")
_DEPTH = 20


def find_condition(code: str) -> str | None:
    """Return the condition on `output` that code returns; None if the code does anything else.

    Constants are replaced by their values. An exception counts as false.
    """
    body = _COMMENT.sub("", code.rstrip())
    # Several lines are the body of a function; one line is an expression.
    text = _read_body(body) if "\n" in code.rstrip() else _trim(body)
    if text is not None and (immediate := _IMMEDIATE.fullmatch(text)):
        text = _read_body(immediate["body"])
    choice = _CHOICE.fullmatch(text) if text else None
    return choice["condition"] if choice else text


def _trim(text: str) -> str:
    return text.strip().removesuffix(";").strip()


def _read_body(body: str) -> str | None:
    body = body.strip()
    if tried := _TRY.fullmatch(body):
        body = tried["body"].strip()
    names: dict[str, str] = {}
    while match := _NAMED.match(body):
        name, value = match["name"], _fill_names(match["value"].strip(), names)
        body = body[match.end() :]
        # Even an unused constant may throw.
        if name in _GIVEN | names.keys() or name not in _TOKEN.findall(body):
            return None
        is_simple = not _OPERATOR.search(_LITERAL.sub("", value))
        names[name] = value if is_simple else f"({value})"
    found = _RETURN.fullmatch(body.strip())
    return _fill_names(found["what"].strip(), names) if found else None


def _fill_names(text: str, names: dict[str, str]) -> str:
    return _TOKEN.sub(lambda token: names.get(token[0], token[0]), text)


class UnreadError(Exception):
    """A condition cannot be translated."""


@dataclass(frozen=True, slots=True)
class Language(Generic[Said]):
    """The target of a translation: how to read one part of a condition, and how to join parts.

    `read_part` returns the part at a position of the text with its end, or None.
    """

    read_part: Callable[[str, int], tuple[Said, int] | None]
    join_all: Callable[[Sequence[Said]], Said]
    join_any: Callable[[Sequence[Said]], Said]
    turn: Callable[[Said], Said]


def translate_condition(text: str, language: Language[Said]) -> Said | None:
    """Return a condition in another language; None if it cannot be expressed there."""
    try:
        found, end = _read_any(text, 0, language, _DEPTH)
    except UnreadError:
        return None
    return found if end == len(text) else None


def _read_any(text: str, start: int, to: Language[Said], depth: int) -> tuple[Said, int]:
    found, end = _read_parts(text, start, "||", lambda at: _read_all(text, at, to, depth))
    return (to.join_any(found) if found[1:] else found[0]), end


def _read_all(text: str, start: int, to: Language[Said], depth: int) -> tuple[Said, int]:
    found, end = _read_parts(text, start, "&&", lambda at: _read_one(text, at, to, depth))
    return (to.join_all(found) if found[1:] else found[0]), end


def _read_parts(
    text: str, start: int, between: str, read: Callable[[int], tuple[Said, int]]
) -> tuple[list[Said], int]:
    found, end = read(start)
    parts = [found]
    while text.startswith(between, end):
        found, end = read(_skip_blank(text, end + len(between)))
        parts.append(found)
    return parts, end


def _read_one(text: str, start: int, to: Language[Said], depth: int) -> tuple[Said, int]:
    """Read one part of a condition; raises `UnreadError` if there is none."""
    if not depth:
        raise UnreadError
    if read := to.read_part(text, start):
        return read[0], _skip_blank(text, read[1])
    if text.startswith("!", start):
        found, end = _read_one(text, _skip_blank(text, start + 1), to, depth - 1)
        return to.turn(found), end
    if text.startswith("(", start):
        found, end = _read_any(text, _skip_blank(text, start + 1), to, depth - 1)
        if text.startswith(")", end):
            return found, _skip_blank(text, end + 1)
    raise UnreadError


def _skip_blank(text: str, start: int) -> int:
    match = _BLANK.match(text, start)
    return match.end() if match else start


def read_string(literal: str) -> str:
    """Return the value of a quoted string literal."""
    return re.sub(r"\\(.)", lambda match: {"n": "\n"}.get(match[1], match[1]), literal[1:-1])
