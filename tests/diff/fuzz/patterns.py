"""Regular expressions and edits of them: the regular fragment, what lies beyond it, and other words for the same."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

ATOMS = ["a", "b", "A", "k", "s", "i", "1", "\u00df", "\u0130", "\u017f", "\u03c3", " ", "\\n", r"\.", "#", "-"]
CLASSES = [".", r"\d", r"\w", r"\s", r"\W", "[ab]", "[^a]", "[a-c]", "[^ab]", "[A-Z]", r"[\s-]", "[k\u0130]"]
PLACES = ["^", "$", r"\A", r"\Z", r"\b", r"\B"]
COUNTS = ["*", "+", "?", "{1,2}", "{2}", "{0,1}", "*?", "+?", "{,2}"]
AROUND = ["(?=%s)", "(?!%s)"]
STRANGE = [
    r"(a)\1",
    "(?<=a)b",
    "(?<!a)b",
    "a++",
    "(?>a|ab)b",
    "(a)?(?(1)b|c)",
    r"\p{L}",
    "[[:alpha:]]",
    "(?P<n>a)(?P=n)",
]
FLAGS = ["", "", "i", "m", "s", "x", "im", "ms", ["i"], ["i", "s"]]
MODES = ["search", "match", "fullmatch"]


def pattern(random: Random, depth: int = 2) -> str:
    """Return a pattern that compiles."""
    if depth == 2 and random.random() < 0.04:
        return random.choice(STRANGE)
    rows = ["".join(_item(random, depth) for _ in range(random.choice([1, 1, 2, 2, 3]))) for _ in range(_rows(random))]
    return "|".join(rows)


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


def _item(random: Random, depth: int) -> str:
    how = random.random()
    if how < 0.45:
        return random.choice(ATOMS)
    if how < 0.65:
        return random.choice(CLASSES)
    if how < 0.75:
        return random.choice(PLACES)
    if how < 0.85:
        return random.choice([*ATOMS, *CLASSES]) + random.choice(COUNTS)
    if depth == 0:
        return random.choice(ATOMS)
    inner = pattern(random, depth - 1)
    if how < 0.95:
        return f"{random.choice(['(?:%s)', '(%s)', '(?i:%s)']) % inner}{random.choice(['', '', '?', '{2}', '+'])}"
    return random.choice(AROUND) % inner


def _written(change: Callable[[Random, str], str]) -> Callable[[Random, dict[str, Any]], None]:
    def of(random: Random, check: dict[str, Any]) -> None:
        check["pattern"] = change(random, check["pattern"])

    return of


def _cut(random: Random, text: str) -> str:
    at = random.randrange(len(text) + 1)
    return text[:at] + random.choice([*ATOMS, *CLASSES, *PLACES]) + text[at + random.choice([0, 1]) :]


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
    flags = "".join(check.pop("flags", ""))
    if flags:
        check["pattern"] = f"(?{flags}){check['pattern']}"


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
]
