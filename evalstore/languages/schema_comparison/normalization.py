"""Normalizes a schema: resolves references, drops annotations and order, in a dialect's words.

Two schemas with the same normal form in their own words are applied in the same steps. What cannot
be read exactly is refused, with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import unquote

from evalstore.documents import write_canonical
from evalstore.languages.limits import COMPARISON
from evalstore.languages.patterns.engine import count_items
from evalstore.languages.schema_comparison.dialects import (
    LACKED_KEYWORDS,
    LATER,
    convert_old_keywords,
    read_as_written,
)
from evalstore.languages.schemas import (
    IDLE_KEYWORDS,
    SCHEMA_LIST_KEYWORDS,
    SCHEMA_MAP_KEYWORDS,
    SINGLE_SCHEMA_KEYWORDS,
    find_dialect,
    list_keywords,
    make_plain_form,
)
from evalstore.text import make_excerpt

# References by name, and keywords that give a name: only the whole schema may have one.
_NAME_REFERENCES = frozenset({"$dynamicRef", "$recursiveRef"})
_NAMING = _NAME_REFERENCES | {"$id", "$anchor", "$dynamicAnchor", "$recursiveAnchor"}
_SINGLE, _LISTED = frozenset(SINGLE_SCHEMA_KEYWORDS), frozenset(SCHEMA_LIST_KEYWORDS)
_NAMED = frozenset(SCHEMA_MAP_KEYWORDS) - {"$defs", "definitions"}
# What is left of all keywords in the words of the latest dialect.
_KNOWN = (_SINGLE | _LISTED | _NAMED) - {"additionalItems", "dependencies"} | {
    *("$ref", "type", "enum", "const", "required", "dependentRequired"),
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    *(
        "minLength",
        "maxLength",
        "pattern",
        "minItems",
        "maxItems",
        "uniqueItems",
        "minContains",
        "maxContains",
    ),
    *("minProperties", "maxProperties"),
}
_TOO_LARGE = "it is too large to be compared"
_BACK_REFERENCE = "a reference back"
NormalSchema = bool | dict[str, Any]


class SchemaObject(dict[str, Any]):
    """A normal schema with keywords; it keeps its demands once they are known (see `monotony`)."""

    __slots__ = ("demands",)
    demands: tuple[Any, ...] | None

    def __init__(self, keywords: dict[str, Any]) -> None:
        super().__init__(keywords)
        self.demands = None


class UnsupportedSchemaError(Exception):
    """A schema that is not compared; the text says why, as a sentence without a full stop."""


class NormalForm(NamedTuple):
    """A normal schema in the latest words.

    With an obstacle, not all its demands are known; "" means no obstacle.
    """

    schema: NormalSchema
    obstacle: str


def check_supported(schema: Any) -> int:
    """Return how many values a schema has.

    Raises `UnsupportedSchemaError` if it cannot be compared.
    """
    if find_dialect(schema) not in LACKED_KEYWORDS:
        raise UnsupportedSchemaError(
            f"schemas of {make_excerpt(find_dialect(schema))} are not compared"
        )
    values = pattern_items = 0
    for value in _iterate_values(schema):
        values, pattern_items = (
            values + 1,
            pattern_items + sum(map(count_items, _iterate_patterns(value))),
        )
        if values > COMPARISON.written or pattern_items > COMPARISON.pattern_items:
            raise UnsupportedSchemaError(_TOO_LARGE)
        if isinstance(value, dict):
            for name in sorted(
                (_NAME_REFERENCES if value is schema else _NAMING).intersection(value)
            ):
                if isinstance(value[name], str | bool):
                    raise UnsupportedSchemaError(
                        f"{name} gives a part of it a name of its own, or goes by one"
                    )
    return values


def normalize_schema(schema: Any) -> NormalForm:
    """Return the normal form, in the latest words, of a supported schema that can be compiled.

    A reference is replaced by the normal form of its target, under its keyword; one that leads
    back, by a mark.
    """
    plain = make_plain_form(schema, find_dialect(schema))
    normalizer = _Normalizer(plain, find_dialect(schema), convert_old_keywords)
    normal = normalizer.normalize(plain, ())
    return NormalForm(normal, normalizer.obstacle)


def normalize_as_written(schema: Any) -> NormalSchema:
    """Return the normal form of such a schema in its own words.

    Schemas with the same form take the same steps.
    """
    plain = make_plain_form(schema, find_dialect(schema))
    return _Normalizer(plain, find_dialect(schema), read_as_written).normalize(plain, ())


@dataclass(slots=True)
class _Normalizer:
    root: Any
    dialect: str
    convert: Callable[[Mapping[str, Any], str], Mapping[str, Any]]
    left: int = COMPARISON.normal
    depth: int = 0
    obstacle: str = ""

    def normalize(self, schema: Any, references: tuple[str, ...]) -> NormalSchema:
        """Return the normal form of one part; `references` are those that led here."""
        self.left -= 1
        if self.left < 0 or self.depth > COMPARISON.depth:
            raise UnsupportedSchemaError(_TOO_LARGE)
        if isinstance(schema, bool):
            return schema
        self.depth += 1
        keywords = self.convert(schema, self.dialect)
        normal = SchemaObject({})
        for name in filter(_decides, keywords):
            normal[name] = self._normalize_value(name, keywords[name], references)
        self.depth -= 1
        return normal

    def _normalize_value(self, name: str, value: Any, references: tuple[str, ...]) -> Any:
        if name not in _KNOWN:
            self.obstacle = f"the keyword {make_excerpt(name, 40)} is not known"
        if name == "$ref":
            return self._resolve_reference(value, references)
        if name in _LISTED and isinstance(value, list):
            return [self.normalize(item, references) for item in value]
        if name in _SINGLE:
            return self.normalize(value, references)
        if name in _NAMED or name == "dependentRequired":
            return {key: self._normalize_entry(item, references) for key, item in value.items()}
        if name in {"type", "enum", "required"}:
            return self._sort_distinct([value] if isinstance(value, str) else value)
        return value

    def _normalize_entry(self, item: Any, references: tuple[str, ...]) -> Any:
        return (
            self._sort_distinct(item)
            if isinstance(item, list)
            else self.normalize(item, references)
        )

    def _sort_distinct(self, values: list[Any]) -> list[Any]:
        # Listed values count like schemas: a normal form repeats them at every reference.
        self.left -= len(values)
        by_text = {write_canonical(value): value for value in values}
        return [by_text[text] for text in sorted(by_text)]

    def _resolve_reference(self, ref: str, references: tuple[str, ...]) -> NormalSchema:
        if ref in references:
            self.obstacle = "a reference leads back to itself"
            return {_BACK_REFERENCE: len(references) - references.index(ref)}
        if ref != "#" and not ref.startswith("#/"):
            raise UnsupportedSchemaError(f"it refers to {make_excerpt(ref)}")
        # A JSON Pointer in a fragment (RFC 6901, section 6).
        node = self.root
        for step in unquote(ref).split("/")[1:]:
            key = step.replace("~1", "/").replace("~0", "~")
            if isinstance(node, list) and key != str(int(key)):
                raise UnsupportedSchemaError(f"it refers to {make_excerpt(ref)}")
            node = node[int(key)] if isinstance(node, list) else node[key]
        return self.normalize(node, (*references, ref))


def _decides(keyword: str) -> bool:
    # A word that no dialect knows is an annotation (Draft 2020-12 Core, 6.5).
    return keyword not in IDLE_KEYWORDS and (keyword in list_keywords() or keyword.endswith(LATER))


def _iterate_patterns(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        named = value.get("patternProperties")
        yield from named if isinstance(named, dict) else ()
        yield from (pattern for pattern in [value.get("pattern")] if isinstance(pattern, str))


def _iterate_values(value: Any) -> Iterator[Any]:
    waiting = [value]
    while waiting:
        inner = waiting.pop()
        yield inner
        if isinstance(inner, dict | list):
            waiting.extend(inner.values() if isinstance(inner, dict) else inner)
