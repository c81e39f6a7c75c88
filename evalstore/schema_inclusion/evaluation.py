"""Evaluates a normal schema on one value: yes, no, or not known (Kleene's three values).

Only for what needs many such answers in a proof; `evalstore.schemas` applies a schema for its own sake.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

from evalstore.documents import write_canonical
from evalstore.schema_inclusion.constraints import Constraint, list_constraints
from evalstore.schema_inclusion.normalization import NormalSchema
from evalstore.schema_inclusion.strings import is_pattern_found

Answer = bool | None


def find_type(value: Any) -> str:
    """Return which of the seven types a value has."""
    if value is None:
        return "null"
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        return "integer" if Fraction(value).denominator == 1 else "fraction"
    return {bool: "boolean", str: "string", list: "array"}.get(type(value), "object")


def evaluate_schema(schema: NormalSchema, value: Any) -> Answer:
    """Return whether a value meets a schema; None where a keyword is not known."""
    return combine_answers(evaluate_constraint(constraint, value) for constraint in list_constraints(schema))


def evaluate_constraint(constraint: Constraint, value: Any) -> Answer:
    """Return whether a value meets one constraint; None where it is not known."""
    if constraint.name == "also":  # of the builder of examples, which has taken this constraint apart
        return evaluate_constraint(constraint.value, value)
    if constraint.name in _OF_ANY_VALUE:
        return _OF_ANY_VALUE[constraint.name](constraint.value, value)
    for type_, table in _TABLES_BY_TYPE:
        if constraint.name in table:
            is_concerned = isinstance(value, type_) and not isinstance(value, bool)
            return table[constraint.name](constraint.value, value) if is_concerned else True
    return None


def combine_answers(answers: Iterable[Answer]) -> Answer:
    """Return the answer to "all of these": one no decides, then one unknown."""
    is_unsure = False
    for answer in answers:
        if answer is False:
            return False
        is_unsure = is_unsure or answer is None
    return None if is_unsure else True


def select_property_schemas(shape: list[Any], name: str) -> list[NormalSchema]:
    """Return the schemas of a shape (see `constraints`) for the value under one name."""
    properties, patterns, rest = shape
    schemas = [properties[name]] if name in properties else []
    schemas += [schema for pattern, schema in patterns.items() if is_pattern_found(pattern, name)]
    return schemas or [rest]


def select_item_schema(list_: list[Any], index: int) -> NormalSchema:
    """Return the schema of a list (see `constraints`) for the item at one index."""
    first, rest = list_
    schema: NormalSchema = first[index] if index < len(first) else rest
    return schema


def _disjoin_answers(answers: Iterable[Answer]) -> Answer:
    return _negate_answer(combine_answers(map(_negate_answer, answers)))


def _negate_answer(answer: Answer) -> Answer:
    return None if answer is None else not answer


def _evaluate_one_of(schemas: list[NormalSchema], value: Any) -> Answer:
    answers = [evaluate_schema(schema, value) for schema in schemas]
    accepted = answers.count(True)
    if accepted > 1:
        return False
    return None if None in answers else accepted == 1


def _evaluate_contains(contains: list[Any], items: list[Any]) -> Answer:
    schema, least, most = contains
    answers = [evaluate_schema(schema, item) for item in items]
    # What is not known may count or not: only where both lead to one answer is it given.
    accepted = answers.count(True)
    possible = accepted + answers.count(None)
    if possible < least or (most is not None and accepted > most):
        return False
    return True if accepted >= least and (most is None or possible <= most) else None


def _evaluate_items(list_: list[Any], items: list[Any]) -> Answer:
    return combine_answers(evaluate_schema(select_item_schema(list_, index), item) for index, item in enumerate(items))


def _evaluate_properties(shape: list[Any], value: Mapping[str, Any]) -> Answer:
    return combine_answers(
        evaluate_schema(schema, item) for name, item in value.items() for schema in select_property_schemas(shape, name)
    )


def _evaluate_dependent_required(dependent: Mapping[str, list[str]], value: Mapping[str, Any]) -> bool:
    return all(value.keys() >= set(names) for name, names in dependent.items() if name in value)


def _has_distinct_items(items: list[Any]) -> bool:
    return len(set(map(write_canonical, items))) == len(items)


EvaluationTable = Mapping[str, Callable[[Any, Any], Answer]]

_OF_ANY_VALUE: EvaluationTable = {
    "nothing": lambda _, __: False,
    "type": lambda types, value: find_type(value) in types,
    "enum": lambda values, value: write_canonical(value) in values,
    "anyOf": lambda schemas, value: _disjoin_answers(evaluate_schema(schema, value) for schema in schemas),
    "oneOf": _evaluate_one_of,
    "not": lambda schema, value: _negate_answer(evaluate_schema(schema, value)),
}
_OF_NUMBERS: EvaluationTable = {
    "minimum": lambda bound, value: value >= bound,
    "maximum": lambda bound, value: value <= bound,
    "exclusiveMinimum": lambda bound, value: value > bound,
    "exclusiveMaximum": lambda bound, value: value < bound,
    "multipleOf": lambda unit, value: (Fraction(value) / Fraction(unit)).denominator == 1,
}
_OF_STRINGS: EvaluationTable = {
    "minLength": lambda least, value: len(value) >= least,
    "maxLength": lambda most, value: len(value) <= most,
    "pattern": is_pattern_found,
}
_OF_ARRAYS: EvaluationTable = {
    "minItems": lambda least, value: len(value) >= least,
    "maxItems": lambda most, value: len(value) <= most,
    "uniqueItems": lambda _, value: _has_distinct_items(value),
    "list": _evaluate_items,
    "contains": _evaluate_contains,
}
_OF_OBJECTS: EvaluationTable = {
    "minProperties": lambda least, value: len(value) >= least,
    "maxProperties": lambda most, value: len(value) <= most,
    "required": lambda names, value: value.keys() >= set(names),
    "propertyNames": lambda schema, value: combine_answers(evaluate_schema(schema, name) for name in value),
    "dependentRequired": _evaluate_dependent_required,
    "shape": _evaluate_properties,
}
_TABLES_BY_TYPE = (((int, Decimal), _OF_NUMBERS), (str, _OF_STRINGS), (list, _OF_ARRAYS), (dict, _OF_OBJECTS))
