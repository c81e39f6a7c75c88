r"""Reads a pattern as the engine does, as a tree; what it does not know for sure, it refuses.

A list of what is known: characters, escapes, classes, `.`, `\d \s \w`, `^ $ \A \Z \b \B`, groups, alternatives, greedy
and lazy repeats, look-ahead, and the flags i, m, s, x for all or for a group. Whatever else the engine knows
(references, look-behind, atomic and possessive parts, conditions, fuzzy matches, properties, verbs, octal escapes) is
refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from evalstore.patterns.syntax_tree import (
    Alternation,
    Anchor,
    AnchorKind,
    CharClass,
    Chars,
    Concatenation,
    FoldedChar,
    Lookahead,
    RegexTree,
    Repetition,
)
from evalstore.patterns.unsupported import UndecidedError
from evalstore.text import make_excerpt

_DEPTH_LIMIT, _LOOKAHEAD_LIMIT = 30, 30
_EXCERPT_LENGTH = 12
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
_LEADING_FLAGS = re.compile(r"\(\?([imsx]+)\)")
_CONTROL_ESCAPES = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_COUNTS = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_ANCHORS = {
    r"\A": AnchorKind.TEXT_START,
    r"\Z": AnchorKind.TEXT_END,
    r"\b": AnchorKind.WORD_EDGE,
    r"\B": AnchorKind.NO_WORD_EDGE,
}
_TEXT_END = Anchor(AnchorKind.TEXT_END)
# The end of the text, or just before the newline that ends it.
_LAST_LINE_END = Alternation((_TEXT_END, Lookahead(Concatenation((Chars("\n"), _TEXT_END)), positive=True)))


def parse_pattern(pattern: str, flags: str) -> RegexTree:
    """Return the tree of a pattern that the engine compiles; raises `UndecidedError` for what is not known."""
    leading_flags = _LEADING_FLAGS.match(pattern)
    if pattern.count("(?=") + pattern.count("(?!") > _LOOKAHEAD_LIMIT:
        raise UndecidedError(f"it looks ahead more than {_LOOKAHEAD_LIMIT} times")
    reader = _PatternReader(pattern, leading_flags.end() if leading_flags else 0)
    tree = reader.read_alternation(frozenset(flags) | frozenset(leading_flags[1] if leading_flags else ""), 0)
    if reader.position < len(pattern):
        raise UndecidedError("a parenthesis closes nothing")
    return tree


@dataclass(slots=True)
class _PatternReader:
    text: str
    position: int

    def read_alternation(self, flags: frozenset[str], depth: int) -> RegexTree:
        if depth > _DEPTH_LIMIT:
            raise UndecidedError(f"groups are nested deeper than {_DEPTH_LIMIT}")
        alternatives = [self._read_concatenation(flags, depth)]
        while self.text.startswith("|", self.position):
            self.position += 1
            alternatives.append(self._read_concatenation(flags, depth))
        return alternatives[0] if len(alternatives) == 1 else Alternation(tuple(alternatives))

    def _read_concatenation(self, flags: frozenset[str], depth: int) -> RegexTree:
        parts: list[RegexTree] = []
        repeatable = False
        # A count binds to the one part before it; two counts in a row are refused.
        while (token := self._read_token(flags)) is not None:
            if token.lastgroup == "count":
                if not repeatable:
                    raise UndecidedError("a repeat follows what cannot be repeated for sure")
                parts[-1] = Repetition(parts[-1], *_read_counts(token))
            else:
                parts.append(self._read_item(token, flags, depth))
            repeatable = token.lastgroup in {"set", "kind", "char", "open"}
        return parts[0] if len(parts) == 1 else Concatenation(tuple(parts))

    def _read_token(self, flags: frozenset[str]) -> re.Match[str] | None:
        """Return the next token of a row and step over it, or None at its end."""
        if "x" in flags:
            self._skip_blanks()
        if self.position == len(self.text):
            return None
        token = _TOKEN.match(self.text, self.position)
        if token is None or "[:" in (token["set"] or "") or (token[0] == "{" and "x" in flags):
            raise UndecidedError(
                f"what {make_excerpt(self.text[self.position :], _EXCERPT_LENGTH)} asks for is not compared"
            )
        if token["end"]:
            return None
        self.position = token.end()
        return token

    def _skip_blanks(self) -> None:
        while self.position < len(self.text):
            if self.text[self.position] == "#":
                end = self.text.find("\n", self.position)
                self.position = len(self.text) if end < 0 else end
            elif self.text[self.position].isspace():
                self.position += 1
            else:
                return

    def _read_item(self, token: re.Match[str], flags: frozenset[str], depth: int) -> RegexTree:
        if token["set"] or token["kind"]:
            return CharClass(token[0], "".join(flags & {"s" if token[0] == "." else "i"}))
        if token["char"]:
            char = _decode_char(token[0])
            return FoldedChar(char) if "i" in flags else Chars(char)
        if token["place"]:
            return _make_anchor(token[0], lines="m" in flags)
        return self._read_group(token, flags, depth)

    def _read_group(self, token: re.Match[str], flags: frozenset[str], depth: int) -> RegexTree:
        # Flags of a group hold until it closes.
        inner_flags = (flags | frozenset(token["on"] or "")) - frozenset(token["off"] or "")
        body = self.read_alternation(inner_flags, depth + 1)
        if not self.text.startswith(")", self.position):
            raise UndecidedError("a parenthesis is not closed")
        self.position += 1
        return Lookahead(body, positive=token["ahead"].endswith("=")) if token["ahead"] else body


def _decode_char(token: str) -> str:
    if len(token) == 1:
        return token
    code, digits = token[1], token[2:]
    return chr(int(digits, 16)) if digits else _CONTROL_ESCAPES.get(code, code)


def _make_anchor(token: str, *, lines: bool) -> RegexTree:
    if token == "^":
        return Anchor(AnchorKind.LINE_START if lines else AnchorKind.TEXT_START)
    if token == "$":
        return Anchor(AnchorKind.LINE_END) if lines else _LAST_LINE_END
    return Anchor(_ANCHORS[token])


def _read_counts(token: re.Match[str]) -> tuple[int, int | None]:
    if token[0][0] != "{":
        return _COUNTS[token[0][0]]
    least = int(token["least"] or 0)
    if not token["comma"]:
        return least, least
    return least, int(token["most"]) if token["most"] else None
