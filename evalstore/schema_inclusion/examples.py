"""Builds small values of a set, by every way that it sees; the real check says whether they are what was sought.

Nothing rests on what is built here: an example that both schemas accept, or neither, is dropped (`compare`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from typing import Any

from evalstore.documents import convert_fraction, write_canonical
from evalstore.schema_inclusion import arrays, numbers, objects, strings
from evalstore.schema_inclusion.constraints import NUMBERS, Constraint, ValueSet, list_constraints, make_type_constraint
from evalstore.schema_inclusion.evaluation import combine_answers, evaluate_constraint, evaluate_schema
from evalstore.schema_inclusion.negation import EQUAL_ITEMS, iterate_violations
from evalstore.schema_inclusion.prover import Prover
from evalstore.schema_inclusion.strings import find_matching_texts

# Examples that are taken from each way to build one.
_PER_ALTERNATIVE = 3
_SIZE_LIMIT = 500
_EXAMPLE_STEPS = 3
_LENGTH_LIMIT = 1_000
_LETTER = "a"
_WHOLE_OFFSETS = tuple(map(Fraction, (0, 1, -1, 2, 3)))
_PART_OFFSETS = tuple(map(Fraction, ("0.5", "-0.5", "0.1", "0.01")))

ValueIterator = Iterator[Any]


def generate_examples(prover: Prover, value_set: ValueSet) -> ValueIterator:
    """Yield values of a set, each by another way to build one; raises `OutOfStepsError`."""
    for value in _generate_candidates(prover, value_set):
        size = len(value) if isinstance(value, list | dict) else 0
        prover.spend(_EXAMPLE_STEPS + len(value_set.constraints) * (1 + size // 4))
        if combine_answers(evaluate_constraint(constraint, value) for constraint in value_set.constraints) is not False:
            yield value


def _generate_candidates(prover: Prover, value_set: ValueSet) -> ValueIterator:
    if prover.is_empty(value_set):
        return
    values = prover.list_values(value_set)
    if values is not None:
        yield from sorted(values, key=lambda value: len(write_canonical(value)))
        return
    split = next((constraint for constraint in value_set.constraints if constraint.name in _SPLITTERS), None)
    if split:
        # A choice is split into its alternatives, and is kept under a name that splits no more, to test the values.
        remembered = Constraint("also", split, f"also {split.text}")
        for alternative in _SPLITTERS[split.name](prover, value_set, split):
            narrower = value_set.replace(split, remembered, *alternative)
            yield from islice(generate_examples(prover, narrower), _PER_ALTERNATIVE)
        return
    for type_ in sorted(prover.find_types(value_set), key=list(_GENERATORS).index):
        narrower = value_set.narrow(make_type_constraint({type_}))
        yield from islice(_GENERATORS[type_](prover, narrower), 3 * _PER_ALTERNATIVE)


def _split_choice(_: Prover, __: ValueSet, choice: Constraint) -> Iterator[tuple[Constraint, ...]]:
    yield from map(list_constraints, choice.value)


def _split_denial(prover: Prover, value_set: ValueSet, denial: Constraint) -> Iterator[tuple[Constraint, ...]]:
    """Yield the ways not to meet a schema: one constraint of it fails, and none that must be met anyway."""
    rest = value_set.replace(denial)
    for constraint in list_constraints(denial.value):
        if not prover.entails_constraint(rest, constraint):
            yield from iterate_violations(rest, constraint, lambda other: generate_examples(prover, other))


def _generate_numbers(prover: Prover, value_set: ValueSet) -> ValueIterator:
    (type_,) = prover.find_types(value_set) & NUMBERS
    unit = numbers.find_unit(value_set, type_)
    bounds = numbers.find_lower_bound(value_set, type_), numbers.find_upper_bound(value_set, type_)
    starts = [*(bound.value for bound in bounds if bound), Fraction(0)]
    starts = starts if unit is None else [start // unit * unit for start in starts]
    offsets = _WHOLE_OFFSETS if unit else _PART_OFFSETS
    for number in (start + offset * (unit or 1) for offset in offsets for start in dict.fromkeys(starts)):
        if isinstance(value := convert_fraction(number), Decimal):
            yield int(value) if number.denominator == 1 else value


def _generate_strings(_: Prover, value_set: ValueSet) -> ValueIterator:
    least, most = strings.find_lengths(value_set)
    length = int(min(least, _LENGTH_LIMIT))
    for pattern in value_set.get_all("pattern"):
        for text in find_matching_texts(pattern):
            yield text
            yield from (text + text[-1:] * (length - len(text)), text + _LETTER * (length - len(text)))
    yield from (_LETTER * length, _LETTER * (length + 1), "1" * length, "A" * length, "-" * (length + 1), " " * length)
    if most <= _LENGTH_LIMIT:
        yield _LETTER * int(most)


def _generate_arrays(prover: Prover, value_set: ValueSet) -> ValueIterator:
    least, most = arrays.find_lengths(prover, value_set)
    has_equal_items = bool(value_set.get_all(EQUAL_ITEMS.name))
    items: list[Any] = []
    while len(items) < min(most, _SIZE_LIMIT):
        prover.spend(1 + len(items) * (1 + len(value_set.get_all("contains"))) // 4)
        added, is_missing = _find_item_constraints(value_set, items)
        if len(items) >= max(least, 2 * has_equal_items) and not is_missing:
            break
        candidates = generate_examples(prover, arrays.project_index(value_set, len(items)).narrow(*added))
        found = _find_distinct(candidates, items, value_set)
        if found is None:
            break
        items.append(items[-1] if has_equal_items and items else found[0])
    yield items
    yield []


def _find_item_constraints(value_set: ValueSet, items: list[Any]) -> tuple[list[Constraint], bool]:
    """Return what the next item should meet for the sake of all, and whether one is missing."""
    added: list[Constraint] = []
    is_missing = False
    for schema, least, most in value_set.get_all("contains"):
        count = sum(evaluate_schema(schema, item) is True for item in items)
        if count < least and not is_missing:
            added, is_missing = [*added, *list_constraints(schema)], True
        elif most is not None and count >= most:
            added.extend(list_constraints({"not": schema}))
    return added, is_missing


def _find_distinct(values: ValueIterator, items: list[Any], value_set: ValueSet) -> list[Any] | None:
    seen = set(map(write_canonical, items)) if value_set.get_all("uniqueItems") else set()
    return next(([value] for value in islice(values, _SIZE_LIMIT) if write_canonical(value) not in seen), None)


def _generate_objects(prover: Prover, value_set: ValueSet) -> ValueIterator:
    prover.spend(_EXAMPLE_STEPS)
    least, _ = objects.find_counts(prover, value_set)
    needed = objects.find_required_names(value_set)
    value = {name: found[0] for name in sorted(needed) if (found := _find_property_value(prover, value_set, name))}
    if len(value) >= least:
        yield value
    for name in _generate_names(prover, value_set):
        if len(value) >= least:
            break
        if name not in value and (found := _find_property_value(prover, value_set, name)):
            value[name] = found[0]
    yield value


def _generate_names(prover: Prover, value_set: ValueSet) -> Iterator[str]:
    possible = objects.find_possible_names(prover, value_set)
    if possible is not None:
        yield from sorted(possible, key=lambda name: (len(name), name))
        return
    written = {name for shape in value_set.get_all("shape") for name in shape[0]}
    yield from sorted(written, key=lambda name: (len(name), name))
    yield from (f"{_LETTER}{count}" for count in range(_SIZE_LIMIT))


def _find_property_value(prover: Prover, value_set: ValueSet, name: str) -> list[Any]:
    return list(islice(generate_examples(prover, objects.project_name(value_set, name)), 1))


_SPLITTERS: Mapping[str, Callable[[Prover, ValueSet, Constraint], Iterator[tuple[Constraint, ...]]]] = {
    "anyOf": _split_choice,
    "oneOf": _split_choice,
    "not": _split_denial,
}
_GENERATORS: Mapping[str, Callable[[Prover, ValueSet], ValueIterator]] = {
    "integer": _generate_numbers,
    "fraction": _generate_numbers,
    "null": lambda _, __: iter([None]),
    "boolean": lambda _, __: iter([False, True]),
    "string": _generate_strings,
    "array": _generate_arrays,
    "object": _generate_objects,
}
