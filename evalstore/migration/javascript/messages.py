"""Finds the literal lists of chat messages, and literal texts, in a JavaScript file.

No code is run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_LITERAL = (
    r"""`(?P<template>(?:[^`\\$]|\$(?!\{))*+)`"""
    r"""|"(?P<double>(?:[^"\\\n]|\\.)*+)"|'(?P<single>(?:[^'\\\n]|\\.)*+)'"""
)
_MESSAGE = re.compile(
    r"""role:\s*["'](?P<role>system|user|assistant)["'],\s*content:\s*"""
    rf"""(?P<dedent>(?:\(0,\s*\w+\.default\)|dedent)\s*)?(?:{_LITERAL})\s*,?\s*\}}"""
)
_TEXT = re.compile(r"(?:\bconst\s+|\bexports\.)\w+\s*=\s*`((?:[^`\\$]|\$(?!\{))*+)`")
_BETWEEN = re.compile(r"\s*,\s*\{\s*")  # from the end of a message to the next
_STARTS, _ENDS = re.compile(r"\[\s*\{\s*\Z"), re.compile(r"\s*,?\s*\]")
_BEFORE = 200  # characters before a message in which its list may start
_ESCAPE = re.compile(
    r"\\(?:u\{([0-9A-Fa-f]{1,6})\}|u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2})|(.))", re.DOTALL
)
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": ""}
_INDENT = re.compile(r"^[^\S\n]+(?=\S)", re.MULTILINE)


def list_messages(code: str) -> Iterator[list[tuple[str, str]]]:
    """Yield the lists of messages in a file, as roles and texts.

    A list with a message that is not a literal is left out.
    """
    matches = list(_MESSAGE.finditer(code))
    while matches:
        first, *others = matches
        group = [first]
        while others and _BETWEEN.fullmatch(code, group[-1].end(), others[0].start()):
            group.append(others.pop(0))
        before = code[max(0, first.start() - _BEFORE) : first.start()]
        if _STARTS.search(before) and _ENDS.match(code, group[-1].end()):
            yield [(match["role"], _read_literal(match)) for match in group]
        matches = others


def list_texts(code: str) -> Iterator[str]:
    """Yield the multi-line texts that a file assigns to a name, as they are written."""
    yield from (match[1] for match in _TEXT.finditer(code))


def _read_literal(match: re.Match[str]) -> str:
    if match["template"] is None:
        return _ESCAPE.sub(_read_escape, match["double"] or match["single"] or "")
    return _remove_indent(match["template"]) if match["dedent"] else match["template"]


def _read_escape(match: re.Match[str]) -> str:
    digits = match[1] or match[2] or match[3]
    return chr(int(digits, 16)) if digits else _LETTERS.get(match[4], match[4])


def _remove_indent(text: str) -> str:
    """Return a text without the common indent of its lines, trimmed, like npm's `dedent`."""
    depths = [len(indent) for indent in _INDENT.findall(text)]
    least = min(depths, default=0)
    lines = (line[least:] if line[:1] in {" ", "\t"} else line for line in text.split("\n"))
    return "\n".join(lines).strip()
