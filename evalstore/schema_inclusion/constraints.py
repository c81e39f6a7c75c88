"""A view as clauses: single demands, all of which must be met; equal ones have one text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any

from evalstore.documents import canonical
from evalstore.schema_inclusion.normalization import Part, View

# The seven types, of which each value has one; a number is an integer or has a fraction.
TYPES = frozenset({"null", "boolean", "integer", "fraction", "string", "array", "object"})
NUMBERS = frozenset({"integer", "fraction"})

# Demands that stand alone, by the types whose values they are about.
_OF_TYPE: Iterable[tuple[frozenset[str], tuple[str, ...]]] = (
    (TYPES, ("anyOf", "oneOf")),
    (NUMBERS, ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")),
    (frozenset({"string"}), ("minLength", "maxLength", "pattern")),
    (frozenset({"array"}), ("minItems", "maxItems", "uniqueItems")),
    (frozenset({"object"}), ("minProperties", "maxProperties", "propertyNames", "required")),
    (frozenset({"object"}), ("dependentRequired", "dependentSchemas")),
)
_ALONE = {name: types for types, names in _OF_TYPE for name in names}
_ABOUT = {**_ALONE, "list": frozenset({"array"}), "contains": frozenset({"array"}), "shape": frozenset({"object"})}

# With this value they demand nothing.
_IDLE: Mapping[str, Any] = {
    "minLength": 0,
    "minItems": 0,
    "minProperties": 0,
    "uniqueItems": False,
    "propertyNames": True,
    "required": [],
    "dependentRequired": {},
    "dependentSchemas": {},
}
# Keywords that mean something together only.
_JOINED = {
    "list": ("prefixItems", "items"),
    "contains": ("contains", "minContains", "maxContains"),
    "shape": ("properties", "patternProperties", "additionalProperties"),
    "if": ("if", "then", "else"),
}
_FIRST_DECIDES = frozenset({"contains", "if"})
# What they stand for when left out; the others stand for true.
_ABSENT: Mapping[str, Any] = {
    "prefixItems": [],
    "minContains": 1,
    "maxContains": None,
    "properties": {},
    "patternProperties": {},
}
# They ask what the other keywords looked at, so that they mean something with all of them only.
_GREEDY = frozenset({"unevaluatedItems", "unevaluatedProperties"})


@dataclass(frozen=True, slots=True)
class Clause:
    """One demand."""

    name: str
    value: Any
    text: str = field(repr=False)

    @property
    def about(self) -> frozenset[str]:
        """The types whose values can fail to meet it."""
        return TYPES - self.value if self.name == "type" else _ABOUT.get(self.name, TYPES)


NOTHING = Clause("nothing", None, "nothing")


def typed(types: Iterable[str]) -> Clause:
    """Return the demand of one of some of the seven types."""
    names = frozenset(types)
    return Clause("type", names, f"type {' '.join(sorted(names))}")


def clauses(view: View) -> tuple[Clause, ...]:
    """Return the demands of a view, those of `allOf` and of references among them."""
    if isinstance(view, bool):
        return () if view else (NOTHING,)
    part = view if isinstance(view, Part) else Part(view)
    if part.clauses is None:
        part.clauses = tuple({clause.text: clause for clause in _clauses(part)}.values())
    return part.clauses


def _clauses(view: Part) -> Iterator[Clause]:
    for part in (*view.get("allOf", ()), view.get("$ref", True)):
        yield from clauses(part)
    if _GREEDY & view.keys():
        yield Clause("unevaluated", view, f"unevaluated {canonical(view)}")
    if "type" in view:
        yield typed(one for name in view["type"] for one in (NUMBERS if name == "number" else (name,)))
    if "const" in view:
        yield _enum([view["const"]])
    if "enum" in view:
        yield _enum(view["enum"])
    if "not" in view:
        yield from _denied(view["not"])
    for name in sorted(view.keys() & _ALONE):
        if view[name] != _IDLE.get(name, ...):
            yield Clause(name, view[name], f"{name} {canonical(view[name])}")
    yield from _joined(view)


def _joined(view: Part) -> Iterator[Clause]:
    for name, words in _JOINED.items():
        value = [view.get(word, _ABSENT.get(word, True)) for word in words]
        deciding = words[:1] if name in _FIRST_DECIDES else words
        if view.keys() & set(deciding) and not _idles(name, value):
            yield Clause(name, value, f"{name} {canonical(value)}")


def _idles(name: str, value: list[Any]) -> bool:
    if name == "contains":
        return value[1:] == [0, None]
    if name == "if":
        return value[1:] == [True, True]
    *inner, rest = value
    views = (view for parts in inner for view in (parts.values() if isinstance(parts, dict) else parts))
    return rest is True and all(view is True for view in views)


def _enum(values: Iterable[Any]) -> Clause:
    texts = {canonical(value): value for value in values}
    return Clause("enum", texts, f"enum {' '.join(texts)}")


def _denied(view: View) -> tuple[Clause, ...]:
    """Return the demand not to meet a view, said without a `not` where that is possible."""
    demands = clauses(view)
    if not demands:
        return (NOTHING,)
    if len(demands) == 1 and demands[0].name in _DENIED:
        return _DENIED[demands[0].name](demands[0].value)
    return (Clause("not", view, f"not {canonical(view)}"),)


_DENIED: Mapping[str, Callable[[Any], tuple[Clause, ...]]] = {
    "not": clauses,
    "nothing": lambda _: (),
    "anyOf": lambda views: tuple(clause for view in views for clause in _denied(view)),
    "type": lambda types: (typed(TYPES - types),),
}


@dataclass(slots=True, eq=False)
class Domain:
    """The values that meet all clauses."""

    clauses: tuple[Clause, ...]
    texts: frozenset[str] = field(init=False)
    _by_name: dict[str, list[Any]] = field(init=False)

    def __post_init__(self) -> None:
        self.texts = frozenset(clause.text for clause in self.clauses)
        self._by_name = {}
        for clause in self.clauses:
            self._by_name.setdefault(clause.name, []).append(clause.value)

    def all(self, name: str) -> list[Any]:
        """Return the values of the clauses of one name."""
        return self._by_name.get(name, [])

    def any(self, names: AbstractSet[str]) -> bool:
        """Whether a clause has one of these names."""
        return not names.isdisjoint(self._by_name)

    def has(self, demand: Clause) -> bool:
        """Whether one of the clauses is this demand."""
        return demand.text in self.texts

    def states(self, view: View) -> bool:
        """Whether each demand of a view is one of the clauses."""
        return all(map(self.has, clauses(view)))

    def but(self, gone: Clause | None, *more: Clause) -> Domain:
        """Return the domain of the same clauses without one, and with others."""
        return Domain((*(clause for clause in self.clauses if clause is not gone), *more))


def domain(views: Iterable[View]) -> Domain:
    """Return the values that meet all views."""
    return Domain(tuple(clause for view in views for clause in clauses(view)))
