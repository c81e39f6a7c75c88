"""The dialects of JSON Schema that are compared, each said in the words of the latest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# What a dialect does not know yet, of what the latest one does.
_SINCE_2020 = frozenset({"prefixItems"})
_SINCE_2019 = _SINCE_2020 | {
    "minContains",
    "maxContains",
    "dependentRequired",
    "dependentSchemas",
    "unevaluatedItems",
    "unevaluatedProperties",
}
_LACKS: Mapping[str, frozenset[str]] = {
    "https://json-schema.org/draft/2020-12/schema": frozenset(),
    "https://json-schema.org/draft/2019-09/schema": _SINCE_2020,
    "http://json-schema.org/draft-07/schema": _SINCE_2019,
    "http://json-schema.org/draft-06/schema": _SINCE_2019 | {"if", "then", "else"},
}
_LATEST, *_WITH_LISTS = _LACKS
_BEFORE_2019 = frozenset(_WITH_LISTS[1:])


def dialect(schema: Any) -> str:
    """Return the dialect that a schema names, the latest where it names none."""
    named = schema.get("$schema") if isinstance(schema, dict) else None
    return named.removesuffix("#") if isinstance(named, str) else _LATEST


def is_compared(name: str) -> bool:
    """Whether schemas of a dialect are compared."""
    return name in _LACKS


def modern(schema: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Say one schema, without those within it, in the words of the latest dialect.

    What its own does not know yet goes by a name that nobody knows.
    """
    if name in _BEFORE_2019 and "$ref" in schema:
        return {"$ref": schema["$ref"]}  # nothing beside it is read
    said = {f"{word} (of a later dialect)" if word in _LACKS[name] else word: schema[word] for word in schema}
    if name in _WITH_LISTS:
        rest = said.pop("additionalItems", True)
        if isinstance(said.get("items"), list):
            said |= {"prefixItems": said["items"], "items": rest}
    if name in _BEFORE_2019:
        said |= _of_dependencies(said.pop("dependencies", {}))
    return said


def _of_dependencies(value: Mapping[str, Any]) -> dict[str, Any]:
    names = {key: item for key, item in value.items() if isinstance(item, list)}
    schemas = {key: item for key, item in value.items() if key not in names}
    return {word: item for word, item in (("dependentRequired", names), ("dependentSchemas", schemas)) if item}
