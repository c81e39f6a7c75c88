"""The validation view of a schema: references resolved, notes and order gone; what is not read exactly is refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import unquote

from evalstore.checks.patterns import count_items
from evalstore.documents import canonical
from evalstore.text import make_excerpt

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


class Part(dict[str, Any]):
    """A view with keywords; their clauses are kept with it (see `clauses`)."""

    __slots__ = ("clauses",)
    clauses: tuple[Any, ...] | None

    def __init__(self, keywords: dict[str, Any]) -> None:
        super().__init__(keywords)
        self.clauses = None


View = bool | dict[str, Any]

ANNOTATIONS = frozenset(
    {"title", "description", "$comment", "examples", "default", "deprecated", "readOnly", "writeOnly", "format"}
)
_UNREAD = ANNOTATIONS | {"$schema", "$id", "$defs", "definitions"}
# They go by the name that a part has, or give it one, which the whole may have.
_LEADING = frozenset({"$dynamicRef", "$recursiveRef"})
_NAMING = _LEADING | {"$id", "$anchor", "$dynamicAnchor", "$recursiveAnchor"}

ONE = frozenset(
    {"additionalProperties", "items", "contains", "propertyNames", "not", "if", "then", "else"}
    | {"unevaluatedItems", "unevaluatedProperties"}
)
LISTED = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
NAMED = frozenset({"properties", "patternProperties", "dependentSchemas"})
_VALUES = frozenset(
    {"const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}
    | {"minLength", "maxLength", "pattern", "minItems", "maxItems", "uniqueItems", "minContains", "maxContains"}
    | {"minProperties", "maxProperties"}
)

# Values as written, and parts in a view: an honest schema has some hundreds.
WRITTEN, SEEN = 1_500, 3_000
_ITEMS = 5_000  # of all patterns, repeats written out
_DEEPEST = 40
_LARGE = "it is too large to be compared"
_BACK = "a reference back"


class UnreadError(Exception):
    """A schema that is not compared; the text says why, as a sentence without its end."""


class Reading(NamedTuple):
    """A view; `strange` says why it can only be told to be the same as another one, "" where more is known."""

    view: View
    strange: str


def check_readable(schema: Any) -> int:
    """Return how many values a schema has; `UnreadError` for one that is not compared, whatever it says."""
    if not is_compared(dialect(schema)):
        raise UnreadError(f"schemas of {make_excerpt(dialect(schema))} are not compared")
    nodes = written = 0
    for node in _nodes(schema):
        nodes, written = nodes + 1, written + sum(map(count_items, _patterns(node)))
        if nodes > WRITTEN or written > _ITEMS:
            raise UnreadError(_LARGE)
        if isinstance(node, dict):
            for name in sorted((_LEADING if node is schema else _NAMING).intersection(node)):
                if isinstance(node[name], str | bool):
                    raise UnreadError(f"{name} gives a part of it a name of its own, or goes by one")
    return nodes


def read_view(schema: Any) -> Reading:
    """Return what decides in a schema that is readable and can be compiled.

    A reference stands as the view of what it leads to, under its keyword; one that leads back is a mark.
    """
    reader = _Reader(schema, dialect(schema))
    view = reader.view(schema, ())
    return Reading(view, reader.strange)


@dataclass(slots=True)
class _Reader:
    root: Any
    dialect: str
    left: int = SEEN
    depth: int = 0
    strange: str = ""

    def view(self, schema: Any, through: tuple[str, ...]) -> View:
        """Return the view of one part; `through` are the references that led here."""
        self.left -= 1
        if self.left < 0 or self.depth > _DEEPEST:
            raise UnreadError(_LARGE)
        if isinstance(schema, bool):
            return schema
        self.depth += 1
        said = modern(schema, self.dialect)
        view = Part({name: self._value(name, value, through) for name, value in said.items() if name not in _UNREAD})
        self.depth -= 1
        return view

    def _value(self, name: str, value: Any, through: tuple[str, ...]) -> Any:
        if name == "$ref":
            return self._target(value, through)
        if name in ONE:
            return self.view(value, through)
        if name in LISTED:
            return [self.view(item, through) for item in value]
        if name in NAMED:
            return {key: self.view(item, through) for key, item in value.items()}
        if name == "dependentRequired":
            return {key: self._set(names) for key, names in value.items()}
        if name in {"type", "enum", "required"}:
            return self._set([value] if isinstance(value, str) else value)
        if name not in _VALUES:
            self.strange = f"the keyword {make_excerpt(name, 40)} is not known"
        return value

    def _set(self, values: list[Any]) -> list[Any]:
        self.left -= len(values)
        return [one for _, one in sorted({canonical(one): one for one in values}.items())]

    def _target(self, ref: str, through: tuple[str, ...]) -> View:
        if ref in through:
            self.strange = "a reference leads back to itself"
            return {_BACK: len(through) - through.index(ref)}
        if ref != "#" and not ref.startswith("#/"):
            raise UnreadError(f"it refers to {make_excerpt(ref)}")
        node = self.root
        for step in unquote(ref).split("/")[1:]:
            key = step.replace("~1", "/").replace("~0", "~")
            if isinstance(node, list) and key != str(int(key)):
                raise UnreadError(f"it refers to {make_excerpt(ref)}")
            node = node[int(key)] if isinstance(node, list) else node[key]
        return self.view(node, (*through, ref))


def _patterns(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        named = node.get("patternProperties")
        yield from named if isinstance(named, dict) else ()
        yield from (pattern for pattern in [node.get("pattern")] if isinstance(pattern, str))


def _nodes(value: Any) -> Iterator[Any]:
    waiting = [value]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, dict | list):
            waiting.extend(node.values() if isinstance(node, dict) else node)
