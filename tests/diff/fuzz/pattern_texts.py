"""Texts in which a pattern finds something, or nearly: drawn from its tree, and of letters that a fold relates."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from random import Random

from evalstore.languages.patterns.atoms import build_reader
from evalstore.languages.patterns.parser import parse_pattern
from evalstore.languages.patterns.syntax_tree import (
    Alternation,
    Anchor,
    Atom,
    Atomic,
    BackReference,
    Concatenation,
    Conditional,
    Group,
    Lookahead,
    Lookbehind,
    RegexTree,
    Repetition,
    UndecidedError,
)
from tests.diff.fuzz.words import BLANKS, ODD

_LETTERS = [*"abckKisIASxz1_-.#{}[", *ODD, *BLANKS, "\u01c5", "\u0345", "\ufb01", "\u0663", "\u03b1"]
# What a fold relates, each to the others.
_MATES = ["kK\u212a", "sS\u017f", "iI\u0130\u0131", "\u00df\u1e9e", "\u03c3\u03c2\u03a3", "aA", "bB", "\u0307\u0301"]
_MORE = 2  # repeats beyond the least


def draw_text(random: Random, pattern: str, flags: str) -> str | None:
    """Return a text near what a pattern matches; None for a pattern that is not known for sure."""
    try:
        tree = parse_pattern(pattern, flags)
        text = _draw(random, tree, {})
    except UndecidedError:
        return None
    return _spoil(random, text) if random.random() < 0.5 else text


def _vary(random: Random, text: str) -> str:
    """Write a letter for another that one flag, one class or one alphabet takes for the same sort, and another does not."""
    at = random.randrange(len(text))
    sorts = [("\u0663\u00b2\uff11", str.isdigit), ("\x1f\u2028\x85\u00a0\u200b\x0b", str.isspace)]
    sorts += [("\u00e9\u0416\u4e2d\u00df\u0301_1", str.isalnum), (".-", lambda _: True)]
    letters = next(letters for letters, is_of in sorts if is_of(text[at]))
    mates = [mate for mate in _MATES if text[at] in mate]
    return text[:at] + random.choice(random.choice([letters, *mates])) + text[at + 1 :]


def _spoil(random: Random, text: str) -> str:
    if text and random.random() < 0.6:
        return _vary(random, text)
    at = random.randrange(len(text) + 1)
    extra = random.choice([random.choice(_LETTERS), "", text])
    return random.choice(
        [text[:at] + extra + text[at + 1 :], text[:at] + extra + text[at:], text.swapcase(), f"\n{text}", f"{text}\n"]
    )


def _draw(random: Random, tree: RegexTree, groups: dict[int, str]) -> str:
    match tree:
        case Concatenation(parts=parts):
            return "".join([_draw(random, part, groups) for part in parts])
        case Alternation(parts=parts):
            return _draw(random, random.choice(parts), groups)
        case Repetition(body=body, least=least, most=most):
            highest = least + _MORE if most is None else max(least, min(most, least + _MORE))
            return "".join([_draw(random, body, groups) for _ in range(random.randint(least, highest))])
        case Lookahead(body=body, positive=positive) | Lookbehind(body=body, positive=positive):
            return _draw(random, body, groups) if positive and random.random() < 0.5 else ""
        case Group(body=body, number=number):
            groups[number] = _draw(random, body, groups)
            return groups[number]
        case Atomic(body=body):
            return _draw(random, body, groups)
        case BackReference(number=number):
            return groups.get(number, "")
        case Conditional(yes=yes, no=no):
            return _draw(random, random.choice([yes, no]), groups)
        case Anchor():
            return random.choice(["", "", "", "\n"])
    return random.choice(_list_letters(tree))


@lru_cache(maxsize=4096)
def _list_letters(atom: Atom) -> str:
    """Return the letters of a small alphabet that an atom matches, and the atom's own."""
    reads = build_reader(atom)
    own = [getattr(atom, "char", "")] if hasattr(atom, "char") else list(getattr(atom, "chars", ""))
    return "".join(letter for letter in (*own, *_LETTERS) if letter and len(letter) == 1 and reads(letter)) or "a"


def list_patterns(value: Mapping[str, object]) -> list[tuple[str, str]]:
    """Return the patterns of the checks of an artifact, each with its flags."""
    checks = value.get("checks", ())
    found = [
        (one["pattern"], "".join(one.get("flags") or ""))
        for one in (checks if isinstance(checks, list) else ())
        if isinstance(one, dict) and isinstance(one.get("pattern"), str)
    ]
    return [(pattern, flags) for pattern, flags in found if isinstance(flags, str)]
