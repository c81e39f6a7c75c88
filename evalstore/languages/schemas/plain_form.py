"""Writes a schema without what excludes nothing, and two everyday ways to say one thing as one.

Scoring applies this form and a comparison compares it, so two schemas with the same form take the
same steps. If a reference leads elsewhere than to a definition, a part has a name, or a keyword
asks what others looked at, the schema is left as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import chain
from typing import Any

from evalstore.languages.schemas.subschemas import (
    IDLE_KEYWORDS,
    SCHEMA_LIST_KEYWORDS,
    SCHEMA_MAP_KEYWORDS,
    SINGLE_SCHEMA_KEYWORDS,
)

Keywords = dict[str, Any]
# The empty fragment is removed; before these, a keyword here means something else.
_SINCE_2019 = frozenset(
    f"https://json-schema.org/draft/{name}/schema" for name in ("2020-12", "2019-09")
)
_PLAIN_DIALECTS = _SINCE_2019 | {
    f"http://json-schema.org/{name}/schema" for name in ("draft-07", "draft-06")
}
_DEFINITIONS = ("#/$defs/", "#/definitions/")
_UNSAFE = frozenset(
    {"$anchor", "$dynamicAnchor", "$recursiveAnchor", "$dynamicRef", "$recursiveRef"}
    | {"unevaluatedItems", "unevaluatedProperties"}
)
# Found in every text.
_ANY_TEXT = frozenset({"", "^", "$", ".*", "^.*", ".*$", ".*?", "(.*)", "[\\s\\S]*", "^[\\s\\S]*$"})
_FLOORS = ("minItems", "minLength", "minProperties")
# Schemas of these keywords exclude nothing if they let everything through.
_OPEN_KEYWORDS = ("additionalProperties", "items", "propertyNames")
_ALONE = ("allOf", "anyOf", "oneOf")
# A boolean is an int in Python, so it is tested first.
_NAMES_OF_CLASSES: tuple[tuple[Any, frozenset[str]], ...] = (
    (bool, frozenset({"boolean"})),
    (str, frozenset({"string"})),
    (type(None), frozenset({"null"})),
    (list, frozenset({"array"})),
    (dict, frozenset({"object"})),
)


def make_plain_form(schema: Any, dialect: str) -> Any:
    """Return the plain form of a schema that its dialect accepts.

    The same object if nothing changes.
    """
    if not isinstance(schema, dict) or dialect not in _PLAIN_DIALECTS or not _is_safe(schema):
        return schema
    plain = _simplify(schema, dialect)
    return schema if plain == schema else plain


def _is_safe(schema: Keywords) -> bool:
    waiting, is_root = [schema], True
    while waiting:
        one = waiting.pop()
        if _UNSAFE & one.keys() or ("$id" in one and not is_root):
            return False
        ref = one.get("$ref", "#")
        if ref != "#" and not _names_definition(ref):
            return False
        waiting += [inner for inner in _iterate_inner(one) if isinstance(inner, dict)]
        is_root = False
    return True


def _names_definition(ref: Any) -> bool:
    return isinstance(ref, str) and any(
        ref.startswith(start) and "/" not in ref[len(start) :] for start in _DEFINITIONS
    )


def _iterate_inner(schema: Keywords) -> Iterator[Any]:
    for keyword, value in schema.items():
        if keyword in SCHEMA_MAP_KEYWORDS and isinstance(value, dict):
            yield from value.values()
        elif keyword in SCHEMA_LIST_KEYWORDS and isinstance(value, list):
            yield from value
        elif keyword in SINGLE_SCHEMA_KEYWORDS:
            yield value


def _simplify(schema: Any, dialect: str) -> Any:
    """Return one schema and everything within it, innermost first."""
    if not isinstance(schema, dict):
        return schema
    plain = {key: _simplify_value(key, value, dialect) for key, value in schema.items()}
    _drop_idle(plain, dialect)
    _unite_types(plain)
    _drop_type_of_values(plain)
    _write_point(plain)
    return _unwrap(plain)


def _simplify_value(keyword: str, value: Any, dialect: str) -> Any:
    if keyword in SCHEMA_MAP_KEYWORDS and isinstance(value, dict):
        return {name: _simplify(inner, dialect) for name, inner in value.items()}
    if keyword in SCHEMA_LIST_KEYWORDS and isinstance(value, list):
        return [_simplify(inner, dialect) for inner in value]
    return _simplify(value, dialect) if keyword in SINGLE_SCHEMA_KEYWORDS else value


def _is_open(schema: Any) -> bool:
    """Whether a schema lets everything through; a word that no dialect knows counts as a demand."""
    return schema is True or (isinstance(schema, dict) and not _list_deciding(schema))


def _list_deciding(schema: Keywords) -> set[str]:
    return {keyword for keyword in schema if keyword not in IDLE_KEYWORDS}


def _drop_idle(schema: Keywords, dialect: str) -> None:
    """Remove the keywords that no value fails."""
    idle = {name for name in _FLOORS if schema.get(name) == 0}
    idle |= {name for name in _OPEN_KEYWORDS if name in schema and _is_open(schema[name])}
    idle |= {"uniqueItems"} if schema.get("uniqueItems") is False else set()
    idle |= {"pattern"} if schema.get("pattern") in _ANY_TEXT else set()
    idle |= {"required"} if schema.get("required") == [] else set()
    if dialect in _SINCE_2019:
        asks_none = schema.get("minContains") == 0 and "maxContains" not in schema
        idle |= {"minContains", "maxContains"} if "contains" not in schema else set()
        idle |= {"contains", "minContains"} if asks_none else set()
    for name in idle:
        schema.pop(name, None)
    # In an open object, a name without demands is like any other.
    if isinstance(schema.get("properties"), dict) and "additionalProperties" not in schema:
        schema["properties"] = {
            name: inner for name, inner in schema["properties"].items() if not _is_open(inner)
        }
        if not schema["properties"]:
            del schema["properties"]


def _unite_types(schema: Keywords) -> None:
    """Write a choice of types as their list."""
    branches = schema.get("anyOf")
    if "type" in schema or not isinstance(branches, list):
        return
    if all(isinstance(one, dict) and _list_deciding(one) == {"type"} for one in branches):
        types = [one["type"] for one in branches]
        listed = chain.from_iterable(one if isinstance(one, list) else [one] for one in types)
        schema["type"] = list(dict.fromkeys(listed))
        del schema["anyOf"]


def _drop_type_of_values(schema: Keywords) -> None:
    """Remove a type that all listed values have."""
    types = schema.get("type")
    listed = [*schema.get("enum", ()), *([schema["const"]] if "const" in schema else [])]
    if types is not None and listed:
        named = {types} if isinstance(types, str) else {*types}
        if all(_name_types(value) & named for value in listed):
            del schema["type"]


def _name_types(value: Any) -> frozenset[str]:
    for class_, names in _NAMES_OF_CLASSES:
        if isinstance(value, class_):
            return names
    return frozenset({"number", "integer"} if Fraction(value).denominator == 1 else {"number"})


def _write_point(schema: Keywords) -> None:
    """Write a range that contains a single number as this number."""
    least, most, types = (schema.get(name) for name in ("minimum", "maximum", "type"))
    if types in ("integer", "number", ["integer"], ["number"]) and least is not None:
        is_point = least == most and not schema.keys() & {"enum", "const"}
        name = types if isinstance(types, str) else types[0]
        if is_point and name in _name_types(least):
            for keyword in ("minimum", "maximum", "type"):
                del schema[keyword]
            schema["const"] = least


def _unwrap(schema: Keywords) -> Keywords:
    """Return the schema in a choice of one, or negated twice, with the annotations around it."""
    deciding = _list_deciding(schema)
    if len(deciding) != 1:
        return schema
    (keyword,) = deciding
    value = schema[keyword]
    inner: Any = None
    if keyword in _ALONE and isinstance(value, list) and len(value) == 1:
        inner = value[0]
    elif keyword == "not" and isinstance(value, dict) and _list_deciding(value) == {"not"}:
        inner = value["not"]
    if not isinstance(inner, dict) or "$ref" in inner:
        return schema
    notes = {key: one for key, one in schema.items() if key != keyword}
    return {**{key: one for key, one in inner.items() if key not in notes}, **notes}
