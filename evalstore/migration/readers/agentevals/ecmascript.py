r"""Regular expressions of JavaScript in Python's words, where both then match the same outputs; None elsewhere.

JavaScript counts in halves of rare characters, so what eats unknown characters (`.` and `[^…]`) is translated where it
may take any number of them, or one and more once; so are no back references, look-behinds, `\B`, nor escapes that mean
nothing in one of the two.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

# Words of JavaScript's patterns without the flags u, v and y, one a match.
_TOKEN = re.compile(
    r"""(?P<escape>\\(?:x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|[^xu]))
    |(?P<class>\[\^?(?:\\(?:x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|[^xu])|[^\]\\])+\])
    |(?P<group>\((?:\?(?:[:=!]|<[A-Za-z_]\w*>))?)
    |(?P<repeat>(?:[*+?]|\{[0-9]{1,4}(?:,[0-9]{0,4})?\})\??)
    |(?P<plain>[^\\\[\]{}()*+?])
    |(?P<close>\))""",
    re.VERBOSE | re.DOTALL,
)
_INNER = re.compile(r"\\(?:x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|[^xu])|.", re.DOTALL)
_ENDS = "\\n\\r\\u2028\\u2029"
_SPACE = "\\t-\\r \\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000\\ufeff"
_SETS = {"d": "0-9", "w": "A-Za-z0-9_", "s": _SPACE}
# What takes no character, so that nothing can repeat it, in one of the two languages or both.
_EMPTY = frozenset({"^", "$", "|", "\\b", "\\B"})
_LOOKS = frozenset({"(?=", "(?!"})
_LETTERS = frozenset("nrtfv")
_RARE = re.compile("[^\0-\ud7ff\ue000-\uffff]")
_FOREIGN = re.compile(r"\\(?:x[89A-Fa-f]|u(?!00[0-7]))")


def translate_pattern(pattern: str, flags: str) -> tuple[str, str] | None:
    """Return a pattern and its flags for `regex` checks that match what JavaScript's matches, or None."""
    if "i" in flags and (not pattern.isascii() or _FOREIGN.search(pattern)):
        return None
    if _RARE.search(pattern):
        return None
    words = list(_words(pattern, flags))
    if None in words:
        return None
    text = "".join(word for word in words if word)
    # Without (?a) the letters k and s would match the Kelvin sign and the long s, which they do not in JavaScript.
    fold = "(?a)" if "i" in flags or "\\b" in text else ""
    return fold + text, "i" if "i" in flags else ""


def _words(pattern: str, flags: str) -> Iterator[str | None]:
    tokens = list(_tokens(pattern))
    if not _stands(tokens):
        yield None
        return
    following = [*(text for _, text in tokens), ""][1:]
    if not _whole(tokens, following):
        yield None
        return
    for (kind, text), follows in zip(tokens, following, strict=True):
        yield _word(kind, text, flags, many=follows[:1] in {"*", "+"})


def _tokens(pattern: str) -> Iterator[tuple[str, str]]:
    place = 0
    while place < len(pattern):
        match = _TOKEN.match(pattern, place)
        if match is None or match.lastgroup is None:
            yield "unknown", pattern[place:]
            return
        yield match.lastgroup, match[0]
        place = match.end()


def _stands(tokens: list[tuple[str, str]]) -> bool:
    """Whether every token is known, groups are closed, no name comes twice, and repeats follow what they can repeat."""
    groups: list[str] = []
    names: set[str] = set()
    single = False
    for kind, text in tokens:
        if kind == "unknown" or (kind == "close" and not groups) or (kind == "repeat" and not single) or text in names:
            return False
        if kind == "group":
            groups.append(text)
            names |= {text} if text.startswith("(?<") else set()
        single = kind in {"class", "plain", "escape"} and text not in _EMPTY
        if kind == "close":
            single = groups.pop() not in _LOOKS
    return not groups


def _whole(tokens: list[tuple[str, str]], following: list[str]) -> bool:
    """Whether no half of a rare character can count: at most one thing wants an unknown character, in no group."""
    depth, wanting = 0, 0
    for (kind, text), follows in zip(tokens, following, strict=True):
        depth += (kind == "group") - (kind == "close")
        if _eats(kind, text) and follows[:1] == "+":
            wanting += 2 if depth else 1
    return wanting <= 1


def _eats(kind: str, text: str) -> bool:
    return (kind == "plain" and text == ".") or text.startswith("[^") or (kind == "escape" and text[1] in "DWS")


def _word(kind: str, text: str, flags: str, *, many: bool) -> str | None:
    if kind == "plain":
        return _plain(text, flags, many=many)
    if kind == "class":
        return _class(text, many=many)
    if kind == "escape":
        return _escape(text[1:], many=many)
    if kind == "group":
        return "(" if text.startswith("(?<") else text
    return text


def _plain(text: str, flags: str, *, many: bool) -> str | None:
    if text == ".":
        return ("(?s:.)" if "s" in flags else f"[^{_ENDS}]") if many else None
    if text == "^":
        return f"(?<![^{_ENDS}])" if "m" in flags else "\\A"
    if text == "$":
        return f"(?![^{_ENDS}])" if "m" in flags else "\\Z"
    return text


def _escape(text: str, *, many: bool) -> str | None:
    if text in _SETS:
        return f"[{_SETS[text]}]"
    if text.lower() in _SETS:
        return f"[^{_SETS[text.lower()]}]" if many else None
    if text == "b" or text[0] in _LETTERS or (text[0] in "xu" and not _half(text)):
        return f"\\{text}"
    return re.escape(text) if text.isascii() and not text.isalnum() and text != "_" else None


def _class(text: str, *, many: bool) -> str | None:
    negated = text.startswith("[^")
    if negated and not many:
        return None
    items = [_item(item) for item in _INNER.findall(text[2 if negated else 1 : -1])]
    if None in items or _joins(items):
        return None
    return f"[{'^' if negated else ''}{''.join(item for item in items if item)}]"


def _item(text: str) -> str | None:
    if not text.startswith("\\"):
        return f"\\{text}" if text in "[&~|^" else text
    inner = text[1:]
    if inner in _SETS:
        return _SETS[inner]
    if inner == "b":
        return "\\x08"
    if inner[0] in _LETTERS or (inner[0] in "xu" and not _half(inner)):
        return text
    return f"\\{inner}" if inner.isascii() and not inner.isalnum() and inner != "_" else None


def _joins(items: list[str | None]) -> bool:
    """Whether a set stands at an end of a range, which JavaScript reads as three single characters."""
    sets = set(_SETS.values())
    return any(
        item == "-" and 0 < place < len(items) - 1 and (items[place - 1] in sets or items[place + 1] in sets)
        for place, item in enumerate(items)
    )


def _half(text: str) -> bool:
    """Whether an escape stands for half of a rare character."""
    return text.startswith("u") and "\ud800" <= chr(int(text[1:], 16)) <= "\udfff"
