r"""Reads a pattern as the engine does, as a tree; what it does not know for sure, it refuses.

This is known: characters, escapes, classes (also `\p{L}` and `[[:alpha:]]`), `.`, `^ $ \A \Z \b
\B`, groups, alternatives, repeats (greedy, lazy, possessive), atomic groups, look-ahead and
look-behind, references to groups, tests of groups, comments, the flags i, m, s, x for all or for a
group, and the flag a for all. Whatever else the engine knows (fuzzy matches, recursion, branch
resets, verbs, graphemes, flags amid a pattern, ...) is refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from evalstore.languages.limits import PATTERNS
from evalstore.languages.patterns.syntax_tree import (
    Alternation,
    Anchor,
    AnchorKind,
    Atomic,
    BackReference,
    CharClass,
    Chars,
    Concatenation,
    Conditional,
    FoldedChar,
    Group,
    Lookahead,
    Lookbehind,
    RegexTree,
    Repetition,
    UndecidedError,
)
from evalstore.text import make_excerpt

_TOKEN = re.compile(
    r"""
    (?P<end>[|)])
    | (?P<note>\(\?\#[^)]*\))
    | (?P<set>\[\^?+(?:\\.|\[:\^?\w+:\]|[^\\])(?:\\.|\[:\^?\w+:\]|[^\\\]])*\])
    | (?P<kind>\\[dDhsSwW]|\.  # of other names the engine reads a p or an N, and what follows
        |\\[pP](?:\{\^?[A-Za-z0-9_&.-]+(?:[:=][A-Za-z0-9_&.\ -]+)?\}|[CLMNPSZ])
        |\\N\{[A-Za-z0-9\ -]+\})
    | (?P<place>\\[ABZb]|[\^$])
    | (?P<count>(?:[*+?]|\{(?:(?P<least>[0-9]+)|(?=,))(?P<comma>,?)(?P<most>[0-9]*)\})
        (?P<manner>[?+]?))
    | (?P<char>\\(?:x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|[0-3][0-7]{2}|0[0-7]?
            |[afnrtv]|[^0-9A-Za-z])
        |[^\\\[(){|*+?]|\{(?:(?![0-9desi,])|(?![^{}]*[desi])))
    | (?P<again>\\(?P<number>[1-9][0-9]?)|\(\?P=(?P<name>[A-Za-z_]\w*)\))
    | (?P<open>\((?:
        \?P?<(?P<group>[A-Za-z_]\w*)>
        |\?(?P<on>[imsx]*)(?:-(?P<off>[imsx]+))?:  # a and u of a group the engine does not know
        |\?\((?P<test>[0-9]+|[A-Za-z_]\w*)\)
        |\?(?P<around><?[=!]|>)
        |(?![?*])))
    """,
    re.VERBOSE | re.DOTALL,
)
_LEADING_FLAGS = re.compile(r"(?:\(\?[aimsux]+\))+")
_CONTROL_ESCAPES = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_COUNTS = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_ANCHORS = {
    r"\A": AnchorKind.TEXT_START,
    r"\Z": AnchorKind.TEXT_END,
    r"\b": AnchorKind.WORD_EDGE,
    r"\B": AnchorKind.NO_WORD_EDGE,
}
_REPEATABLE = frozenset({"set", "kind", "char", "again", "open"})
_NOTHING = Concatenation(())


def parse_pattern(pattern: str, flags: str) -> RegexTree:
    """Return the tree of a pattern that the engine compiles.

    Raises `UndecidedError` for anything unknown.
    """
    leading = _LEADING_FLAGS.match(pattern)
    found = frozenset(flags) | frozenset(leading[0] if leading else "") & frozenset("aimsx")
    reader = _PatternReader(pattern, leading.end() if leading else 0)
    tree = reader.read_alternation(found, 0)
    if reader.position < len(pattern):
        raise UndecidedError("a closing parenthesis has no opening one")
    return tree


@dataclass(slots=True)
class _PatternReader:
    text: str
    position: int
    _groups: int = 0
    _lookarounds: int = 0
    _group_numbers: dict[str, int] = field(default_factory=dict)

    def read_alternation(self, flags: frozenset[str], depth: int) -> RegexTree:
        if depth > PATTERNS.depth:
            raise UndecidedError(f"groups are nested deeper than {PATTERNS.depth}")
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
            if token["note"]:
                continue
            if token["count"]:
                if not repeatable:
                    raise UndecidedError("a repeat follows what cannot be repeated for sure")
                parts[-1] = _repeat(parts[-1], token)
            else:
                parts.append(self._read_item(token, flags, depth))
            repeatable = token.lastgroup in _REPEATABLE and token["around"] in {None, ">"}
        return parts[0] if len(parts) == 1 else Concatenation(tuple(parts))

    def _read_token(self, flags: frozenset[str]) -> re.Match[str] | None:
        """Return the next token in a row and step over it; None at its end."""
        if "x" in flags:
            self._skip_blanks()
        if self.position == len(self.text):
            return None
        token = _TOKEN.match(self.text, self.position)
        if token is None or (token[0] == "{" and "x" in flags):
            excerpt = make_excerpt(self.text[self.position :], 12)
            raise UndecidedError(f"it uses something that is not supported: {excerpt}")
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
            return CharClass(
                token[0], "".join(sorted(flags & ({"s"} if token[0] == "." else {"a", "i"})))
            )
        if token["char"]:
            return _fold_char(_decode_char(token[0]), flags)
        if token["place"]:
            if "a" in flags and token[0] in {r"\b", r"\B"}:
                return _make_ascii_edge(is_edge=token[0] == r"\b")
            return _make_anchor(token[0], flags)
        if token["again"]:
            return BackReference(self._find_number(token["number"] or token["name"]), "i" in flags)
        return self._read_group(token, flags, depth)

    def _read_group(self, token: re.Match[str], flags: frozenset[str], depth: int) -> RegexTree:
        # Flags of a group hold until it closes; its number is that of its opening parenthesis.
        number = self._number_group(token["group"]) if token["group"] or token[0] == "(" else 0
        inner_flags = (flags | frozenset(token["on"] or "")) - frozenset(token["off"] or "")
        body = self.read_alternation(inner_flags, depth + 1)
        if not self.text.startswith(")", self.position):
            raise UndecidedError("a parenthesis is not closed")
        self.position += 1
        if token["around"]:
            return self._wrap_around(body, token["around"])
        if token["test"]:
            return self._make_conditional(token["test"], body)
        return Group(body, number) if number else body

    def _wrap_around(self, body: RegexTree, sign: str) -> RegexTree:
        if sign == ">":
            return Atomic(body)
        self._lookarounds += 1
        if self._lookarounds > PATTERNS.lookarounds:
            raise UndecidedError(f"it looks ahead or behind more than {PATTERNS.lookarounds} times")
        kind = Lookbehind if sign.startswith("<") else Lookahead
        return kind(body, positive=sign.endswith("="))

    def _make_conditional(self, test: str, body: RegexTree) -> Conditional:
        parts = body.parts if isinstance(body, Alternation) else (body, _NOTHING)
        if len(parts) > 2:  # noqa: PLR2004  # what holds, and what else
            raise UndecidedError("a test of a group has more than two parts")
        return Conditional(self._find_number(test), *parts)

    def _number_group(self, name: str | None) -> int:
        if name in self._group_numbers:
            return self._group_numbers[name]
        self._groups += 1
        if name:
            self._group_numbers[name] = self._groups
        return self._groups

    def _find_number(self, reference: str) -> int:
        number = int(reference) if reference.isdecimal() else self._group_numbers.get(reference, 0)
        if not 0 < number <= self._groups:
            raise UndecidedError("a group is used before it is defined")
        return number


def _repeat(body: RegexTree, token: re.Match[str]) -> RegexTree:
    repeated = Repetition(body, *_read_counts(token), lazy=token["manner"] == "?")
    return Atomic(repeated) if token["manner"] == "+" else repeated


def _fold_char(char: str, flags: frozenset[str]) -> RegexTree:
    if "i" not in flags:
        return Chars(char)
    return CharClass(f"\\U{ord(char):08x}", "ai") if "a" in flags else FoldedChar(char)


def _decode_char(token: str) -> str:
    if len(token) == 1:
        return token
    code, digits = token[1], token[2:]
    if code.isdecimal():
        return chr(int(token[1:], 8))
    return chr(int(digits, 16)) if digits else _CONTROL_ESCAPES.get(code, code)


def _make_ascii_edge(*, is_edge: bool) -> RegexTree:
    """Return a place between an ASCII word character and another, or one between two alike."""
    word = CharClass(r"\w", "a")
    before, no_before = (Lookbehind(word, positive=is_word) for is_word in (True, False))
    after, no_after = (Lookahead(word, positive=is_word) for is_word in (is_edge, not is_edge))
    return Alternation((Concatenation((before, no_after)), Concatenation((no_before, after))))


def _make_anchor(token: str, flags: frozenset[str]) -> RegexTree:
    if token == "^":
        return Anchor(AnchorKind.LINE_START if "m" in flags else AnchorKind.TEXT_START)
    if token == "$":
        return Anchor(AnchorKind.LINE_END if "m" in flags else AnchorKind.LAST_LINE_END)
    return Anchor(_ANCHORS[token])


def _read_counts(token: re.Match[str]) -> tuple[int, int | None]:
    if token[0][0] != "{":
        return _COUNTS[token[0][0]]
    least = int(token["least"] or 0)
    if not token["comma"]:
        return least, least
    return least, int(token["most"]) if token["most"] else None
