"""Translates JavaScript conditions on the JSON of `output` to a JSON Schema."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from evalstore.migration.javascript.expressions import (
    STRING,
    Language,
    UnreadError,
    read_string,
    translate_condition,
)
from evalstore.migration.javascript.searches import CALL, EQUAL, write_search
from evalstore.migration.javascript.values import SPACE, TRIM_STEP, write_number

Schema = dict[str, Any]
# What is left of an output after code has removed the marks of a code fence from both ends.
_UNFENCED = f"\\A(?:```json[{SPACE}]*|```[{SPACE}]*)?((?s:.)*?)(?:[{SPACE}]*```)?\\Z"
# The expressions that are parsed as JSON, and the steps that make their text from an output.
_SOURCES: Mapping[str, list[Any]] = {
    r"output.replace(/^```json\s*|^```\s*|\s*```$/g, '').trim()": [
        {"regex_group": _UNFENCED},
        TRIM_STEP,
    ],
    "output.trim()": [TRIM_STEP],
    "output": [],
}
_SOURCE = "|".join(map(re.escape, _SOURCES))
_PATH = rf"JSON\.parse\(\s*(?P<source>{_SOURCE})\s*\)(?P<path>(?:\??\.[A-Za-z_]\w*)+)"
_LITERAL = rf"(?:{STRING}|true|false|null|-?(?:0|[1-9][0-9]{{0,14}})(?:\.[0-9]{{1,6}})?)(?![\w.])"
_WORDS = {"true": True, "false": False, "null": None}
# Properties of objects, lists and texts that are not keys of their JSON, and not functions.
_OWN_KEYS = frozenset({"length", "constructor", "__proto__"})


class JsonCondition(NamedTuple):
    """A translated condition on JSON: the steps that make the JSON from an output, and a schema."""

    steps: list[Any]
    schema: Schema


def read_json_condition(text: str) -> JsonCondition | None:
    """Return what a condition on the JSON of an output demands; None if no schema expresses it.

    Code that throws an exception, as for a text that is not JSON, fails.
    """
    paths = list(re.finditer(_PATH, text, re.ASCII))
    sources = {path["source"] for path in paths}
    # With `||` it matters which part throws first; a path into null or undefined throws.
    is_deep = any(path["path"].count(".") > 1 for path in paths)
    if len(sources) != 1 or (is_deep and "||" in text):
        return None
    schema = translate_condition(text, _LANGUAGE)
    return None if schema is None else JsonCondition(_SOURCES[sources.pop()], schema)


def _read_part(text: str, start: int) -> tuple[Schema, int] | None:
    for pattern, make in _PARTS:
        if match := pattern.match(text, start):
            keys = re.findall(r"\w+", match["path"])
            if not _OWN_KEYS.isdisjoint(keys):
                raise UnreadError
            schema = make(match)
            for key in reversed(keys):
                schema = {"type": "object", "required": [key], "properties": {key: schema}}
            return schema, match.end()
    return None


def _read_value(literal: str) -> Any:
    if literal[0] in "'\"":
        return read_string(literal)
    return _WORDS[literal] if literal in _WORDS else Decimal(repr(float(literal)))


def _make_equal(match: re.Match[str]) -> Schema:
    return {"const": _read_value(match["value"])}


def _make_typed(match: re.Match[str]) -> Schema:
    if match["value"] != "number":
        return {"type": match["value"]}
    # An infinite number has none of the types of a schema.
    return {"not": {"type": ["array", "boolean", "null", "object", "string"]}}


def _make_printed(match: re.Match[str]) -> Schema:
    """Return the schema of values that `String()` writes as a text, such as a list of only it."""
    text, name = read_string(match["value"]), f"printed_{match.start()}"
    if not text or "," in text or text in _ODD_TEXTS or text.startswith("function"):
        raise UnreadError
    values: list[Any] = [text]
    if text in _WORDS:
        values.append(_WORDS[text])
    elif re.fullmatch(r"-?[0-9]{1,15}(?:\.[0-9]{1,6})?", text):
        number = Decimal(repr(float(text)))
        values += [number] if write_number(number) == text else []
    lists = {"type": "array", "minItems": 1, "maxItems": 1, "items": {"$ref": f"#{name}"}}
    return {"$anchor": name, "anyOf": [{"enum": values}, lists]}


def _make_listed(match: re.Match[str]) -> Schema:
    return {"enum": list(dict.fromkeys(map(read_string, re.findall(STRING, match["value"]))))}


def _make_search(match: re.Match[str]) -> Schema:
    """Return the schema of a text that contains another; values without that function do not."""
    if "||" in match.string:  # then it would matter which part throws
        raise UnreadError
    name, text = match.groupdict().get("name") or "===", read_string(match["text"])
    pattern, is_anywhere = write_search(name, text, match["made"])
    found = {"type": "string", "pattern": pattern if is_anywhere else f"\\A{pattern}"}
    if name != "includes" or match["made"]:
        return found
    return {"anyOf": [found, {"type": "array", "contains": {"const": text}}]}


# A list with only null is written as an empty text.
_ODD_TEXTS = frozenset({"undefined", "null", "[object Object]", "Infinity", "-Infinity"})
_PARTS: Sequence[tuple[re.Pattern[str], Callable[[re.Match[str]], Schema]]] = [
    (re.compile(rf"{_PATH}\s*===\s*(?P<value>{_LITERAL})", re.ASCII), _make_equal),
    (
        # What is not there is written as undefined, so that a guard against it says nothing more.
        re.compile(
            rf"(?:typeof\s+(?P<guarded>JSON\.parse\([^)]*\)[\w.]+)\s*!==?\s*['\"]undefined['\"]"
            rf"\s*&&\s*(?=String\((?P=guarded)\)))?String\({_PATH}\)\s*===\s*(?P<value>{STRING})",
            re.ASCII,
        ),
        _make_printed,
    ),
    (
        re.compile(
            rf"typeof\s+{_PATH}\s*===\s*['\"](?P<value>string|number|boolean)['\"]", re.ASCII
        ),
        _make_typed,
    ),
    (re.compile(rf"{_PATH}{CALL}", re.ASCII), _make_search),
    (re.compile(rf"{_PATH}{EQUAL}", re.ASCII), _make_search),
    (re.compile(rf"Array\.isArray\({_PATH}\)", re.ASCII), lambda _: {"type": "array"}),
    (
        re.compile(
            rf"\[(?P<value>\s*{STRING}(?:\s*,\s*{STRING})*)\s*\]\.includes\({_PATH}\)", re.ASCII
        ),
        _make_listed,
    ),
]


def _join_all(schemas: Sequence[Schema]) -> Schema:
    names = [name for schema in schemas for name in schema.get("required", [None, None])]
    if len(set(names)) < len(names):
        return {"allOf": list(schemas)}
    properties = {name: item for one in schemas for name, item in one["properties"].items()}
    return {"type": "object", "required": names, "properties": properties}


def _turn(_: Schema) -> Schema:
    raise UnreadError  # an exception fails, negated or not


def _join_any(schemas: Sequence[Schema]) -> Schema:
    return {"anyOf": list(schemas)}


_LANGUAGE: Language[Schema] = Language(_read_part, _join_all, _join_any, _turn)
