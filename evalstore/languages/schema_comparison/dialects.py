"""Writes one schema of an older dialect in the words of the latest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalstore.languages.schemas import LOOKING_KEYWORDS, list_keywords
from evalstore.languages.schemas.subschemas import iterate_subschemas

# Keywords of the latest dialect that an older one does not know yet.
_SINCE_2020 = frozenset({"prefixItems"})
_SINCE_2019 = _SINCE_2020 | {
    "minContains",
    "maxContains",
    "dependentRequired",
    "dependentSchemas",
    "unevaluatedItems",
    "unevaluatedProperties",
}
LACKED_KEYWORDS: Mapping[str, frozenset[str]] = {
    "https://json-schema.org/draft/2020-12/schema": frozenset(),
    "https://json-schema.org/draft/2019-09/schema": _SINCE_2020,
    "http://json-schema.org/draft-07/schema": _SINCE_2019,
    "http://json-schema.org/draft-06/schema": _SINCE_2019 | {"if", "then", "else"},
}
# Before 2020, `items` may be a list, and `additionalItems` concerns what follows it.
_LATEST, *_BEFORE_2020 = LACKED_KEYWORDS
# The library has one function for each in all of these, and `items` if it is one schema.
_SHARED_KEYWORDS = frozenset(
    {"$schema", "$id", "$ref", "$defs", "definitions", "$comment", "title", "description"}
    | {"default", "examples", "deprecated", "readOnly", "writeOnly"}
    | {"type", "enum", "const", "allOf", "anyOf", "oneOf", "not", "items", "uniqueItems"}
    | {"properties", "patternProperties", "additionalProperties", "propertyNames", "required"}
    | {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "pattern"}
    | {"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"}
)
LATER = " (of a later dialect)"
_BEFORE_2019 = frozenset(_BEFORE_2020[1:])


def drop_unread(schema: Mapping[str, Any], dialect: str) -> Mapping[str, Any]:
    """Return a schema without the keywords next to a reference, which older dialects ignore."""
    if dialect not in _BEFORE_2019:
        return _simplify_unevaluated(schema)
    return {"$ref": schema["$ref"]} if "$ref" in schema else schema


def read_as_written(schema: Mapping[str, Any], dialect: str) -> Mapping[str, Any]:
    """Return a schema as its own dialect reads it.

    A constant takes the steps of a list with one value.
    """
    read = drop_unread(schema, dialect)
    if "const" not in read or "enum" in read:
        return read
    return {**{word: read[word] for word in read if word != "const"}, "enum": [read["const"]]}


def have_same_meaning(schema: Any) -> bool:
    """Whether every keyword of a schema means the same in all dialects, with the same steps."""
    if not isinstance(schema, dict):
        return True
    if isinstance(schema.get("items"), list) or ("$ref" in schema and len(schema) > 1):
        return False
    words = {word for word in schema if word in list_keywords()}
    inner = (part for _, part in iterate_subschemas(schema))
    return words <= _SHARED_KEYWORDS and all(map(have_same_meaning, inner))


def convert_old_keywords(schema: Mapping[str, Any], dialect: str) -> Mapping[str, Any]:
    """Return one schema, without those within it, in the latest dialect's words.

    `dialect` is its own.

    A keyword that is newer than the schema's dialect gets a name that no dialect has.
    """
    schema = drop_unread(schema, dialect)
    lacked = {word: f"{word}{LATER}" for word in LACKED_KEYWORDS[dialect]}
    keywords = {lacked.get(word, word): value for word, value in schema.items()}
    if dialect in _BEFORE_2020:
        rest = keywords.pop("additionalItems", True)
        if isinstance(keywords.get("items"), list):
            keywords |= {"prefixItems": keywords["items"], "items": rest}
    if dialect in _BEFORE_2019:
        keywords |= _split_dependencies(keywords.pop("dependencies", {}))
    return keywords


def _split_dependencies(value: Mapping[str, Any]) -> dict[str, Any]:
    names = {key: item for key, item in value.items() if isinstance(item, list)}
    schemas = {key: item for key, item in value.items() if key not in names}
    split = {"dependentRequired": names, "dependentSchemas": schemas}
    return {word: item for word, item in split.items() if item}


def _simplify_unevaluated(keywords: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a schema with `unevaluated` as `additional` if only `properties` look at any."""
    if "unevaluatedProperties" not in keywords or keywords.keys() & (
        LOOKING_KEYWORDS | {"additionalProperties"}
    ):
        return keywords
    rest = {word: value for word, value in keywords.items() if word != "unevaluatedProperties"}
    return {**rest, "additionalProperties": keywords["unevaluatedProperties"]}
