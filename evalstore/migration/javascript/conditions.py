"""Translates JavaScript conditions on a text `output` to checks, where both surely mean the same.

No code is run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from evalstore.migration.javascript.expressions import (
    REGEX,
    STRING,
    Language,
    UnreadError,
    find_condition,
    read_string,
    translate_condition,
)
from evalstore.migration.javascript.json_conditions import read_json_condition
from evalstore.migration.javascript.patterns import escape_literals, split_pairs, translate_pattern
from evalstore.migration.javascript.searches import CALL, EQUAL, write_search
from evalstore.migration.javascript.values import UNITS_STEP

_LOWER = r"(?P<lower>\.toLowerCase\(\))?"
_INCLUDES = re.compile(rf"(?P<not>!\s*)?output{_LOWER}\.includes\(\s*(?P<text>{STRING})\s*\)")
_CALL, _EQUAL = (re.compile(rf"output{how}") for how in (CALL, EQUAL))
_LENGTH = re.compile(r"output\.length\s*(?P<sign><=?|>=?|===)\s*(?P<number>[0-9]{1,5})(?![\w.])")
_TEST = re.compile(rf"(?P<pattern>{REGEX})(?P<flags>[imsg]*)\.test\(\s*output\s*\)(?!\s*[=<>.\[])")
_NEVER, _FOLDED = "(?!)", "(?i:"
_LONGEST = 20_000


def read_condition(code: str) -> dict[str, Any] | None:
    """Return the check that means the same as a condition; None if none surely does."""
    text = find_condition(code)
    if text is None:
        return None
    for between, any_of in ((r"\s*&&\s*", False), (r"\s*\|\|\s*", True)):
        found = list(_match_all(_INCLUDES, re.split(between, text)))
        if check := _read_texts(found, any_of=any_of):
            return check
    if on_json := read_json_condition(text):
        steps = {"on": on_json.steps} if on_json.steps else {}
        whole = {"extract": "whole", "dialect": "javascript"}
        return {"kind": "json_schema", "schema": on_json.schema, **whole, **steps}
    said = translate_condition(text, _LANGUAGE)
    return said and _make_check(said)


def is_statement(code: str) -> bool:
    """Whether a line of code begins with `return`.

    Such a line is not an expression, so promptfoo cannot run it.
    """
    return "\n" not in code.rstrip() and re.match(r"\s*return\b(?!\$)", code) is not None


def _match_all(pattern: re.Pattern[str], parts: list[str]) -> Iterator[re.Match[str]]:
    """Yield the match of each part, or nothing at all if a part does not match."""
    found = [match for part in parts if (match := pattern.fullmatch(part))]
    yield from found if len(found) == len(parts) else ()


def _read_texts(found: list[re.Match[str]], *, any_of: bool) -> dict[str, Any] | None:
    """Return the check of phrases that are all looked for in one way; None for any other."""
    texts = list(dict.fromkeys(read_string(match["text"]) for match in found))
    lowers, nots = ({bool(match[name]) for match in found} for name in ("lower", "not"))
    folded = lowers == {True}
    if not texts or len(lowers) > 1 or len(nots) > 1 or not all(texts):
        return None
    # A text with a capital is in no text in lower case.
    if folded and any(text != text.lower() for text in texts):
        return None
    common = {"values": texts, "case_sensitive": not folded}
    if nots == {True}:
        return None if any_of and texts[1:] else {"kind": "must_not_contain", **common}
    least = {} if any_of or not texts[1:] else {"min_matches": len(texts)}
    return {"kind": "must_contain_any", **common, **least}


class _Pattern(NamedTuple):
    """A condition as a pattern of the texts that meet it.

    It must match at the start, or may match anywhere. `is_turned`: the condition is met by texts
    that do not match. `counts_units`: a character above U+FFFF counts as two, as in JavaScript.
    """

    text: str
    is_anywhere: bool = False
    is_turned: bool = False
    counts_units: bool = False

    @property
    def look(self) -> str:
        """The pattern as one that matches at the start, and takes no characters."""
        text = f"(?:{self.text})" if "|" in self.text else self.text
        return f"(?{'!' if self.is_turned else '='}{'(?s:.)*?' if self.is_anywhere else ''}{text})"


def _make_check(said: _Pattern) -> dict[str, Any]:
    pattern = said.text if said.is_anywhere else f"\\A{said.text}"
    # With (?a), `\b` and ignoring case concern only ASCII, as in JavaScript. The engine allows it
    # only for a whole pattern.
    fold = "(?a)" if "\\b" in pattern or _FOLDED in pattern else ""
    turned = {"negate": True} if said.is_turned else {}
    if not said.counts_units:
        return {"kind": "regex", "pattern": fold + pattern, **turned}
    return {"kind": "regex", "pattern": fold + split_pairs(pattern), "on": [UNITS_STEP], **turned}


def _read_part(text: str, start: int) -> tuple[_Pattern, int] | None:
    if match := _CALL.match(text, start):
        return _read_call(match), match.end()
    if match := _TEST.match(text, start):
        return _read_test(match), match.end()
    match = _EQUAL.match(text, start) or _LENGTH.match(text, start)
    if match is None:
        return None
    if text[:start].rstrip().endswith("!"):  # it binds tighter than a comparison
        raise UnreadError
    return (_read_length if match.re is _LENGTH else _read_call)(match), match.end()


def _read_call(match: re.Match[str]) -> _Pattern:
    name = match["name"] if match.re is _CALL else "==="
    text, is_anywhere = write_search(name, read_string(match["text"]), match["made"])
    return _Pattern(text, is_anywhere)


def _read_length(match: re.Match[str]) -> _Pattern:
    number, sign = int(match["number"]), match["sign"]
    if number > _LONGEST:
        raise UnreadError
    low = number + (sign == ">") if sign[0] in ">=" else 0
    if sign[0] == ">":
        # A text with at least one unit has at least one character.
        return _Pattern(f"(?s:.){{{low}}}", counts_units=low > 1)
    high = number - (sign == "<")
    if high < 0:
        return _Pattern(_NEVER)
    return _Pattern(f"(?s:.){{{low},{high}}}\\Z", counts_units=high > 0)


def _read_test(match: re.Match[str]) -> _Pattern:
    # A pattern literal is created anew for each run, so it has no `lastIndex` to continue from.
    flags = match["flags"].replace("g", "")
    if len(set(flags)) < len(flags):
        raise UnreadError
    found = translate_pattern(escape_literals(match["pattern"][1:-1]), flags)
    if found is None:
        raise UnreadError
    pattern = found[0].removeprefix("(?a)")
    return _Pattern(f"{_FOLDED}{pattern})" if found[1] else pattern, is_anywhere=True)


def _join_all(parts: Sequence[_Pattern]) -> _Pattern:
    looks = "".join(part.look for part in parts)
    return _Pattern(looks, counts_units=any(part.counts_units for part in parts))


def _join_any(parts: Sequence[_Pattern]) -> _Pattern:
    looks = f"(?:{'|'.join(part.look for part in parts)})"
    return _Pattern(looks, counts_units=any(part.counts_units for part in parts))


_LANGUAGE = Language(
    _read_part, _join_all, _join_any, lambda part: part._replace(is_turned=not part.is_turned)
)
