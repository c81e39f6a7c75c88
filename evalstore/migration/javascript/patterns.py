"""Translates a JavaScript pattern to one that matches the same here, or finds out why it cannot."""

from __future__ import annotations

import re
from collections.abc import Iterator

from evalstore.migration.javascript.values import SPACE
from evalstore.text import SHORT_EXCERPT, make_excerpt

# Matches one token of a JavaScript pattern without the flags u, v and y.
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
_SETS = {"d": "0-9", "w": "A-Za-z0-9_", "s": SPACE}
# Zero-width tokens; at least one of the two languages does not allow a quantifier after them.
_EMPTY = frozenset({"^", "$", "|", "\\b", "\\B"})
_LOOKS = frozenset({"(?=", "(?!"})
_ANYTHING = frozenset(f"[\\{one}\\{other}]" for one, other in ("sS", "Ss", "dD", "Dd", "wW", "Ww"))
_LETTERS = frozenset("nrtfv")
# Letters that mean themselves after a backslash.
_IDLE_LETTERS = frozenset("aeghijlmopqyzACEFGHIJKLMNOPQRTUVXYZ")
_FLAGS = frozenset("dgimsuvy")
# What flag u allows after a backslash; within a class also a hyphen.
_UNICODE_ESCAPES = frozenset("^$\\.*+?()[]{}|/dDwWsSbBnrtfvxu")
_RARE = re.compile("[^\0-\ud7ff\ue000-\uffff]")
# An empty class, a class of everything, and characters that are plain text on their own.
_ODD = {"[]": "(?!)", "[^]": "[\\s\\S]", "{": "\\{", "}": "\\}", "]": "\\]"}
_LITERALS = re.compile(r"\\.|\[\^?\]|\[\^?(?:\\.|[^\]\\])*\]|\{[0-9]+(?:,[0-9]*)?\}|.", re.DOTALL)
_ERRORS = re.compile(
    r"\\.|\[(?:\\.|[^\]\\])*\]|\(\??|"
    r"(?P<repeat>(?:[*+?]|\{(?P<least>[0-9]+)(?:,(?P<most>[0-9]*))?\})\??)|.",
    re.DOTALL,
)
_GROUP = re.compile(r"\(\?(?:[:=!]|<[=!A-Za-z_$])")
_ABOVE_PLANE = re.compile("[\U00010000-\U0010ffff]")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")  # an escape of half of such a character
_FOREIGN = re.compile(r"\\(?:x[89A-Fa-f]|u(?!00[0-7]))")


def translate_pattern(
    pattern: str, flags: str, *, is_plane_enough: bool = False
) -> tuple[str, str] | None:
    """Return an equivalent pattern and its flags for `regex` checks.

    The result is None if no equivalent is certain. With `is_plane_enough` it needs to be equivalent
    only for texts without characters above U+FFFF, which are two units in JavaScript; the texts may
    contain those units.
    """
    # Case folding of letters beyond ASCII differs between the two languages.
    if "i" in flags and (not pattern.isascii() or _FOREIGN.search(pattern)):
        return None
    if _RARE.search(pattern):
        return None
    words = list(_translate_tokens(pattern, flags, is_plane_enough=is_plane_enough))
    if None in words:
        return None
    text = "".join(word for word in words if word)
    # Without (?a), k and s would match the Kelvin sign and the long s, unlike in JavaScript.
    fold = "(?a)" if "i" in flags or "\\b" in text else ""
    return fold + text, "i" if "i" in flags else ""


def translate_unicode_pattern(pattern: str) -> str | None:
    """Return an equivalent of a pattern with flag u, which counts characters as Python does.

    The result is None if no equivalent is certain, or if the pattern is not valid JavaScript.
    """
    tokens = list(_split_tokens(pattern))
    escaped = {text[:2] for kind, text in tokens if kind == "escape"}
    classes = "".join(text for kind, text in tokens if kind == "class")
    escaped |= {item[:2] for item in _INNER.findall(classes) if item.startswith("\\")} - {"\\-"}
    if not all(text[1] in _UNICODE_ESCAPES for text in escaped):
        return None
    if _SURROGATE.search(pattern):
        return None
    found = translate_pattern(pattern, "", is_plane_enough=True)
    return found and found[0]


def translate_unit_pattern(pattern: str) -> str | None:
    """Return an equivalent of a pattern without flags, for the result of the step `utf16`.

    The result is None if no equivalent is certain.
    """
    found = translate_pattern(split_pairs(escape_literals(pattern)), "", is_plane_enough=True)
    return found and found[0]


def split_pairs(pattern: str) -> str:
    """Return a pattern with characters above U+FFFF written as escapes of their two units."""
    return _ABOVE_PLANE.sub(_escape_pair, pattern)


def _escape_pair(match: re.Match[str]) -> str:
    high, low = divmod(ord(match[0]) - 0x10000, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"


def escape_literals(pattern: str) -> str:
    """Return a pattern with braces and brackets escaped where JavaScript reads them as text."""
    parts = (match[0] for match in _LITERALS.finditer(pattern))
    return "".join(_ODD.get(part, part) for part in parts)


def find_syntax_error(pattern: str) -> str:
    """Return why a pattern is invalid in every release of JavaScript; empty if not certain."""
    depth, repeatable = 0, False
    for match in _ERRORS.finditer(escape_literals(pattern)):
        text = match[0]
        if text in {"\\", "["}:
            return "it ends too early"
        if text == "(?" and not _GROUP.match(match.string, match.start()):
            return f"{match.string[match.start() :][:4]} opens no group"
        if match["repeat"] and not repeatable:
            return f"nothing is there for {text} to repeat"
        if match["least"] and match["most"] and int(match["least"]) > int(match["most"]):
            return f"{text} counts down"
        depth += text.startswith("(") - (text == ")")
        if depth < 0:
            return "a ) closes nothing"
        # The `?` in the opening of a group, such as `(?:`, is not a quantifier.
        repeatable = not (text.startswith("(") or text == "|" or match["repeat"])
    return "a group is not closed" if depth else ""


def find_flag_error(flags: str) -> str:
    """Return why these flags are invalid in JavaScript; empty if they are valid."""
    odd = sorted({flag for flag in flags if flag not in _FLAGS or flags.count(flag) > 1})
    if odd:
        return f"the flags {make_excerpt(''.join(odd), SHORT_EXCERPT)} are unknown, or come twice"
    return "it has both flags u and v" if {"u", "v"} <= {*flags} else ""


def _translate_tokens(pattern: str, flags: str, *, is_plane_enough: bool) -> Iterator[str | None]:
    tokens = list(_split_tokens(pattern))
    if not _is_well_formed(tokens):
        yield None
        return
    # The translation of a token depends on the quantifier after it.
    following = [*(text for _, text in tokens), ""][1:]
    if not is_plane_enough and not _needs_no_half_characters(tokens, following):
        yield None
        return
    for (kind, text), follows in zip(tokens, following, strict=True):
        many = is_plane_enough or follows[:1] in {"*", "+"}
        yield _translate_token(kind, text, flags, many=many, halves=is_plane_enough)


def _split_tokens(pattern: str) -> Iterator[tuple[str, str]]:
    place = 0
    while place < len(pattern):
        match = _TOKEN.match(pattern, place)
        if match is None or match.lastgroup is None:
            yield "unknown", pattern[place:]
            return
        yield match.lastgroup, match[0]
        place = match.end()


def _is_well_formed(tokens: list[tuple[str, str]]) -> bool:
    """Whether all tokens are known, groups closed, names unique, and quantifiers allowed."""
    groups: list[str] = []
    names: set[str] = set()
    single = False
    for kind, text in tokens:
        if (
            kind == "unknown"
            or (kind == "close" and not groups)
            or (kind == "repeat" and not single)
            or text in names
        ):
            return False
        if kind == "group":
            groups.append(text)
            names |= {text} if text.startswith("(?<") else set()
        single = kind in {"class", "plain", "escape"} and text not in _EMPTY
        if kind == "close":
            single = groups.pop() not in _LOOKS
    return not groups


def _needs_no_half_characters(tokens: list[tuple[str, str]], following: list[str]) -> bool:
    """Whether it makes no difference to count code units or characters.

    That is so with at most one `+` on an unknown character, outside groups.
    """
    depth, wanting = 0, 0
    for (kind, text), follows in zip(tokens, following, strict=True):
        depth += (kind == "group") - (kind == "close")
        if _takes_unknown_character(kind, text) and follows[:1] == "+":
            wanting += 2 if depth else 1
    return wanting <= 1


def _takes_unknown_character(kind: str, text: str) -> bool:
    return (
        (kind == "plain" and text == ".")
        or text.startswith("[^")
        or text in _ANYTHING
        or (kind == "escape" and text[1] in "DWS")
    )


def _translate_token(kind: str, text: str, flags: str, *, many: bool, halves: bool) -> str | None:
    if kind != "plain" and not halves and _SURROGATE.search(text):
        return None
    if kind == "plain":
        return _translate_plain(text, flags, many=many)
    if kind == "class":
        return _translate_class(text, many=many)
    if kind == "escape":
        return _translate_escape(text[1:], many=many)
    if kind == "group":
        return "(" if text.startswith("(?<") else text
    return text


def _translate_plain(text: str, flags: str, *, many: bool) -> str | None:
    if text == ".":
        if not many:
            return None
        return "(?s:.)" if "s" in flags else f"[^{_ENDS}]"
    if text == "^":
        # With flag m, four characters end a line in JavaScript, but only LF in Python.
        return f"(?<![^{_ENDS}])" if "m" in flags else "\\A"
    if text == "$":
        return f"(?![^{_ENDS}])" if "m" in flags else "\\Z"
    return text


def _translate_escape(text: str, *, many: bool) -> str | None:
    if text in _SETS:
        return f"[{_SETS[text]}]"
    if text.lower() in _SETS:
        return f"[^{_SETS[text.lower()]}]" if many else None
    if text == "b" or text[0] in _LETTERS or text[0] in "xu":
        return f"\\{text}"
    if not _is_itself(text):
        return None
    return text if text.isalpha() else re.escape(text)


def _is_itself(escaped: str) -> bool:
    """Whether a character means only itself after a backslash."""
    is_word = escaped.isalnum() or escaped == "_"
    return escaped.isascii() and (not is_word or escaped in _IDLE_LETTERS)


def _translate_class(text: str, *, many: bool) -> str | None:
    negated = text.startswith("[^")
    if text in _ANYTHING:
        return "(?s:.)" if many else None
    if negated and not many:
        return None
    items = [_translate_class_item(item) for item in _INNER.findall(text[2 if negated else 1 : -1])]
    if None in items or _has_set_in_range(items):
        return None
    return f"[{'^' if negated else ''}{''.join(item for item in items if item)}]"


def _translate_class_item(text: str) -> str | None:
    if not text.startswith("\\"):
        return f"\\{text}" if text in "[&~|^" else text
    inner = text[1:]
    if inner in _SETS:
        return _SETS[inner]
    if inner == "b":
        return "\\x08"
    if inner[0] in _LETTERS or inner[0] in "xu":
        return text
    if not _is_itself(inner):
        return None
    return inner if inner.isalpha() else f"\\{inner}"


def _has_set_in_range(items: list[str | None]) -> bool:
    """Whether a range ends with a set of characters; JavaScript reads it as three single items."""
    sets = set(_SETS.values())
    triples = zip(items, items[1:], items[2:], strict=False)
    return any(mid == "-" and not sets.isdisjoint((low, high)) for low, mid, high in triples)
