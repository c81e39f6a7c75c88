"""Builds small values of a domain, by every way that it sees; the real check says whether they are what was sought."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from typing import Any

from evalstore.documents import canonical, convert_fraction
from evalstore.schema_inclusion import arrays, numbers, objects, strings
from evalstore.schema_inclusion.constraints import NUMBERS, Clause, Domain, clauses, typed
from evalstore.schema_inclusion.evaluation import accepts, every, meets
from evalstore.schema_inclusion.negation import TWICE, opposites
from evalstore.schema_inclusion.prover import Prover
from evalstore.schema_inclusion.strings import sample

_A_WAY = 3  # examples that are taken from each way to build one
_LARGEST = 500
_PRICE = 3
_LONGEST = 1_000
_LETTER = "a"
_WHOLE = tuple(map(Fraction, (0, 1, -1, 2, 3)))
_PARTS = tuple(map(Fraction, ("0.5", "-0.5", "0.1", "0.01")))

Values = Iterator[Any]


def examples(prover: Prover, some: Domain) -> Values:
    """Yield values of a domain, each by another way to build one."""
    for value in _built(prover, some):
        size = len(value) if isinstance(value, list | dict) else 0
        prover.spend(_PRICE + len(some.clauses) * (1 + size // 4))
        if every(meets(clause, value) for clause in some.clauses) is not False:
            yield value


def _built(prover: Prover, some: Domain) -> Values:
    if prover.empty(some):
        return
    values = prover.values(some)
    if values is not None:
        yield from sorted(values, key=lambda value: len(canonical(value)))
        return
    split = next((clause for clause in some.clauses if clause.name in _SPLIT), None)
    if split:
        also = Clause("also", split, f"also {split.text}")
        for way in _SPLIT[split.name](prover, some, split):
            yield from islice(examples(prover, some.but(split, also, *way)), _A_WAY)
        return
    for type_ in sorted(prover.types(some), key=list(_BY_TYPE).index):
        yield from islice(_BY_TYPE[type_](prover, some.but(None, typed({type_}))), 3 * _A_WAY)


def _branches(_: Prover, __: Domain, choice: Clause) -> Iterator[tuple[Clause, ...]]:
    yield from map(clauses, choice.value)


def _if(_: Prover, __: Domain, choice: Clause) -> Iterator[tuple[Clause, ...]]:
    chosen, then, other = choice.value
    yield (*clauses(chosen), *clauses(then))
    yield (*clauses({"not": chosen}), *clauses(other))


def _not(prover: Prover, some: Domain, denied: Clause) -> Iterator[tuple[Clause, ...]]:
    """Yield the ways not to meet a view: one demand of it fails, and none that must be met anyway."""
    rest = some.but(denied)
    for clause in clauses(denied.value):
        if not prover.meets(rest, clause):
            yield from opposites(rest, clause, lambda other: examples(prover, other))


def _numbers(prover: Prover, some: Domain) -> Values:
    (type_,) = prover.types(some) & NUMBERS
    step = numbers.unit(some, type_)
    ends = [bound.at for bound in (numbers.low(some, type_), numbers.high(some, type_)) if bound]
    tried = [*ends, Fraction(0)] if step is None else [end // step * step for end in (*ends, Fraction(0))]
    away = _WHOLE if step else _PARTS
    for number in (start + part * (step or 1) for part in away for start in dict.fromkeys(tried)):
        if isinstance(value := convert_fraction(number), Decimal):
            yield int(value) if number.denominator == 1 else value


def _strings(_: Prover, some: Domain) -> Values:
    least, most = strings.lengths(some)
    length = int(min(least, _LONGEST))
    for pattern in some.all("pattern"):
        for text in sample(pattern):
            yield text
            yield from (text + text[-1:] * (length - len(text)), text + _LETTER * (length - len(text)))
    yield from (_LETTER * length, _LETTER * (length + 1), "1" * length, "A" * length, "-" * (length + 1), " " * length)
    if most <= _LONGEST:
        yield _LETTER * int(most)


def _arrays(prover: Prover, some: Domain) -> Values:
    least, most = arrays.lengths(prover, some)
    twice = bool(some.all(TWICE.name))
    items: list[Any] = []
    while len(items) < min(most, _LARGEST):
        prover.spend(1 + len(items) * (1 + len(some.all("contains"))) // 4)
        more, missing = _wanted(some, items)
        if len(items) >= max(least, 2 * twice) and not missing:
            break
        found = _distinct(examples(prover, arrays.at(some, len(items)).but(None, *more)), items, some)
        if found is None:
            break
        items.append(items[-1] if twice and items else found[0])
    yield items
    yield []


def _wanted(some: Domain, items: list[Any]) -> tuple[list[Clause], bool]:
    """Return what the next item should meet for the sake of all, and whether one is missing."""
    more: list[Clause] = []
    missing = False
    for view, least, most in some.all("contains"):
        count = sum(accepts(view, item) is True for item in items)
        if count < least and not missing:
            more, missing = [*more, *clauses(view)], True
        elif most is not None and count >= most:
            more.extend(clauses({"not": view}))
    return more, missing


def _distinct(values: Values, items: list[Any], some: Domain) -> list[Any] | None:
    taken = set(map(canonical, items)) if some.all("uniqueItems") else set()
    return next(([value] for value in islice(values, _LARGEST) if canonical(value) not in taken), None)


def _objects(prover: Prover, some: Domain) -> Values:
    prover.spend(_PRICE)
    least, _ = objects.counts(prover, some)
    needed = objects.required(some)
    value = {name: found[0] for name in sorted(needed) if (found := _under(prover, some, name))}
    if len(value) >= least:
        yield value
    for name in _names(prover, some):
        if len(value) >= least:
            break
        if name not in value and (found := _under(prover, some, name)):
            value[name] = found[0]
    yield value


def _names(prover: Prover, some: Domain) -> Iterator[str]:
    can = objects.possible(prover, some)
    if can is not None:
        yield from sorted(can, key=lambda name: (len(name), name))
        return
    yield from sorted({name for shape in some.all("shape") for name in shape[0]}, key=lambda name: (len(name), name))
    yield from (f"{_LETTER}{count}" for count in range(_LARGEST))


def _under(prover: Prover, some: Domain, name: str) -> list[Any]:
    return list(islice(examples(prover, objects.at(some, name)), 1))


_SPLIT: Mapping[str, Callable[[Prover, Domain, Clause], Iterator[tuple[Clause, ...]]]] = {
    "anyOf": _branches,
    "oneOf": _branches,
    "if": _if,
    "not": _not,
}
_BY_TYPE: Mapping[str, Callable[[Prover, Domain], Values]] = {
    "integer": _numbers,
    "fraction": _numbers,
    "null": lambda _, __: iter([None]),
    "boolean": lambda _, __: iter([False, True]),
    "string": _strings,
    "array": _arrays,
    "object": _objects,
}
