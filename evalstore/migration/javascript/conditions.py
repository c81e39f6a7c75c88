"""Reads those conditions of JavaScript on a text `output` that a check here says.

The check is proved to say the same. No code is run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, NamedTuple

from evalstore.migration.javascript.patterns import escape_literals, translate_pattern

_STRING = r"""(?:'(?:[^'\\\n]|\\['"\\n])*+'|"(?:[^"\\\n]|\\['"\\n])*+")"""
_LOWER = r"(?P<lower>\.toLowerCase\(\))?"
_INCLUDES = re.compile(rf"(?P<not>!\s*)?output{_LOWER}\.includes\(\s*(?P<text>{_STRING})\s*\)")
_LENGTH = re.compile(r"output\.length\s*(?P<sign><=?|>=?)\s*(?P<number>[0-9]{1,5})")
_TEST = re.compile(
    r"(?P<not>!\s*)?/(?P<pattern>(?:[^/\\\n\[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+)/"
    r"(?P<flags>[imsg]*)\.test\(\s*output\s*\)"
)
_FIELD = re.compile(
    (
        r"JSON\.parse\(\s*output\s*\)\.(?P<key>[A-Za-z_]\w*)\s*===\s*"
        rf"(?P<value>{_STRING}|true|false|-?[0-9]{{1,15}}(?:\.[0-9]{{1,6}})?)"
    ),
    re.ASCII,
)
_RETURN = re.compile(r"\s*return[ \t]+(?P<what>[^;]*;?)\s*", re.DOTALL)
_AND, _OR = re.compile(r"\s*&&\s*"), re.compile(r"\s*\|\|\s*")
# Keys that values have beside those of JSON.
_OWN_KEYS = frozenset({"length", "constructor", "__proto__"})
_LONGEST = 20_000


class ConditionCheck(NamedTuple):
    """The check that says a condition.

    `may_throw`: where it cannot be asked, it fails, turned round or not. `counts_units`: it counts
    characters as JavaScript does. `reads_json`: it reads JSON as JavaScript does.
    """

    check: dict[str, Any]
    may_throw: bool = False
    counts_units: bool = False
    reads_json: bool = False


def read_condition(code: str) -> ConditionCheck | None:
    """Return the check that a condition comes to; None where none is proved to."""
    body = code.rstrip()
    if "\n" in body:  # the body of a function; one line is an expression by itself
        match = _RETURN.fullmatch(body)
        body = match["what"] if match else ""
    text = body.strip().removesuffix(";").strip()
    if field := _FIELD.fullmatch(text):
        return _read_field(field)
    if tested := _TEST.fullmatch(text):
        return _read_test(tested)
    for between, any_of in ((_AND, False), (_OR, True)):
        parts = between.split(text)
        if lengths := list(_match_all(_LENGTH, parts)):
            return None if any_of and parts[1:] else _read_lengths(lengths)
        if texts := list(_match_all(_INCLUDES, parts)):
            return _read_texts(texts, any_of=any_of)
    return None


def is_statement(code: str) -> bool:
    """Whether a line of code begins with `return`.

    That is no expression, so the line never runs.
    """
    return "\n" not in code.rstrip() and re.match(r"\s*return\b(?!\$)", code) is not None


def _match_all(pattern: re.Pattern[str], parts: list[str]) -> Iterator[re.Match[str]]:
    """Yield the match of each part; none where one does not match."""
    found = [match for part in parts if (match := pattern.fullmatch(part))]
    yield from found if len(found) == len(parts) else ()


def _read_texts(found: list[re.Match[str]], *, any_of: bool) -> ConditionCheck | None:
    texts = list(dict.fromkeys(_read_string(match["text"]) for match in found))
    lowers, nots = ({bool(match[name]) for match in found} for name in ("lower", "not"))
    folded = lowers == {True}
    if len(lowers) > 1 or len(nots) > 1 or not all(texts):
        return None
    # A text with a capital is in no text in lower case.
    if folded and any(text != text.lower() for text in texts):
        return None
    common = {"values": texts, "case_sensitive": not folded}
    if nots == {True}:
        if any_of and texts[1:]:
            return None
        return ConditionCheck({"kind": "must_not_contain", **common})
    least = {} if any_of or not texts[1:] else {"min_matches": len(texts)}
    return ConditionCheck({"kind": "must_contain_any", **common, **least})


def _read_lengths(found: list[re.Match[str]]) -> ConditionCheck | None:
    low, high = 0, None
    for match in found:
        number, sign = int(match["number"]), match["sign"]
        if sign[0] == ">":
            low = max(low, number + (sign == ">"))
        else:
            most = number - (sign == "<")
            high = most if high is None else min(high, most)
    if max(low, high or 0) > _LONGEST:
        return None
    if high is not None and high < low:
        return ConditionCheck({"kind": "regex", "pattern": "(?!)"})
    if high is None:
        return ConditionCheck(
            {"kind": "regex", "pattern": f"\\A(?s:.){{{low}}}"}, counts_units=True
        )
    pattern = f"\\A(?s:.){{{low},{high}}}\\Z"
    return ConditionCheck({"kind": "regex", "pattern": pattern}, counts_units=True)


def _read_test(match: re.Match[str]) -> ConditionCheck | None:
    # A pattern that is written anew has no place to go on from.
    flags = match["flags"].replace("g", "")
    if len(set(flags)) < len(flags):
        return None
    found = translate_pattern(escape_literals(match["pattern"]), flags)
    if found is None:
        return None
    check: dict[str, Any] = {"kind": "regex", "pattern": found[0]}
    check |= {"flags": list(found[1])} if found[1] else {}
    return ConditionCheck({**check, **({"negate": True} if match["not"] else {})})


def _read_field(match: re.Match[str]) -> ConditionCheck | None:
    key, written = match["key"], match["value"]
    if key in _OWN_KEYS:
        return None
    value = (
        _read_string(written) if written[0] in "'\"" else json.loads(written, parse_float=Decimal)
    )
    schema = {"type": "object", "required": [key], "properties": {key: {"const": value}}}
    check = {"kind": "json_schema", "schema": schema, "extract": "whole"}
    return ConditionCheck(check, may_throw=True, reads_json=True)


def _read_string(literal: str) -> str:
    return re.sub(r"\\(.)", lambda match: {"n": "\n"}.get(match[1], match[1]), literal[1:-1])
