"""Regular expressions and edits of them: the regular fragment, what lies beyond it, and other words for the same."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random
from typing import Any

from evalstore.languages.patterns import compile_pattern

ATOMS = ["a", "b", "A", "k", "s", "i", "1", "\u00df", "\u0130", "\u017f", "\u03c3", " ", "\\n", r"\.", "#", "-"]
# Other letters, and other ways to write a letter: what a fold relates, and every escape that there is.
LETTERS = [
    "\u212a",
    "\u0131",
    "\u1e9e",
    "\u03a3",
    "\u03c2",
    "\u0301",
    "\u01c5",
    "\u0345",
    "\ufb01",
    "\U0001f600",
    "\u2028",
    "\x1f",
    "{",
    "}",
    "]",
]
ESCAPES = [
    r"\x61",
    r"\u0061",
    r"\U00000061",
    r"\101",
    r"\012",
    r"\t",
    r"\r",
    r"\f",
    r"\v",
    r"\a",
    r"\ ",
    r"\#",
    r"\-",
    r"\{",
    r"\u0130",
    r"\x4b",
]
CLASSES = [".", r"\d", r"\w", r"\s", r"\W", "[ab]", "[^a]", "[a-c]", "[^ab]", "[A-Z]", r"[\s-]", "[k\u0130]"]
ODD_CLASSES = [
    r"\D", r"\S", r"[\d_]", r"[^\w]", r"[\W\d]", r"[\s\S]", r"[^\s\S]", "[]a]", "[^]a]", "[a-]", r"[\x61-\x63]", r"[\b]", "[\u03b1-\u03c9]",
    "[\u0130\u0131]", "[^\u017f]", "[^k]", "[a-z\u00df]", r"\p{L}", r"\P{L}", r"\p{Lu}", r"\pN", r"[\p{L}1]", r"[^\p{Ll}]", r"\N{LATIN SMALL LETTER A}",
    "[[:alpha:]]", "[[:^digit:]a]", "[a[:space:]]", r"[\^a]", "[a^]", "[ #]",
]  # fmt: skip
PLACES = ["^", "$", r"\A", r"\Z", r"\b", r"\B"]
COUNTS = ["*", "+", "?", "{1,2}", "{2}", "{0,1}", "*?", "+?", "{,2}"]
ODD_COUNTS = ["??", "{1,}", "{2,}?", "{1,2}?", "{0}", "{0,0}", "{1}", "{,2}?", "*+", "++", "?+", "{1,2}+"]
# Groups of every sort, each with what is in it.
GROUPS = ["(?:%s)", "(%s)", "(?i:%s)"]
ODD_GROUPS = [
    "(?m:%s)", "(?s:%s)", "(?x:%s )", "(?x:%s#n\n)", "(?im:%s)", "(?is:%s)", "(?-i:%s)", "(?-s:%s)", "(?i-s:%s)", "(?s-i:%s)", "(?-x:%s)", "(?mx-i:%s)",
    "(?i:%s(?-i:a))", "(?-i:k(?i:%s))", "(?a:%s)", "(?u:%s)", "(?ai:%s)", "(?P<n>%s)", "(?<n>%s)", "(?>%s)", "(?:%s)(?#note)", "(?:|%s)", "(?:%s|)",
]  # fmt: skip
AROUND = ["(?=%s)", "(?!%s)"]
ODD_AROUND = ["(?<=%s)", "(?<!%s)", "(?=%s|$)", "(?!%s$)", r"(?<=\A%s)", "(?<=^%s)", "(?=.*%s)", "(?!.*%s)"]
# Flags for all of it, at its head.
HEADS = [
    "(?i)",
    "(?a)",
    "(?ai)",
    "(?ia)",
    "(?m)",
    "(?s)",
    "(?x)",
    "(?im)",
    "(?is)",
    "(?u)",
    "(?iu)",
    "(?i)(?s)",
    "(?am)",
    "(?ax)",
]
# What refers to a group, and what the engine alone knows, or refuses.
STRANGE = [
    r"(a)\1", r"(?i)(a)\1", r"(?i:(a)\1)", r"(a|b)\1", "(?P<n>a)(?P=n)", "(a)?(?(1)b|c)", "(?P<n>a)?(?(n)b)", "(?<=a)b", "(?<!a)b", "a++", "(?>a|ab)b",
    r"\p{L}", "[[:alpha:]]", "a(?i)b", "(?:a){e<=1}", "(?R)?a", "(?|a|b)", r"a\Kb", r"\X", r"\R", r"\m a", r"\G a", r"\h", "(?f)\u00df", "(?fi)\u00df", "(?V1)[a--b]",
    "(?w)\\b a", "(?r)a", "(?b)a", "(?L:a)", "(*FAIL)|a", r"(?P<n>a)(?&n)", r"\L<x>a", "a{,}", "a{2,1}", "{1}a", "a**", "(?#note)a", "(?#n|m)a|b", "x{a}", "a{1",
]  # fmt: skip
# What is the same, or nearly, and under some flag or letter is not: each may be written for the other.
ALIKE = [
    [r"\w", "[a-zA-Z0-9_]", r"[^\W]", r"(?a:\w)", r"[\w]", r"(?i:[a-z0-9_])", r"[\p{L}\d_]"],
    [r"\d", "[0-9]", r"[^\D]", r"(?a:\d)", r"\p{Nd}", "[[:digit:]]"],
    [r"\s", r"[ \t\n\r\f\v]", r"[^\S]", r"(?a:\s)", "[[:space:]]", r"[\s\x1f]"],
    [r"\b", r"(?a:\b)", r"(?:(?<=\w)(?!\w)|(?<!\w)(?=\w))", r"(?!\B)"],
    ["a", "[a]", "[aA]", "(?i:a)", r"\x61", r"\u0061", "(?:a)", "a{1}", "(?-i:a)", "(?a:a)"],
    ["k", "[kK]", "(?i:k)", "[k\u212a]", "(?ai:k)", "[kK\u212a]", "(?i:\u212a)", r"(?i:\u212a)"],
    ["i", "[iI]", "(?i:i)", "[i\u0130]", "[iI\u0131]", "(?ai:i)"],
    ["s", "[sS]", "(?i:s)", "[s\u017f]", "[sS\u017f]", "(?i:\u017f)"],
    ["\u00df", "\u1e9e", "(?i:\u00df)", "ss", "[\u00df\u1e9e]"],
    ["\u03c3", "[\u03c3\u03c2]", "(?i:\u03c3)", "(?i:\u03c2)", "[\u03c3\u03c2\u03a3]"],
    [".", r"[^\n]", "(?s:.)", r"[\s\S]", r"(?!\n)[\s\S]", "(?-s:.)"],
    ["$", r"\Z", "(?m:$)", r"(?=\n?\Z)", "(?!.)", r"(?![\s\S])"],
    ["^", r"\A", "(?m:^)", "(?<!.)", r"(?<![\s\S])", r"(?<![^\n])"],
    [r"\ ", " ", "[ ]", r"\x20", "(?x: )"],
    [r"\#", "#", "[#]", "(?x:#\n)"],
]
FLAGS = ["", "", "i", "m", "s", "x", "im", "ms", "is", "ix", "imsx", "mi", ["i"], ["i", "s"], ["m", "x"], []]
MODES = ["search", "match", "fullmatch"]
_HEAD = re.compile(r"^(?:\(\?[aimsux]+\))+")
_GROUP_FLAGS = re.compile("(?<=\\(\\?)[imsx-]+:")
_RICH = 0.3  # so many patterns are drawn of everything that there is
_TRIES = 8


def pattern(random: Random, depth: int = 2) -> str:
    """Return a pattern that compiles, with rare exceptions."""
    is_rich = random.random() < _RICH
    made = ""
    for _ in range(_TRIES):
        made = _draw(random, depth, is_rich=is_rich)
        if random.random() < 0.02 or not isinstance(compile_pattern(made, ""), str):
            return made
    return random.choice(ATOMS)


def _draw(random: Random, depth: int, *, is_rich: bool) -> str:
    if depth == 2 and random.random() < (0.15 if is_rich else 0.02):
        return random.choice(STRANGE)
    width = random.choice([1, 1, 2, 2, 3])
    rows = ["".join(_item(random, depth, is_rich=is_rich) for _ in range(width)) for _ in range(_rows(random))]
    head = random.choice(HEADS) if depth == 2 and random.random() < (0.25 if is_rich else 0.03) else ""
    return head + "|".join(rows)


def draw_alike(random: Random) -> tuple[str, str]:
    """Return two patterns that differ in one part, which is the same in both, or nearly."""
    one, other = random.sample(random.choice(ALIKE), 2)
    head = random.choice(["", "", "", *HEADS])
    form = random.choice(["%s", "%s", "%s", random.choice(GROUPS + ODD_GROUPS), random.choice(AROUND + ODD_AROUND)])
    before, after = (
        random.choice(["", "", "", random.choice(random.choice([ATOMS, CLASSES, PLACES]))]) for _ in range(2)
    )
    made = f"{head}{before}{form}{random.choice(['', '', '', '+', '*', '?', '{2}'])}{after}"
    return made.replace("%s", one), made.replace("%s", other)


def params(random: Random) -> dict[str, Any]:
    """Return what a regex check says beside its kind."""
    made: dict[str, Any] = {"pattern": pattern(random)}
    if random.random() < 0.3:
        made["flags"] = random.choice(FLAGS)
    if random.random() < 0.3:
        made["mode"] = random.choice(MODES)
    return made


def edit(random: Random, check: dict[str, Any]) -> None:
    """Say the same otherwise, or nearly the same."""
    random.choice(_EDITS)(random, check)


def _rows(random: Random) -> int:
    return random.choice([1, 1, 1, 2])


def _item(random: Random, depth: int, *, is_rich: bool) -> str:
    how = random.random()
    if is_rich and random.random() < 0.3:
        return random.choice(random.choice(ALIKE)) + random.choice(["", "", "", "+", "?", "{2}"])
    if how < 0.45:
        return random.choice(random.choice([ATOMS, LETTERS, ESCAPES]) if is_rich else ATOMS)
    if how < 0.65:
        return random.choice([*CLASSES, *ODD_CLASSES] if is_rich else CLASSES)
    if how < 0.73:
        return random.choice(PLACES)
    if how < 0.83:
        count = random.choice([*COUNTS, *ODD_COUNTS] if is_rich else COUNTS)
        return random.choice([*ATOMS, *CLASSES, *(ODD_CLASSES if is_rich else ())]) + count
    if depth == 0:
        return random.choice(ATOMS)
    inner = _draw(random, depth - 1, is_rich=is_rich)
    if how < 0.95:
        group = random.choice(random.choice([GROUPS, ODD_GROUPS]) if is_rich else GROUPS) % inner
        return f"{group}{random.choice(['', '', '?', '{2}', '+', *(ODD_COUNTS if is_rich else ())])}"
    return random.choice([*AROUND, *(ODD_AROUND if is_rich else ())]) % inner


def _written(change: Callable[[Random, str], str]) -> Callable[[Random, dict[str, Any]], None]:
    def of(random: Random, check: dict[str, Any]) -> None:
        check["pattern"] = change(random, check["pattern"])

    return of


def _cut(random: Random, text: str) -> str:
    at = random.randrange(len(text) + 1)
    return text[:at] + random.choice([*ATOMS, *CLASSES, *PLACES]) + text[at + random.choice([0, 1]) :]


def _respell(random: Random, text: str) -> str:
    """Write one part for another that is the same, or nearly."""
    found = [(part, row) for row in ALIKE for part in row if part in text]
    if not found:
        return _cut(random, text)
    part, row = random.choice(found)
    places = [one.start() for one in re.finditer(re.escape(part), text)]
    at = random.choice(places)
    return text[:at] + random.choice(row) + text[at + len(part) :]


def _flag(random: Random, check: dict[str, Any]) -> None:
    check["flags"] = random.choice(FLAGS)


def _mode(random: Random, check: dict[str, Any]) -> None:
    check["mode"] = random.choice(MODES)


def _anchored(random: Random, check: dict[str, Any]) -> None:
    """Exchange a mode and the anchors that stand for it, or nearly."""
    before, after = random.choice([(r"\A", r"\Z"), ("^", "$"), (r"\A", ""), ("^", ""), ("", r"\Z")])
    check["pattern"] = f"{before}(?:{check['pattern']}){after}"
    check["mode"] = random.choice(MODES)


def _inline(random: Random, check: dict[str, Any]) -> None:
    """Say the flags in the pattern: at its head, of one group, or of another part than all of it."""
    flags = "".join(check.pop("flags", ""))
    if flags:
        form = random.choice(["(?%s)%s", "(?%s)%s", "(?%s:%s)", "(?%s:%s|)", "a|(?%s:%s)"])
        check["pattern"] = form % (flags, check["pattern"])


_EDITS: list[Callable[[Random, dict[str, Any]], None]] = [
    _written(lambda _, text: f"(?:{text})"),
    _written(lambda _, text: f"({text}|{text})"),
    _written(lambda _, text: f"(?:{text})(?:)"),
    _written(lambda random, text: f"{text}|{pattern(random, 1)}"),
    _written(lambda _, text: f"(?:{text})(?:{text})*"),
    _written(lambda _, text: f"(?:{text})+"),
    _written(lambda _, text: text.replace("a", "[a]", 1)),
    _written(lambda _, text: text.replace("a", r"\x61", 1)),
    _written(lambda _, text: text.replace(r"\d", "[0-9]", 1)),
    _written(_cut),
    _written(_cut),
    _written(_cut),
    _flag,
    _flag,
    _mode,
    _mode,
    _anchored,
    _anchored,
    _inline,
    _inline,
    _written(lambda random, text: random.choice(GROUPS + ODD_GROUPS) % text),
    _written(lambda random, text: random.choice(GROUPS + ODD_GROUPS) % text),
    _written(lambda random, text: random.choice(HEADS) + text),
    _written(lambda random, text: random.choice(ODD_AROUND + AROUND) % text),
    _written(lambda _, text: _GROUP_FLAGS.sub(":", text, count=1)),
    _written(lambda _, text: _HEAD.sub("", text)),
    *[_written(_respell)] * 6,
]
