"""Takes a normal schema apart into constraints, single demands that must all be met, and names the set of its values.

A constraint is a keyword with its value, except for the keywords that mean something together only: "list" stands for
`prefixItems` with `items`, "shape" for `properties` with `patternProperties` and `additionalProperties`, "contains" for
what stands with it, "unevaluated" for all of a schema. Equal constraints have one text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any

from evalstore.documents import write_canonical
from evalstore.schema_inclusion.normalization import NormalSchema, SchemaObject

# The seven types, of which each value has one; a number is an integer or has a fraction.
TYPES = frozenset({"null", "boolean", "integer", "fraction", "string", "array", "object"})
NUMBERS = frozenset({"integer", "fraction"})

# Keywords that are a constraint each, by the types whose values they are about.
_STANDALONE: Iterable[tuple[frozenset[str], tuple[str, ...]]] = (
    (TYPES, ("anyOf", "oneOf")),
    (NUMBERS, ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")),
    (frozenset({"string"}), ("minLength", "maxLength", "pattern")),
    (frozenset({"array"}), ("minItems", "maxItems", "uniqueItems")),
    (frozenset({"object"}), ("minProperties", "maxProperties", "propertyNames", "required")),
    (frozenset({"object"}), ("dependentRequired",)),
)
_STANDALONE_TYPES = {name: types for types, names in _STANDALONE for name in names}
_TYPES_CONCERNED = {
    **_STANDALONE_TYPES,
    "list": frozenset({"array"}),
    "contains": frozenset({"array"}),
    "shape": frozenset({"object"}),
}

# With this value a keyword demands nothing.
_TRIVIAL_VALUES: Mapping[str, Any] = {
    "minLength": 0,
    "minItems": 0,
    "minProperties": 0,
    "uniqueItems": False,
    "propertyNames": True,
    "required": [],
    "dependentRequired": {},
}
# Keywords that mean something together only.
_KEYWORD_GROUPS = {
    "list": ("prefixItems", "items"),
    "contains": ("contains", "minContains", "maxContains"),
    "shape": ("properties", "patternProperties", "additionalProperties"),
}
# Of these groups the first keyword decides: without it the others demand nothing.
_HEADED_GROUPS = frozenset({"contains"})
# What a keyword of a group stands for when left out; the others stand for true.
_DEFAULTS: Mapping[str, Any] = {
    "prefixItems": [],
    "minContains": 1,
    "maxContains": None,
    "properties": {},
    "patternProperties": {},
}
# They ask what the other keywords looked at, so that they mean something with all of them only.
_UNEVALUATED = frozenset({"unevaluatedItems", "unevaluatedProperties"})


@dataclass(frozen=True, slots=True)
class Constraint:
    """One demand on a value; constraints of one text are the same."""

    name: str
    value: Any
    text: str = field(repr=False)

    @property
    def types_concerned(self) -> frozenset[str]:
        """The types whose values can fail to meet it."""
        return TYPES - self.value if self.name == "type" else _TYPES_CONCERNED.get(self.name, TYPES)


NOTHING = Constraint("nothing", None, "nothing")


def make_type_constraint(types: Iterable[str]) -> Constraint:
    """Return the constraint to some of the seven types."""
    names = frozenset(types)
    return Constraint("type", names, f"type {' '.join(sorted(names))}")


def make_choice_constraint(schemas: list[NormalSchema]) -> Constraint:
    """Return the constraint to meet one of several schemas, or more."""
    return Constraint("anyOf", schemas, f"anyOf {write_canonical(schemas)}")


def list_constraints(schema: NormalSchema) -> tuple[Constraint, ...]:
    """Return the constraints of a schema, those of `allOf` and of references among them; kept with the schema."""
    if isinstance(schema, bool):
        return () if schema else (NOTHING,)
    keywords = schema if isinstance(schema, SchemaObject) else SchemaObject(schema)
    if keywords.constraints is None:
        distinct = {constraint.text: constraint for constraint in _generate_constraints(keywords)}
        keywords.constraints = tuple(distinct.values())
    return keywords.constraints


def _generate_constraints(schema: SchemaObject) -> Iterator[Constraint]:
    for part in (*schema.get("allOf", ()), schema.get("$ref", True)):
        yield from list_constraints(part)
    if _UNEVALUATED & schema.keys():
        yield Constraint("unevaluated", schema, f"unevaluated {write_canonical(schema)}")
    if "type" in schema:
        yield make_type_constraint(
            type_ for name in schema["type"] for type_ in (NUMBERS if name == "number" else (name,))
        )
    if "const" in schema:
        yield _make_enum_constraint([schema["const"]])
    if "enum" in schema:
        yield _make_enum_constraint(schema["enum"])
    if "not" in schema:
        yield from _deny_schema(schema["not"])
    for name in sorted(schema.keys() & _STANDALONE_TYPES):
        if schema[name] != _TRIVIAL_VALUES.get(name, ...):
            yield Constraint(name, schema[name], f"{name} {write_canonical(schema[name])}")
    yield from _join_keywords(schema)
    if "if" in schema:
        # Whatever meets the condition meets `then`; whatever does not, `else`.
        condition = schema["if"]
        for way, result in ((SchemaObject({"not": condition}), "then"), (condition, "else")):
            if schema.get(result, True) is not True:
                yield make_choice_constraint([way, schema[result]])
    for name, result in schema.get("dependentSchemas", {}).items():
        yield make_choice_constraint([_forbid_name(name), result])


def _join_keywords(schema: SchemaObject) -> Iterator[Constraint]:
    for name, keywords in _KEYWORD_GROUPS.items():
        value = [schema.get(keyword, _DEFAULTS.get(keyword, True)) for keyword in keywords]
        deciding = keywords[:1] if name in _HEADED_GROUPS else keywords
        if schema.keys() & set(deciding) and not _demands_nothing(name, value):
            yield Constraint(name, value, f"{name} {write_canonical(value)}")


def _demands_nothing(name: str, value: list[Any]) -> bool:
    if name == "contains":
        return value[1:] == [0, None]
    *inner, rest = value
    schemas = (schema for parts in inner for schema in (parts.values() if isinstance(parts, dict) else parts))
    return rest is True and all(schema is True for schema in schemas)


def _make_enum_constraint(values: Iterable[Any]) -> Constraint:
    texts = {write_canonical(value): value for value in values}
    return Constraint("enum", texts, f"enum {' '.join(texts)}")


def _deny_schema(schema: NormalSchema) -> tuple[Constraint, ...]:
    """Return the constraints not to meet a schema, without a `not` where that is possible (De Morgan's laws)."""
    if isinstance(schema, dict) and schema.keys() == {"not"}:
        return list_constraints(schema["not"])
    constraints = list_constraints(schema)
    if not constraints:
        return (NOTHING,)
    denied = deny_constraint(constraints[0]) if len(constraints) == 1 else None
    return (Constraint("not", schema, f"not {write_canonical(schema)}"),) if denied is None else denied


def deny_schemas(schemas: Iterable[NormalSchema]) -> tuple[Constraint, ...]:
    """Return the constraints to meet none of some schemas."""
    return tuple(constraint for schema in schemas for constraint in _deny_schema(schema))


def deny_constraint(constraint: Constraint) -> tuple[Constraint, ...] | None:
    """Return the constraints not to meet a constraint; None where no others than a `not` are known."""
    if constraint.name in _OPPOSITES:
        type_, keyword, step = _OPPOSITES[constraint.name]
        return list_constraints({"type": [type_], keyword: constraint.value + step})
    return _DENIALS[constraint.name](constraint.value) if constraint.name in _DENIALS else None


def _forbid_name(name: str) -> SchemaObject:
    return SchemaObject({"properties": {name: False}})


def _deny_required(names: list[str]) -> tuple[Constraint, ...]:
    # What is no object has whatever is required of objects.
    ways: list[NormalSchema] = [{"type": ["object"], **_forbid_name(name)} for name in names]
    return list_constraints(ways[0] if len(ways) == 1 else {"anyOf": ways})


def _deny_shape(shape: list[Any]) -> tuple[Constraint, ...] | None:
    properties, *others = shape
    if others != [{}, True] or [*properties.values()] != [False]:
        return None
    return list_constraints({"type": ["object"], "required": [*properties]})


_DENIALS: Mapping[str, Callable[[Any], tuple[Constraint, ...] | None]] = {
    "not": list_constraints,
    "nothing": lambda _: (),
    "anyOf": deny_schemas,
    "type": lambda types: (make_type_constraint(TYPES - types),),
    "required": _deny_required,
    "shape": _deny_shape,
}
# What does not meet a keyword is of this type and meets the other, of a value so much greater.
_OPPOSITES = {
    "minimum": ("number", "exclusiveMaximum", 0),
    "maximum": ("number", "exclusiveMinimum", 0),
    "exclusiveMinimum": ("number", "maximum", 0),
    "exclusiveMaximum": ("number", "minimum", 0),
    "minLength": ("string", "maxLength", -1),
    "maxLength": ("string", "minLength", 1),
    "minItems": ("array", "maxItems", -1),
    "maxItems": ("array", "minItems", 1),
    "minProperties": ("object", "maxProperties", -1),
    "maxProperties": ("object", "minProperties", 1),
}


@dataclass(slots=True, eq=False)
class ValueSet:
    """The JSON values that meet all constraints; the texts of these are the name of the set."""

    constraints: tuple[Constraint, ...]
    texts: frozenset[str] = field(init=False)
    _by_name: dict[str, list[Any]] = field(init=False)

    def __post_init__(self) -> None:
        self.texts = frozenset(constraint.text for constraint in self.constraints)
        self._by_name = {}
        for constraint in self.constraints:
            self._by_name.setdefault(constraint.name, []).append(constraint.value)

    def get_all(self, name: str) -> list[Any]:
        """Return the values of the constraints of one name."""
        return self._by_name.get(name, [])

    def has_any(self, names: AbstractSet[str]) -> bool:
        """Whether a constraint has one of these names."""
        return not names.isdisjoint(self._by_name)

    def has_constraint(self, constraint: Constraint) -> bool:
        """Whether one of the constraints is this one."""
        return constraint.text in self.texts

    def has_all_of(self, schema: NormalSchema) -> bool:
        """Whether each constraint of a schema is one of the set."""
        return all(map(self.has_constraint, list_constraints(schema)))

    def narrow(self, *added: Constraint) -> ValueSet:
        """Return the values that meet other constraints, too."""
        return ValueSet((*self.constraints, *added))

    def replace(self, dropped: Constraint, *added: Constraint) -> ValueSet:
        """Return the values that meet all constraints but one, and others."""
        return ValueSet((*(constraint for constraint in self.constraints if constraint is not dropped), *added))


def intersect_schemas(schemas: Iterable[NormalSchema]) -> ValueSet:
    """Return the values that meet all schemas."""
    return ValueSet(tuple(constraint for schema in schemas for constraint in list_constraints(schema)))
