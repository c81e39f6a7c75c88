"""Says in words what a schema requires of a value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_TYPES = {
    "string": "a text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "object": "a mapping",
    "array": "a list",
    "null": "nothing",
}


_FROM_QUESTION = {"$ref": "#/$defs/from_question"}


def describe_shape(schema: Mapping[str, Any], node: Mapping[str, Any]) -> str:
    """Return in words what a value must be, such as `skip or zero` or `a number from 0 to 1`."""
    if "const" in node:
        return str(node["const"])
    if "enum" in node:
        return _join_choices([str(value) for value in node["enum"]])
    if node.get("then") == _FROM_QUESTION:
        plain = {key: item for key, item in node.items() if key not in {"if", "then", "else"}}
        return (
            f"{describe_shape(schema, {**plain, **node.get('else', {})})}, or `from` a key of the "
            "question"
        )
    types = [node["type"]] if isinstance(node.get("type"), str) else node.get("type", [])
    words = _join_choices([_TYPES[name] + _describe_range(node, name) for name in types])
    if "array" in types and isinstance(node.get("items"), dict):
        inner = follow_reference(schema, node["items"])
        of = _name_items(describe_shape(schema, inner))
        words = words.replace("a list", f"a list of {of}") if of else words
    return words


def _describe_range(node: Mapping[str, Any], name: str) -> str:
    low, high = node.get("minimum"), node.get("maximum")
    if low is None or name not in {"number", "integer"}:
        return ""
    return f" from {low} to {high}" if high is not None else f", {low} or more"


def _name_items(shape: str) -> str:
    return {
        "a text": "texts",
        "a mapping": "mappings",
        "a text or a mapping": "texts or mappings",
    }.get(shape, "")


def _join_choices(words: list[str]) -> str:
    return " or ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def follow_reference(schema: Mapping[str, Any], node: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a node merged with what its reference says; its own words win."""
    if "$ref" not in node:
        return node
    target = follow_reference(schema, schema["$defs"][node["$ref"].removeprefix("#/$defs/")])
    return {**target, **{key: value for key, value in node.items() if key != "$ref"}}
