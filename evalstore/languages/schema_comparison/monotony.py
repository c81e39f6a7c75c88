"""Finds which way an edit moves what a schema accepts, by a table of the everyday keywords.

A schema asks no less than another if each demand of the other follows from its own: by the row of
the keyword, or in every case of a choice. "No" means that the table cannot tell. Schemas with an
obstacle are never asked about.

>>> is_within({"type": ["string"], "minLength": 3}, {"minLength": 2}, SharedBudget(100))
True
>>> is_within({"not": {"maximum": 3}}, {"not": {"maximum": 2}}, SharedBudget(100))
True
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from itertools import combinations
from typing import Any, NamedTuple

from evalstore.budget import SharedBudget
from evalstore.documents import write_canonical
from evalstore.languages.schema_comparison.normalization import NormalSchema, SchemaObject
from evalstore.languages.schema_comparison.pattern_texts import (
    ANY_PATTERN,
    is_pattern_found,
    is_pattern_within,
)

# The seven types, of which each value has one; a number is an integer or has a fraction.
TYPES = frozenset({"null", "boolean", "integer", "fraction", "string", "array", "object"})
_NUMBERS = frozenset({"integer", "fraction"})
_STRINGS, _ARRAYS, _OBJECTS = (frozenset({name}) for name in ("string", "array", "object"))
_CHOICES = frozenset({"anyOf", "oneOf"})
# Keywords that mean something only together; without the first, `minContains` and `maxContains`
# demand nothing.
_SHAPE = ("properties", "patternProperties", "additionalProperties")
_LIST = ("prefixItems", "items")
# They ask what the other keywords looked at, so they mean something only with all of them.
_UNEVALUATED = frozenset({"unevaluatedItems", "unevaluatedProperties"})


class Demand(NamedTuple):
    """One demand of a schema; demands with the same text are equal."""

    keyword: str
    value: Any
    text: str


class PropertyShape(NamedTuple):
    """What `properties`, `patternProperties` and `additionalProperties` say together."""

    properties: Mapping[str, NormalSchema]
    patterns: Mapping[str, NormalSchema]
    rest: NormalSchema

    def select(self, name: str) -> list[NormalSchema]:
        """Return the schemas for the value under one name."""
        schemas = [self.properties[name]] if name in self.properties else []
        schemas += [
            schema for pattern, schema in self.patterns.items() if is_pattern_found(pattern, name)
        ]
        return schemas or [self.rest]


_NOTHING = Demand("nothing", None, "nothing")
_OPEN = PropertyShape({}, {}, True)


def list_demands(schema: NormalSchema) -> tuple[Demand, ...]:
    """Return the demands of a schema with those of `allOf` and references; cached in the schema."""
    if isinstance(schema, bool):
        return () if schema else (_NOTHING,)
    keywords = schema if isinstance(schema, SchemaObject) else SchemaObject(schema)
    if keywords.demands is None:
        keywords.demands = tuple(
            {demand.text: demand for demand in _iterate_demands(keywords)}.values()
        )
    return keywords.demands


def _iterate_demands(schema: SchemaObject) -> Iterator[Demand]:
    for part in (*schema.get("allOf", ()), schema.get("$ref", True)):
        yield from list_demands(part)
    if _UNEVALUATED & schema.keys():
        yield _make_demand("unevaluated", schema)
    if "type" in schema:
        names = {*schema["type"]}
        if "number" in names:
            names = names - {"number"} | _NUMBERS
        yield _make_demand("type", sorted(names))
    if "const" in schema:
        yield _make_demand("enum", [schema["const"]])
    if schema.keys() & {*_SHAPE}:
        parts = (
            schema.get(keyword, default) for keyword, default in zip(_SHAPE, _OPEN, strict=True)
        )
        shape = PropertyShape(*parts)
        yield Demand("shape", shape, f"shape {write_canonical([*shape])}")
    if schema.keys() & {*_LIST}:
        yield _make_demand("list", [schema.get("prefixItems", []), schema.get("items", True)])
    if "contains" in schema:
        counts = schema.get("minContains", 1), schema.get("maxContains")
        yield _make_demand("contains", [schema["contains"], *counts])
    if "if" in schema:
        # Whatever meets the condition meets `then`; whatever does not, `else`.
        yield _make_demand("anyOf", [SchemaObject({"not": schema["if"]}), schema.get("then", True)])
        yield _make_demand("anyOf", [schema["if"], schema.get("else", True)])
    for name, inner in schema.get("dependentSchemas", {}).items():
        yield _make_demand("anyOf", [SchemaObject({"properties": {name: False}}), inner])
    for keyword in sorted(schema.keys() & _SINGLE_KEYWORDS):
        yield _make_demand(keyword, schema[keyword])


def _make_demand(keyword: str, value: Any) -> Demand:
    return Demand(keyword, value, f"{keyword} {write_canonical(value)}")


@dataclass(slots=True, eq=False)
class DemandSet:
    """Demands on the same value; their texts are the name of the set."""

    demands: tuple[Demand, ...]
    texts: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        self.texts = frozenset(demand.text for demand in self.demands)

    def get_all(self, keyword: str) -> list[Any]:
        """Return the values of one keyword."""
        return [demand.value for demand in self.demands if demand.keyword == keyword]

    def replace(self, dropped: Demand | None, *added: Demand) -> DemandSet:
        """Return the set without one demand, and with others."""
        return DemandSet((*(demand for demand in self.demands if demand is not dropped), *added))

    @property
    def types(self) -> frozenset[str]:
        """The types that a value can have."""
        listed = (frozenset(map(find_type, values)) for values in self.get_all("enum"))
        types = TYPES.intersection(*self.get_all("type"), *listed)
        whole = any(Fraction(unit).denominator == 1 for unit in self.get_all("multipleOf"))
        return types - {"fraction"} if whole else types

    @property
    def required(self) -> set[str]:
        """The names that an object must have, with those on which they depend."""
        names = {name for listed in self.get_all("required") for name in listed}
        for pairs in self.get_all("dependentRequired"):
            names.update(*(others for name, others in pairs.items() if name in names))
        return names

    @property
    def shapes(self) -> list[PropertyShape]:
        """What is said about the names; an open shape if nothing is."""
        return self.get_all("shape") or [_OPEN]


def _join_schemas(schemas: Iterable[NormalSchema]) -> DemandSet:
    return DemandSet(tuple(demand for schema in schemas for demand in list_demands(schema)))


def find_type(value: Any) -> str:
    """Return which of the seven types a value has."""
    if value is None:
        return "null"
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        return "integer" if Fraction(value).denominator == 1 else "fraction"
    return {bool: "boolean", str: "string", list: "array"}.get(type(value), "object")


def is_within(narrow: NormalSchema, wide: NormalSchema, budget: SharedBudget) -> bool:
    """Whether the table shows that all values of one schema meet another.

    Raises `OutOfStepsError`.
    """
    return _KeywordWalk(budget).meets(DemandSet(list_demands(narrow)), wide)


@dataclass(slots=True)
class _KeywordWalk:
    """One question: its steps, and what was found out, by the demands on both sides."""

    budget: SharedBudget
    answers: dict[tuple[frozenset[str], str], bool] = field(default_factory=dict)

    def meets(self, narrow: DemandSet, wide: NormalSchema) -> bool:
        """Whether whatever meets all demands of `narrow` meets `wide`."""
        self.budget.spend()
        return (
            wide is True
            or self.is_empty(narrow)
            or all(self.implies(narrow, one) for one in list_demands(wide))
        )

    def implies(self, narrow: DemandSet, demand: Demand) -> bool:
        """Whether one demand follows from others."""
        if demand.text in narrow.texts:
            return True
        key = narrow.texts, demand.text
        if key not in self.answers:
            self.budget.spend(1 + len(narrow.demands) // 4)
            types, rule = _TABLE[demand.keyword]
            self.answers[key] = (
                narrow.types.isdisjoint(types)
                or rule(self, narrow, demand.value)
                or self._implies_by_cases(narrow, demand)
            )
        return self.answers[key]

    def is_empty(self, narrow: DemandSet) -> bool:
        """Whether no value meets all of some demands.

        Types, listed values and the tag of a record are considered.
        """
        if "nothing" in narrow.texts or not narrow.types:
            return True
        listed = [frozenset(map(write_canonical, values)) for values in narrow.get_all("enum")]
        if listed and not frozenset.intersection(*listed):
            return True
        tags = narrow.required if narrow.types == _OBJECTS else ()
        return any(self.is_empty(_select_named(narrow, name)) for name in tags)

    def _implies_by_cases(self, narrow: DemandSet, demand: Demand) -> bool:
        choice = next((one for one in narrow.demands if one.keyword in _CHOICES), None)
        if choice is not None:
            cases = [narrow.replace(choice, *list_demands(branch)) for branch in choice.value]
        elif demand.keyword == "anyOf" and len(narrow.types) in range(2, len(TYPES)):
            types = [_make_demand("type", [type_]) for type_ in sorted(narrow.types)]
            cases = [narrow.replace(None, one) for one in types]
        else:
            return False
        return all(self.is_empty(case) or self.implies(case, demand) for case in cases)


def _select_named(narrow: DemandSet, name: str) -> DemandSet:
    """Return the demands on the value under one name."""
    return _join_schemas(
        schema for shape in narrow.get_all("shape") for schema in shape.select(name)
    )


def _select_item(list_: list[Any], index: int) -> NormalSchema:
    first, rest = list_
    # Both are about schemas.
    return first[index] if index < len(first) else rest  # type: ignore[no-any-return]


def _list_fewer(_: _KeywordWalk, narrow: DemandSet, values: list[Any]) -> bool:
    allowed, types = {*map(write_canonical, values)}, narrow.types
    if types == {"boolean"} and {"true", "false"} <= allowed:
        return True
    for listed in narrow.get_all("enum"):
        possible = (value for value in listed if find_type(value) in types)
        if all(write_canonical(value) in allowed for value in possible):
            return True
    return False


def _find_least(narrow: DemandSet, sign: int) -> tuple[Any, bool]:
    """Return the lower bound, and whether it is open; with the sign -1, of the negated numbers."""
    keywords = ("minimum", "exclusiveMinimum") if sign > 0 else ("maximum", "exclusiveMaximum")
    # A decimal is exact as a fraction: with a sign it would be rounded to 28 digits.
    bounds: list[tuple[Any, int]] = []
    for is_open, name in enumerate(keywords):
        bounds += [(sign * Fraction(value), is_open) for value in narrow.get_all(name)]
    value, is_open = max(bounds, default=(-math.inf, False))
    # Integers begin at the next whole number.
    if bounds and narrow.types & _NUMBERS == {"integer"}:
        return (math.floor(value) + 1 if is_open else math.ceil(value)), False
    return value, bool(is_open)


def _find_pattern(_: _KeywordWalk, narrow: DemandSet, wide: str) -> bool:
    return any(is_pattern_within(own, wide) for own in (*narrow.get_all("pattern"), ANY_PATTERN))


def _divide(_: _KeywordWalk, narrow: DemandSet, unit: Any) -> bool:
    units = [
        *narrow.get_all("multipleOf"),
        *([1] if narrow.types & _NUMBERS == {"integer"} else []),
    ]
    return any(is_multiple(one, unit) for one in units)


def is_multiple(number: Any, unit: Any) -> bool:
    """Whether a number is an integer multiple of another one."""
    return (Fraction(number) / Fraction(unit)).denominator == 1


def _look_at_names(walk: _KeywordWalk, narrow: DemandSet, wide: PropertyShape) -> bool:
    written = {*wide.properties, *(name for shape in narrow.shapes for name in shape.properties)}
    for name in sorted(written):
        values = _select_named(narrow, name)
        if not all(walk.meets(values, schema) for schema in wide.select(name)):
            return False
    # A name that neither side writes: a pattern of both says the same of it, one of a single side
    # what it may.
    for pattern, schema in wide.patterns.items():
        if not any(_covers_pattern(walk, shape, pattern, schema) for shape in narrow.shapes):
            return False
    return any(_covers_rest(walk, shape, wide) for shape in narrow.shapes)


def _covers_rest(walk: _KeywordWalk, shape: PropertyShape, wide: PropertyShape) -> bool:
    """Whether what a shape says about names that the other one does not write is no weaker."""
    own = [schema for name, schema in shape.patterns.items() if name not in wide.patterns]
    return all(walk.meets(_join_schemas([schema]), wide.rest) for schema in (shape.rest, *own))


def _covers_pattern(
    walk: _KeywordWalk, shape: PropertyShape, pattern: str, wide: NormalSchema
) -> bool:
    is_same = pattern in shape.patterns
    governing = [shape.patterns[pattern]] if is_same else [shape.rest, *shape.patterns.values()]
    return all(walk.meets(_join_schemas([schema]), wide) for schema in governing)


def _look_at_spellings(walk: _KeywordWalk, narrow: DemandSet, wide: NormalSchema) -> bool:
    return walk.meets(_join_schemas(narrow.get_all("propertyNames")), wide)


def _count_names(_: _KeywordWalk, narrow: DemandSet, least: int) -> bool:
    return len(narrow.required) >= least or max(narrow.get_all("minProperties"), default=0) >= least


def _look_at_items(walk: _KeywordWalk, narrow: DemandSet, wide: list[Any]) -> bool:
    lists = narrow.get_all("list")
    # All indexes after those that either side writes are alike.
    longest = max(len(first) for first, _ in (wide, *lists))
    for index in range(longest + 1):
        item = _join_schemas(_select_item(one, index) for one in lists)
        if not walk.meets(item, _select_item(wide, index)):
            return False
    return True


def _contain(walk: _KeywordWalk, narrow: DemandSet, wide: list[Any]) -> bool:
    schema, least, most = wide

    def includes(one: NormalSchema, other: NormalSchema) -> bool:
        return walk.meets(_join_schemas([one]), other)

    own = narrow.get_all("contains")
    has_enough = least == 0 or any(
        count >= least and includes(one, schema) for one, count, _ in own
    )
    has_few = most is None or any(
        limit is not None and limit <= most and includes(schema, one) for one, _, limit in own
    )
    return has_enough and has_few


def _meet_any(walk: _KeywordWalk, narrow: DemandSet, branches: list[NormalSchema]) -> bool:
    return any(walk.meets(narrow, branch) for branch in branches)


def _meet_one(walk: _KeywordWalk, narrow: DemandSet, branches: list[NormalSchema]) -> bool:
    # Branches that exclude one another are like any of them.
    pairs = combinations(map(list_demands, branches), 2)
    is_apart = all(walk.is_empty(narrow.replace(None, *one, *other)) for one, other in pairs)
    return is_apart and walk.implies(narrow, _make_demand("anyOf", branches))


def _meet_denial(walk: _KeywordWalk, narrow: DemandSet, denied: NormalSchema) -> bool:
    return walk.is_empty(narrow.replace(None, *list_demands(denied))) or any(
        walk.meets(_join_schemas([denied]), own) for own in narrow.get_all("not")
    )


def _depend(_: _KeywordWalk, narrow: DemandSet, wide: Mapping[str, list[str]]) -> bool:
    needed = narrow.required
    own = narrow.get_all("dependentRequired")
    for name, others in wide.items():
        implied = {name}.union(*(pairs.get(name, ()) for pairs in own))
        if not needed | implied >= {*others}:
            return False
    return True


Rule = Callable[[_KeywordWalk, DemandSet, Any], bool]


def _make_bound(sign: int, *, is_open: bool) -> Rule:
    return lambda _, narrow, bound: _find_least(narrow, sign) >= (sign * Fraction(bound), is_open)


def _make_floor(keyword: str) -> Rule:
    return lambda _, narrow, least: max(narrow.get_all(keyword), default=0) >= least


def _make_ceiling(keyword: str) -> Rule:
    return lambda _, narrow, most: min(narrow.get_all(keyword), default=math.inf) <= most


# Keyword -> the types of which a value can fail it, and whether it follows from other demands. The
# higher a floor, the lower a ceiling, the fewer the values in a list, the narrower a schema within,
# the less is accepted; in `not`, the more.
_TABLE: Mapping[str, tuple[frozenset[str], Rule]] = {
    "nothing": (TYPES, lambda _, __, ___: False),
    "type": (TYPES, lambda _, narrow, types: narrow.types <= {*types}),
    "enum": (TYPES, _list_fewer),
    "minimum": (_NUMBERS, _make_bound(1, is_open=False)),
    "exclusiveMinimum": (_NUMBERS, _make_bound(1, is_open=True)),
    "maximum": (_NUMBERS, _make_bound(-1, is_open=False)),
    "exclusiveMaximum": (_NUMBERS, _make_bound(-1, is_open=True)),
    "multipleOf": (_NUMBERS, _divide),
    "minLength": (_STRINGS, _make_floor("minLength")),
    "maxLength": (_STRINGS, _make_ceiling("maxLength")),
    "pattern": (_STRINGS, _find_pattern),
    "minItems": (_ARRAYS, _make_floor("minItems")),
    "maxItems": (_ARRAYS, _make_ceiling("maxItems")),
    "uniqueItems": (_ARRAYS, lambda _, __, is_unique: not is_unique),
    "list": (_ARRAYS, _look_at_items),
    "contains": (_ARRAYS, _contain),
    "required": (_OBJECTS, lambda _, narrow, names: narrow.required >= {*names}),
    "minProperties": (_OBJECTS, _count_names),
    "maxProperties": (_OBJECTS, _make_ceiling("maxProperties")),
    "propertyNames": (_OBJECTS, _look_at_spellings),
    "dependentRequired": (_OBJECTS, _depend),
    "shape": (_OBJECTS, _look_at_names),
    "anyOf": (TYPES, _meet_any),
    "oneOf": (TYPES, _meet_one),
    "not": (TYPES, _meet_denial),
    "unevaluated": (_ARRAYS | _OBJECTS, lambda _, __, ___: False),
}
_SINGLE_KEYWORDS = _TABLE.keys() - {"nothing", "type", "shape", "list", "contains", "unevaluated"}
