"""Translates JSON Schemas of draft-07, as JavaScript's Ajv reads them, to equivalent ones here."""

from __future__ import annotations

import re
from typing import Any

from evalstore.migration.javascript.patterns import translate_unicode_pattern

_INNER = frozenset({"items", "additionalItems", "additionalProperties", "not"})
_INNER_LISTS = frozenset({"anyOf", "oneOf", "allOf"})
_INNER_MAPS = frozenset({"properties", "definitions", "$defs"})
# Keywords that mean the same here, whatever other keywords are beside them.
_PLAIN = frozenset(
    {"type", "required", "enum", "const", "minimum", "maximum", "minLength", "maxLength"}
    | {"exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems", "uniqueItems"}
    | {"minProperties", "maxProperties", "title", "description", "default", "examples"}
    | {"$schema", "$comment"}
)

_REFERENCE = re.compile(r"#/(?P<place>definitions|\$defs)/(?P<name>\w+)", re.ASCII)


class UntranslatableError(Exception):
    """A schema has a keyword without a certain equivalent here; the message is the keyword."""


def translate_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema that accepts the same JSON here. Raises `UntranslatableError`."""
    translated: dict[str, Any] = _translate(schema, schema)
    return translated


def _translate(schema: Any, root: dict[str, Any]) -> Any:
    if isinstance(schema, bool):
        return schema
    if not isinstance(schema, dict):
        raise UntranslatableError("a subschema")
    # Without a list of `items`, Ajv rejects these keywords.
    if "additionalItems" in schema and not isinstance(schema.get("items"), list):
        raise UntranslatableError("additionalItems")
    return {key: _translate_keyword(key, value, schema, root) for key, value in schema.items()}


def _translate_keyword(key: str, value: Any, schema: dict[str, Any], root: dict[str, Any]) -> Any:
    if key in _PLAIN:
        return value
    if key in _INNER_LISTS or (key == "items" and isinstance(value, list)):
        return [_translate(item, root) for item in _demand(key, value, list)]
    if key in _INNER:
        return _translate(value, root)
    if key in _INNER_MAPS:
        return {name: _translate(item, root) for name, item in _demand(key, value, dict).items()}
    if key == "pattern" and (pattern := translate_unicode_pattern(_demand(key, value, str))):
        return pattern
    # Keywords beside a reference count in only one of the two.
    if key == "$ref" and len(schema) == 1 and _leads_within(value, root):
        return value
    raise UntranslatableError(key)


def _demand(key: str, value: Any, type_: type) -> Any:
    if not isinstance(value, type_):
        raise UntranslatableError(key)
    return value


def _leads_within(ref: Any, root: dict[str, Any]) -> bool:
    """Whether a reference names a definition in its own schema."""
    match = _REFERENCE.fullmatch(ref) if isinstance(ref, str) else None
    return match is not None and match["name"] in root.get(match["place"], ())
