"""The ways not to meet one demand, each as demands that a value can be built from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import combinations, islice
from typing import Any

from evalstore.schema_inclusion import arrays, objects
from evalstore.schema_inclusion.constraints import NUMBERS, TYPES, Clause, Domain, clauses, domain, typed
from evalstore.schema_inclusion.evaluation import at_index
from evalstore.schema_inclusion.normalization import View
from evalstore.schema_inclusion.strings import finds, outside, sample

Way = tuple[Clause, ...]
Ways = Iterator[Way]
Find = Callable[[Domain], Iterator[Any]]

# A demand of the builder alone: two items are one value.
TWICE = Clause("two equal items", None, "two equal items")
_NEW_NAMES = ("x", "other")
_STRANGE = 4


def opposites(some: Domain, demand: Clause, find: Find) -> Ways:
    """Yield the ways in which values of a domain may fail to meet a demand; `find` finds values of a domain."""
    if demand.name == "propertyNames":
        yield from _property_names(some, demand.value, find)
    elif demand.name == "shape":
        yield from _shape(some, demand.value, find)
    elif demand.name in _WAYS:
        yield from _WAYS[demand.name](some, demand.value)
    else:
        yield ()  # whatever there is in the domain


def _views(*views: View) -> Way:
    return tuple(clause for view in views for clause in clauses(view))


def _one(type_: str, **demands: Any) -> Ways:
    yield _views({"type": [type_], **demands})


def _type(_: Domain, types: frozenset[str]) -> Ways:
    yield from ((typed({type_}),) for type_ in sorted(TYPES - types))


def _numbers(keyword: str) -> Callable[[Domain, Any], Ways]:
    return lambda _, bound: iter([(typed(NUMBERS), *_views({keyword: bound}))])


def _below(type_: str, keyword: str) -> Callable[[Domain, Any], Ways]:
    return lambda _, least: _one(type_, **{keyword: least - 1})


def _above(type_: str, keyword: str) -> Callable[[Domain, Any], Ways]:
    return lambda _, most: _one(type_, **{keyword: most + 1})


def _pattern(some: Domain, pattern: str) -> Ways:
    texts = outside(pattern, some.all("pattern"))
    if texts:
        yield from _one("string", enum=list(texts))
    yield from _one("string")


def _required(_: Domain, names: list[str]) -> Ways:
    for name in names:
        yield from _one("object", properties={name: False})


def _dependent(_: Domain, wanted: Mapping[str, list[str]]) -> Ways:
    for name, names in wanted.items():
        for other in names:
            yield from _one("object", required=[name], properties={other: False})


def _dependent_schemas(_: Domain, wanted: Mapping[str, View]) -> Ways:
    for name, view in wanted.items():
        yield from _one("object", required=[name], **{"not": view})


def _property_names(some: Domain, view: View, find: Find) -> Ways:
    strange = domain([*some.all("propertyNames"), {"type": ["string"], "not": view}])
    for name in (*_other_names(some), *islice(find(strange), _STRANGE)):
        yield from _one("object", required=[name])


def _shape(some: Domain, shape: list[Any], find: Find) -> Ways:
    properties, patterns, rest = shape
    for name, view in properties.items():
        yield from _has(some, name, view)
    for pattern, view in patterns.items():
        for name in dict.fromkeys((*sample(pattern), *_other_names(some), *_NEW_NAMES)):
            if finds(pattern, name):
                yield from _has(some, name, view)
    if rest is not True:
        names = domain([*some.all("propertyNames"), {"type": ["string"]}])
        for name in dict.fromkeys((*_other_names(some), *_NEW_NAMES, *islice(find(names), _STRANGE))):
            if name not in properties:
                yield from _has(some, name, rest)


def _has(some: Domain, name: str, view: View) -> Ways:
    if not objects.at(some, name).states(view):
        yield from _one("object", required=[name], properties={name: {"not": view}})


def _other_names(some: Domain) -> list[str]:
    return sorted({name for shape in some.all("shape") for name in shape[0]} | objects.required(some))


def _unevaluated(some: Domain, view: dict[str, Any]) -> Ways:
    written = {name for one in (view, *some.all("unevaluated")) for name in one.get("properties", {})}
    for name in dict.fromkeys((*sorted(written), *_other_names(some), *_NEW_NAMES)):
        yield from _one("object", required=[name])
    yield from _one("array", minItems=1 + max((len(first) for first, _ in some.all("list")), default=0))


def _list(some: Domain, list_: list[Any]) -> Ways:
    most = max(len(first) for first, _ in (list_, *some.all("list")))
    for index in range(most + 1):
        view = at_index(list_, index)
        if not arrays.at(some, index).states(view):
            yield from _one("array", minItems=index + 1, prefixItems=[*[True] * index, {"not": view}])


def _contains(_: Domain, demand: list[Any]) -> Ways:
    view, least, most = demand
    if least:
        yield from _one("array", items={"not": view})
    if least > 1:
        yield from _one("array", contains=view, minContains=least - 1, maxContains=least - 1)
    if most is not None:
        yield from _one("array", contains=view, minContains=most + 1)


def _unique(_: Domain, __: Any) -> Ways:
    yield (typed({"array"}), TWICE)


def _any_of(_: Domain, views: list[View]) -> Ways:
    yield _views(*({"not": view} for view in views))


def _one_of(some: Domain, views: list[View]) -> Ways:
    yield from _any_of(some, views)
    yield from (_views(*pair) for pair in combinations(views, 2))


def _if(_: Domain, views: list[View]) -> Ways:
    chosen, then, other = views
    yield _views(chosen, {"not": then})
    yield _views({"not": chosen}, {"not": other})


_WAYS: Mapping[str, Callable[[Domain, Any], Ways]] = {
    "type": _type,
    "minimum": _numbers("exclusiveMaximum"),
    "exclusiveMinimum": _numbers("maximum"),
    "maximum": _numbers("exclusiveMinimum"),
    "exclusiveMaximum": _numbers("minimum"),
    "multipleOf": lambda _, __: iter([(typed(NUMBERS),)]),
    "minLength": _below("string", "maxLength"),
    "maxLength": _above("string", "minLength"),
    "pattern": _pattern,
    "minItems": _below("array", "maxItems"),
    "maxItems": _above("array", "minItems"),
    "uniqueItems": _unique,
    "list": _list,
    "contains": _contains,
    "unevaluated": _unevaluated,
    "minProperties": _below("object", "maxProperties"),
    "maxProperties": _above("object", "minProperties"),
    "required": _required,
    "dependentRequired": _dependent,
    "dependentSchemas": _dependent_schemas,
    "anyOf": _any_of,
    "oneOf": _one_of,
    "if": _if,
    "not": lambda _, view: iter([_views(view)]),
}
