"""Whether one value meets a view: yes, no, or not known; only for what needs many such answers in a proof."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

from evalstore.documents import canonical
from evalstore.schema_inclusion.constraints import Clause, clauses
from evalstore.schema_inclusion.normalization import View
from evalstore.schema_inclusion.strings import finds

Answer = bool | None


def type_of(value: Any) -> str:
    """Return which of the seven types a value has."""
    if value is None:
        return "null"
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        return "integer" if Fraction(value).denominator == 1 else "fraction"
    return {bool: "boolean", str: "string", list: "array"}.get(type(value), "object")


def accepts(view: View, value: Any) -> Answer:
    """Whether a value meets a view; None where a keyword is not known."""
    return every(meets(clause, value) for clause in clauses(view))


def meets(clause: Clause, value: Any) -> Answer:
    """Whether a value meets one demand; None where it is not known."""
    if clause.name == "also":
        return meets(clause.value, value)
    if clause.name in _ANY:
        return _ANY[clause.name](clause.value, value)
    for type_, table in _OF_TYPE:
        if clause.name in table:
            concerned = isinstance(value, type_) and not isinstance(value, bool)
            return table[clause.name](clause.value, value) if concerned else True
    return None


def every(answers: Iterable[Answer]) -> Answer:
    """Return the answer of all together: one no decides."""
    unsure = False
    for answer in answers:
        if answer is False:
            return False
        unsure = unsure or answer is None
    return None if unsure else True


def at_name(shape: list[Any], name: str) -> list[View]:
    """Return what a shape demands of the value under one name."""
    properties, patterns, rest = shape
    views = [properties[name]] if name in properties else []
    views += [view for pattern, view in patterns.items() if finds(pattern, name)]
    return views or [rest]


def at_index(list_: list[Any], index: int) -> View:
    """Return what a list demands of the item at one index."""
    first, rest = list_
    view: View = first[index] if index < len(first) else rest
    return view


def _some(answers: Iterable[Answer]) -> Answer:
    return _not(every(map(_not, answers)))


def _not(answer: Answer) -> Answer:
    return None if answer is None else not answer


def _one_of(views: list[View], value: Any) -> Answer:
    answers = [accepts(view, value) for view in views]
    sure = answers.count(True)
    if sure > 1:
        return False
    return None if None in answers else sure == 1


def _if(views: list[View], value: Any) -> Answer:
    chosen = accepts(views[0], value)
    return None if chosen is None else accepts(views[1 if chosen else 2], value)


def _contains(demand: list[Any], items: list[Any]) -> Answer:
    view, least, most = demand
    answers = [accepts(view, item) for item in items]
    sure = answers.count(True)
    possible = sure + answers.count(None)
    if possible < least or (most is not None and sure > most):
        return False
    return True if sure >= least and (most is None or possible <= most) else None


def _list(list_: list[Any], items: list[Any]) -> Answer:
    return every(accepts(at_index(list_, index), item) for index, item in enumerate(items))


def _shape(shape: list[Any], value: Mapping[str, Any]) -> Answer:
    return every(accepts(view, item) for name, item in value.items() for view in at_name(shape, name))


def _dependent(wanted: Mapping[str, list[str]], value: Mapping[str, Any]) -> bool:
    return all(value.keys() >= set(names) for name, names in wanted.items() if name in value)


def _dependent_schemas(wanted: Mapping[str, View], value: Mapping[str, Any]) -> Answer:
    return every(accepts(view, value) for name, view in wanted.items() if name in value)


def _distinct(items: list[Any]) -> bool:
    return len(set(map(canonical, items))) == len(items)


Table = Mapping[str, Callable[[Any, Any], Answer]]

_ANY: Table = {
    "nothing": lambda _, __: False,
    "type": lambda types, value: type_of(value) in types,
    "enum": lambda values, value: canonical(value) in values,
    "anyOf": lambda views, value: _some(accepts(view, value) for view in views),
    "oneOf": _one_of,
    "not": lambda view, value: _not(accepts(view, value)),
    "if": _if,
}
_NUMBER: Table = {
    "minimum": lambda bound, value: value >= bound,
    "maximum": lambda bound, value: value <= bound,
    "exclusiveMinimum": lambda bound, value: value > bound,
    "exclusiveMaximum": lambda bound, value: value < bound,
    "multipleOf": lambda unit, value: (Fraction(value) / Fraction(unit)).denominator == 1,
}
_STRING: Table = {
    "minLength": lambda least, value: len(value) >= least,
    "maxLength": lambda most, value: len(value) <= most,
    "pattern": finds,
}
_ARRAY: Table = {
    "minItems": lambda least, value: len(value) >= least,
    "maxItems": lambda most, value: len(value) <= most,
    "uniqueItems": lambda _, value: _distinct(value),
    "list": _list,
    "contains": _contains,
}
_OBJECT: Table = {
    "minProperties": lambda least, value: len(value) >= least,
    "maxProperties": lambda most, value: len(value) <= most,
    "required": lambda names, value: value.keys() >= set(names),
    "propertyNames": lambda view, value: every(accepts(view, name) for name in value),
    "dependentRequired": _dependent,
    "dependentSchemas": _dependent_schemas,
    "shape": _shape,
}
_OF_TYPE = (((int, Decimal), _NUMBER), (str, _STRING), (list, _ARRAY), (dict, _OBJECT))
