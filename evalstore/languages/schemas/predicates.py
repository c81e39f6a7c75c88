"""Compiles the keywords of our own schemas into predicates: a fast first pass, valid or not."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from functools import partial
from typing import Any, NamedTuple

from evalstore.languages.schemas.guard import copy_plain, make_equality_key

Predicate = Callable[[Any], bool]

_ANNOTATIONS = frozenset(
    {"$schema", "$id", "$defs", "title", "description", "examples", "default", "deprecated"}
)
_LOCAL = "#/$defs/"
# The types that are simply Python classes.
_CLASSES: Mapping[str, type] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "null": type(None),
}
_BRANCHES = ("then", "else")
_PARTS_OF_OTHERS = frozenset(_BRANCHES)  # without `if` they mean nothing


def compile_predicate(schema: Mapping[str, Any]) -> Predicate | None:
    """Return whether a document's value meets a schema, with `literal` integers as in `Guard`.

    None for a schema with a keyword that is not listed here: only the library can answer then.
    """
    plain = copy_plain(schema)  # whose numbers are exact
    try:
        return _PredicateCompiler(plain).compile(plain)
    except _UnknownKeywordError:
        return None


class _UnknownKeywordError(Exception):
    """A schema has a keyword for which there is no predicate."""


class _PredicateCompiler:
    def __init__(self, root: Mapping[str, Any]) -> None:
        self._definitions = root.get("$defs", {})
        self._compiled: dict[str, Predicate] = {}

    def compile(self, schema: Any) -> Predicate:
        """Return the predicate of a schema, a mapping or a boolean."""
        if isinstance(schema, bool):
            return _meet_always if schema else _meet_never
        predicates = []
        for keyword, value in schema.items():
            if keyword in _ANNOTATIONS or keyword in _PARTS_OF_OTHERS:
                continue
            if keyword not in _KEYWORDS:
                raise _UnknownKeywordError(keyword)
            predicates.append(_KEYWORDS[keyword](self, value, schema))
        return _join_all(predicates)

    def follow(self, reference: str) -> Predicate:
        """Return the predicate of a definition, compiled on first use: it may refer to itself."""
        if reference not in self._compiled:
            definition = self.find_definition(reference)
            # Until it is compiled, its references to itself look it up.
            self._compiled[reference] = partial(self._ask_definition, reference)
            self._compiled[reference] = self.compile(definition)
        return self._compiled[reference]

    def find_definition(self, reference: str) -> Any:
        """Return the schema that a reference names."""
        name = reference.removeprefix(_LOCAL)
        if reference == name or name not in self._definitions:
            raise _UnknownKeywordError(reference)
        return self._definitions[name]

    def _ask_definition(self, reference: str, value: Any) -> bool:
        return self._compiled[reference](value)


# Whatever demands nothing is exactly this function, which need not be called.
def _meet_always(_: Any) -> bool:
    return True


def _meet_never(_: Any) -> bool:
    return False


def _join_all(predicates: list[Predicate]) -> Predicate:
    predicates = [predicate for predicate in predicates if predicate is not _meet_always]
    if len(predicates) < 2:  # noqa: PLR2004
        return predicates[0] if predicates else _meet_always

    def meets_all(value: Any) -> bool:
        for predicate in predicates:  # noqa: SIM110  # `all` of a generator takes twice as long
            if not predicate(value):
                return False
        return True

    return meets_all


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


_TYPES: Mapping[str, Predicate] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "number": _is_number,
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
}


def _compile_type(_: _PredicateCompiler, names: str | list[str], __: Any) -> Predicate:
    if isinstance(names, str):
        return _TYPES[names]
    classes = tuple(_CLASSES[name] for name in names if name in _CLASSES)
    tests = [_TYPES[name] for name in names if name not in _CLASSES]
    if not tests:
        return lambda value: isinstance(value, classes)
    return lambda value: isinstance(value, classes) or any(test(value) for test in tests)


def _compile_properties(
    compiler: _PredicateCompiler, schemas: Mapping[str, Any], _: Any
) -> Predicate:
    compiled = {name: compiler.compile(schema) for name, schema in schemas.items()}
    predicates = {name: meets for name, meets in compiled.items() if meets is not _meet_always}

    def properties_meet(value: Any) -> bool:
        if isinstance(value, dict):
            for name, item in value.items():
                if name in predicates and not predicates[name](item):
                    return False
        return True

    return properties_meet if predicates else _meet_always


def _compile_pattern_properties(
    compiler: _PredicateCompiler, schemas: Mapping[str, Any], _: Any
) -> Predicate:
    compiled = {pattern: compiler.compile(schema) for pattern, schema in schemas.items()}
    asked = [(pattern, meets) for pattern, meets in compiled.items() if meets is not _meet_always]
    predicates = [(re.compile(pattern).search, meets) for pattern, meets in asked]

    def named_properties_meet(value: Any) -> bool:
        if isinstance(value, dict):
            for name, item in value.items():
                if any(search(name) and not meets(item) for search, meets in predicates):
                    return False
        return True

    return named_properties_meet if predicates else _meet_always


def _compile_additional_properties(
    compiler: _PredicateCompiler, schema: Any, whole: Mapping[str, Any]
) -> Predicate:
    known, meets = frozenset(whole.get("properties", ())), compiler.compile(schema)
    if meets is _meet_always:
        return meets
    searches = [re.compile(pattern).search for pattern in whole.get("patternProperties", ())]

    def additional_properties_meet(value: Any) -> bool:
        if isinstance(value, dict):
            for name, item in value.items():
                is_known = name in known or any(search(name) for search in searches)
                if not is_known and not meets(item):
                    return False
        return True

    return additional_properties_meet


class _EvaluatedNames(NamedTuple):
    """The properties that a part of a schema evaluates if its condition holds for the value."""

    condition: Predicate
    names: frozenset[str]
    searches: tuple[Callable[[str], object], ...]

    def cover(self, name: str, value: Any) -> bool:
        """Whether the property `name` of `value` is evaluated."""
        return (
            name in self.names or any(search(name) for search in self.searches)
        ) and self.condition(value)


def _compile_unevaluated_properties(
    compiler: _PredicateCompiler, schema: Any, whole: Mapping[str, Any]
) -> Predicate:
    meets = compiler.compile(schema)
    parts = [*_list_evaluated(compiler, whole, _meet_always, is_whole=True)]

    def unevaluated_properties_meet(value: Any) -> bool:
        if isinstance(value, dict):
            for name, item in value.items():
                if not any(part.cover(name, value) for part in parts) and not meets(item):
                    return False
        return True

    return unevaluated_properties_meet


def _list_evaluated(
    compiler: _PredicateCompiler, schema: Any, condition: Predicate, *, is_whole: bool = False
) -> Iterator[_EvaluatedNames]:
    """Yield what a schema evaluates, and the parts of it that look at the same value."""
    if not isinstance(schema, dict):
        return
    patterns = ["", *schema.get("patternProperties", ())]
    # These two leave nothing unevaluated, and the empty pattern is found everywhere.
    is_total = "additionalProperties" in schema or (
        "unevaluatedProperties" in schema and not is_whole
    )
    searches = tuple(re.compile(pattern).search for pattern in patterns[not is_total :])
    yield _EvaluatedNames(condition, frozenset(schema.get("properties", ())), searches)
    parts = [
        *schema.get("allOf", ()),
        *([compiler.find_definition(schema["$ref"])] if "$ref" in schema else ()),
    ]
    for part in parts:
        yield from _list_evaluated(compiler, part, condition)
    for part in schema.get("anyOf", ()):
        yield from _list_evaluated(compiler, part, _join_all([condition, compiler.compile(part)]))
    if "if" in schema:
        applies = compiler.compile(schema["if"])
        for part in (schema["if"], schema.get("then")):
            yield from _list_evaluated(
                compiler, part, lambda value: condition(value) and applies(value)
            )
        yield from _list_evaluated(
            compiler, schema.get("else"), lambda value: condition(value) and not applies(value)
        )


def _compile_items(compiler: _PredicateCompiler, schema: Any, _: Any) -> Predicate:
    meets = compiler.compile(schema)
    if meets is _meet_always:
        return meets
    return lambda value: not isinstance(value, list) or all(map(meets, value))


def _compile_property_names(compiler: _PredicateCompiler, schema: Any, _: Any) -> Predicate:
    meets = compiler.compile(schema)
    return lambda value: not isinstance(value, dict) or all(map(meets, value))


def _compile_required(_: _PredicateCompiler, names: list[str], __: Any) -> Predicate:
    wanted = frozenset(names)
    return lambda value: not isinstance(value, dict) or wanted <= value.keys()


def _compile_dependent_required(
    _: _PredicateCompiler, wanted: Mapping[str, list[str]], __: Any
) -> Predicate:
    return lambda value: (
        not isinstance(value, dict)
        or all(name not in value or value.keys() >= {*others} for name, others in wanted.items())
    )


def _compile_pattern(_: _PredicateCompiler, pattern: str, __: Any) -> Predicate:
    search = re.compile(pattern).search
    return lambda value: not isinstance(value, str) or search(value) is not None


def _compile_enum(_: _PredicateCompiler, allowed: list[Any], __: Any) -> Predicate:
    keys = {make_equality_key(value) for value in allowed}
    return lambda value: make_equality_key(value) in keys


def _compile_not(compiler: _PredicateCompiler, schema: Any, _: Any) -> Predicate:
    meets = compiler.compile(schema)
    return lambda value: not meets(value)


def _compile_any_of(compiler: _PredicateCompiler, schemas: list[Any], _: Any) -> Predicate:
    choices = [compiler.compile(schema) for schema in schemas]
    return lambda value: any(meets(value) for meets in choices)


def _compile_condition(
    compiler: _PredicateCompiler, schema: Any, whole: Mapping[str, Any]
) -> Predicate:
    applies, then, otherwise = (
        compiler.compile(part) for part in (schema, *map(_find_branch(whole), _BRANCHES))
    )
    return lambda value: then(value) if applies(value) else otherwise(value)


def _find_branch(whole: Mapping[str, Any]) -> Callable[[str], Any]:
    return lambda name: whole.get(name, True)


_KEYWORDS: Mapping[str, Callable[[_PredicateCompiler, Any, Mapping[str, Any]], Predicate]] = {
    "$ref": lambda compiler, reference, _: compiler.follow(reference),
    "additionalProperties": _compile_additional_properties,
    "allOf": lambda compiler, schemas, _: _join_all(
        [compiler.compile(schema) for schema in schemas]
    ),
    "anyOf": _compile_any_of,
    "const": lambda compiler, constant, whole: _compile_enum(compiler, [constant], whole),
    "dependentRequired": _compile_dependent_required,
    "enum": _compile_enum,
    "if": _compile_condition,
    "items": _compile_items,
    "maximum": lambda _, bound, __: lambda value: not _is_number(value) or value <= bound,
    "maxItems": lambda _, bound, __: (
        lambda value: not isinstance(value, list) or len(value) <= bound
    ),
    "minimum": lambda _, bound, __: lambda value: not _is_number(value) or value >= bound,
    "minItems": lambda _, bound, __: (
        lambda value: not isinstance(value, list) or len(value) >= bound
    ),
    "minLength": lambda _, bound, __: (
        lambda value: not isinstance(value, str) or len(value) >= bound
    ),
    "not": _compile_not,
    "pattern": _compile_pattern,
    "patternProperties": _compile_pattern_properties,
    "properties": _compile_properties,
    "propertyNames": _compile_property_names,
    "required": _compile_required,
    "type": _compile_type,
    "unevaluatedProperties": _compile_unevaluated_properties,
    "uniqueItems": lambda _, wanted, __: (
        lambda value: (
            not wanted
            or not isinstance(value, list)
            or len({*map(make_equality_key, value)}) == len(value)
        )
    ),
}
