r"""Reads a pattern as the engine does, as a tree; what it does not know for sure, it refuses.

A list of what is known: characters, escapes, classes, `.`, `\d \s \w`, `^ $ \A \Z \b \B`, groups, alternatives, greedy
and lazy repeats, look-ahead, and the flags i, m, s, x for all or for a group. Whatever else the engine knows
(references, look-behind, atomic and possessive parts, conditions, fuzzy matches, properties, verbs, octal escapes) is
refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from evalstore.regex_inclusion.syntax_tree import (
    Ahead,
    At,
    Chars,
    Choice,
    Folded,
    Place,
    Repeat,
    Row,
    Set,
    Tree,
)
from evalstore.regex_inclusion.unsupported import UndecidedError
from evalstore.text import excerpt

_DEPTH, _AHEADS = 30, 30
_SHOWN = 12
_TOKEN = re.compile(
    r"""
    (?P<end>[|)])
    | (?P<set>\[\^?+(?:\\.|[^\\])(?:\\.|[^\\\]])*\])
    | (?P<kind>\\[dDsSwW]|\.)
    | (?P<place>\\[ABZb]|[\^$])
    | (?P<char>\\(?:x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|[afnrtv]|[^0-9A-Za-z])
        |[^\\\[(){|*+?]|\{(?=[^0-9A-Za-z,]))
    | (?P<count>(?:[*+?]|\{(?:(?P<least>[0-9]+)|(?=,))(?P<comma>,?)(?P<most>[0-9]*)\})\??+(?!\+))
    | (?P<ahead>\(\?[=!])
    | (?P<open>\((?:\?P<[A-Za-z_][0-9A-Za-z_]*>|\?(?P<on>[imsx]*)(?:-(?P<off>[imsx]+))?:|(?![?*])))
    """,
    re.VERBOSE | re.DOTALL,
)
_FLAGS = re.compile(r"\(\?([imsx]+)\)")
_CONTROLS = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_COUNTS = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_PLACES = {r"\A": Place.TEXT_START, r"\Z": Place.TEXT_END, r"\b": Place.WORD_EDGE, r"\B": Place.NO_WORD_EDGE}
_TEXT_END = At(Place.TEXT_END)
# The end of the text, or just before the newline that ends it.
_LAST = Choice((_TEXT_END, Ahead(Row((Chars("\n"), _TEXT_END)), wanted=True)))


def parse(pattern: str, flags: str) -> Tree:
    """Return the tree of a pattern that the engine compiles; raises `UndecidedError` for what is not known."""
    everywhere = _FLAGS.match(pattern)
    if pattern.count("(?=") + pattern.count("(?!") > _AHEADS:
        raise UndecidedError(f"it looks ahead more than {_AHEADS} times")
    reader = _Reader(pattern, everywhere.end() if everywhere else 0)
    tree = reader.choice(frozenset(flags) | frozenset(everywhere[1] if everywhere else ""), 0)
    if reader.at < len(pattern):
        raise UndecidedError("a parenthesis closes nothing")
    return tree


@dataclass(slots=True)
class _Reader:
    text: str
    at: int

    def choice(self, flags: frozenset[str], depth: int) -> Tree:
        if depth > _DEPTH:
            raise UndecidedError(f"groups are nested deeper than {_DEPTH}")
        rows = [self._row(flags, depth)]
        while self.text.startswith("|", self.at):
            self.at += 1
            rows.append(self._row(flags, depth))
        return rows[0] if len(rows) == 1 else Choice(tuple(rows))

    def _row(self, flags: frozenset[str], depth: int) -> Tree:
        parts: list[Tree] = []
        repeatable = False
        while (token := self._token(flags)) is not None:
            if token.lastgroup == "count":
                if not repeatable:
                    raise UndecidedError("a repeat follows what cannot be repeated for sure")
                parts[-1] = Repeat(parts[-1], *_counts(token))
            else:
                parts.append(self._item(token, flags, depth))
            repeatable = token.lastgroup in {"set", "kind", "char", "open"}
        return parts[0] if len(parts) == 1 else Row(tuple(parts))

    def _token(self, flags: frozenset[str]) -> re.Match[str] | None:
        """Return the next token of a row and step over it, or None at its end."""
        if "x" in flags:
            self._skip_blanks()
        if self.at == len(self.text):
            return None
        token = _TOKEN.match(self.text, self.at)
        if token is None or "[:" in (token["set"] or "") or (token[0] == "{" and "x" in flags):
            raise UndecidedError(f"what {excerpt(self.text[self.at :], _SHOWN)} asks for is not compared")
        if token["end"]:
            return None
        self.at = token.end()
        return token

    def _skip_blanks(self) -> None:
        while self.at < len(self.text):
            if self.text[self.at] == "#":
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            elif self.text[self.at].isspace():
                self.at += 1
            else:
                return

    def _item(self, token: re.Match[str], flags: frozenset[str], depth: int) -> Tree:
        if token["set"] or token["kind"]:
            return Set(token[0], "".join(flags & {"s" if token[0] == "." else "i"}))
        if token["char"]:
            char = _char(token[0])
            return Folded(char) if "i" in flags else Chars(char)
        if token["place"]:
            return _place(token[0], lines="m" in flags)
        return self._group(token, flags, depth)

    def _group(self, token: re.Match[str], flags: frozenset[str], depth: int) -> Tree:
        inner = (flags | frozenset(token["on"] or "")) - frozenset(token["off"] or "")
        body = self.choice(inner, depth + 1)
        if not self.text.startswith(")", self.at):
            raise UndecidedError("a parenthesis is not closed")
        self.at += 1
        return Ahead(body, wanted=token["ahead"].endswith("=")) if token["ahead"] else body


def _char(token: str) -> str:
    if len(token) == 1:
        return token
    code, digits = token[1], token[2:]
    return chr(int(digits, 16)) if digits else _CONTROLS.get(code, code)


def _place(token: str, *, lines: bool) -> Tree:
    if token == "^":
        return At(Place.LINE_START if lines else Place.TEXT_START)
    if token == "$":
        return At(Place.LINE_END) if lines else _LAST
    return At(_PLACES[token])


def _counts(token: re.Match[str]) -> tuple[int, int | None]:
    if token[0][0] != "{":
        return _COUNTS[token[0][0]]
    least = int(token["least"] or 0)
    if not token["comma"]:
        return least, least
    return least, int(token["most"]) if token["most"] else None
