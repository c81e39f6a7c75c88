"""Folds lines and commands to a width in columns, allowing for colours and wide characters."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

# A command in a sentence goes on until a punctuation mark, the end of its brackets, or a word of
# prose. A word too many does no harm.
_PROSE = (
    "and|answers|are|as|at|be|before|begins|brings|by|can|does|each|else|finds|first|for|from|goes|"
    "has|have|here|holds|in|instead|is|it|its|itself|joins|keeps|knows|lists|makes|means|names|"
    "needs|of|on|once|one|or|pushes|reads|releases|runs|says|sets|ships|shows|some|tells|that|the|"
    "their|them|then|there|this|to|until|what|when|where|which|will|with|writes"
)
_GIT = (
    "-C|add|branch|checkout|clone|commit|config|diff|fetch|init|log|ls-remote|merge|pull|push|"
    "rebase|remote|reset|restore|rm|show|stash|status|switch|tag|update-ref|worktree"
)
_WORD = r""" (?:"[^"]*"|'[^']*'|[;,:.](?=\S)|(?!\)(?:[\s;,:.]|$))[^\s;,:.])+"""
# Compiled when it is first used: most answers are not sentences.
COMMAND = (
    rf"(?<![\w./-])(?:evalstore|pip|git(?= (?:{_GIT})\b))(?:(?! "
    rf"(?:{_PROSE})(?![^\s;,.:)])){_WORD})+"
)
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_CHARACTER = re.compile(rf"{_COLOUR.pattern}|.", re.DOTALL)
_SHELL_WORD = re.compile(r"""(?:'[^']*'|"[^"]*"|\S)+""")
_ON = " \\"  # after which a shell, too, continues with the next line
_WIDE = frozenset("WF")  # East Asian widths of two columns (UAX #11)


def measure_columns(text: str) -> int:
    """Return how many terminal columns a text takes; its colours take none."""
    if text.isascii():
        return len(_COLOUR.sub("", text) if "\x1b" in text else text)
    return sum(map(_measure_character, _COLOUR.sub("", text)))


def fold_command(command: str, width: int) -> list[str]:
    """Return a command in lines that can be pasted.

    They have at most `width` columns, except that no word is cut.
    """
    if measure_columns(command) <= width:
        return [command]
    first, *words = _SHELL_WORD.findall(command)
    lines = [first]
    for number, word in enumerate(words, 1):
        if measure_columns(f"{lines[-1]} {word}{'' if number == len(words) else _ON}") > width:
            lines.append(f"    {word}")
        else:
            lines[-1] += f" {word}"
    return [*(f"{line}{_ON}" for line in lines[:-1]), lines[-1]]


def fold_text(text: str, width: int) -> str:
    """Return a coloured text in which no line takes more than `width` columns."""
    return "\n".join(part for line in text.split("\n") for part in _fold_line(line, width))


def _fold_line(line: str, width: int) -> Iterator[str]:
    """Yield a line in parts that fit, all but the first indented.

    Only commands keep words that are too long.
    """
    if measure_columns(line) <= width:
        yield line
        return
    plain = _COLOUR.sub("", line)
    commands = [found.span() for found in re.finditer(COMMAND, plain)]
    margin = " " * min(len(plain) - len(plain.lstrip(" ")) + 2, width // 2)
    current, column, offset = "", 0, 0
    for found in re.finditer(r" *[^ ]+", line):
        word = found[0]
        start = offset + len(word) - len(word.lstrip(" "))
        offset += len(_COLOUR.sub("", word))
        is_inside = any(first < start < end for first, end in commands)
        room = width - (
            len(_ON) if any(first <= start and offset < end for first, end in commands) else 0
        )
        if current.strip() and column + measure_columns(word) > room:
            yield current + (_ON if is_inside else "")
            word = word.lstrip(" ")
            current = margin if len(margin) + measure_columns(word) <= room else ""
            column = len(current)
        if is_inside:
            current, column = current + word, column + measure_columns(word)
            continue
        for character in _CHARACTER.findall(word):
            size = measure_columns(character)
            if column + size > width:
                yield current
                current, column = "", 0
            current, column = current + character, column + size
    yield current


def _measure_character(character: str) -> int:
    if character.isascii():
        return 1
    if unicodedata.combining(character) or unicodedata.category(character) in {"Mn", "Me"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in _WIDE else 1
