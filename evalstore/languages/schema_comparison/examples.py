"""Builds small values near what two schemas say differently; the real check judges them.

Nothing depends on what is built here: a value that both schemas accept, or neither, is dropped
(`compare`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from itertools import chain, islice, product
from typing import Any

from evalstore.budget import SharedBudget
from evalstore.documents import convert_fraction, write_canonical
from evalstore.languages.limits import EXAMPLES
from evalstore.languages.schema_comparison.monotony import TYPES, find_type, is_multiple
from evalstore.languages.schema_comparison.normalization import NormalSchema, SchemaObject
from evalstore.languages.schema_comparison.pattern_texts import (
    ANY_PATTERN,
    NO_PATTERN,
    find_text,
    is_pattern_found,
)

_LETTERS = "a1A"
_OFFSETS = tuple(map(Fraction, ("0", "1", "-1", "0.5", "-0.5", "2")))
_MULTIPLES = tuple(map(Fraction, ("0", "1", "-1", "0.5")))
_SAMPLES: Mapping[str, Any] = {
    "integer": 0,
    "fraction": Decimal("0.5"),
    "null": None,
    "boolean": True,
    "string": "",
    "array": [],
    "object": {},
}
_FRESH_NAMES = ("x", "other", "a", "b")

_LOOKING_LISTS = ("allOf", "anyOf", "oneOf")
_LOOKING = ("$ref", "not", "if", "then", "else")
_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_ITEM_COUNTS = ("minItems", "maxItems", "minContains", "maxContains")
_NAME_COUNTS = ("minProperties", "maxProperties")
_LEAVES = frozenset(
    {"type", "enum", "const", "multipleOf", "minLength", "maxLength", "pattern", "uniqueItems"}
    | {"required", "dependentRequired", *_BOUNDS, *_ITEM_COUNTS, *_NAME_COUNTS}
)

Parts = list[SchemaObject]


def generate_examples(old: NormalSchema, new: NormalSchema, budget: SharedBudget) -> Iterator[Any]:
    """Yield values near what differs between two schemas; raises `OutOfStepsError`."""
    yield from _Builder(budget).iterate_near([old], [new])


class _Builder:
    def __init__(self, budget: SharedBudget) -> None:
        self._budget = budget

    def iterate_near(self, old: list[NormalSchema], new: list[NormalSchema]) -> Iterator[Any]:
        """Yield values that meet either side, and those at the edges of what only one demands."""
        parts = _list_parts(old), _list_parts(new)
        changed = _list_changed_leaves(parts)
        bases = self._build_bases(old, new)
        yield from bases
        yield from _iterate_scalars(changed)
        arrays = [value for value in bases if isinstance(value, list)] or [[]]
        objects = [value for value in bases if isinstance(value, dict)] or [{}]
        yield from self._iterate_arrays(arrays, parts, changed)
        yield from self._iterate_objects(objects, parts, changed)

    def _build_bases(self, old: list[NormalSchema], new: list[NormalSchema]) -> list[Any]:
        values = chain(self.build([*old, *new]), self.build(old), self.build(new))
        return list({write_canonical(value): value for value in values}.values())

    def build(self, schemas: Iterable[NormalSchema]) -> list[Any]:
        """Return a few values that meet schemas as far as seen here: one per type and choice."""
        self._budget.spend()
        ways = islice(_iterate_ways([*schemas]), EXAMPLES.ways)
        return [*islice(chain.from_iterable(map(self._build_way, ways)), EXAMPLES.parts)]

    def _build_way(self, parts: Parts) -> Iterator[Any]:
        listed = [value for part in parts for value in _list_values(part)]
        if listed:
            yield from islice(
                sorted(listed, key=lambda value: len(write_canonical(value))), EXAMPLES.parts
            )
            return
        types = TYPES.intersection(*(_list_types(part) for part in parts if "type" in part))
        for type_ in (name for name in _SAMPLES if name in types):
            if type_ in {"integer", "fraction"}:
                yield from _build_numbers(parts, type_)
            elif type_ == "string":
                yield from _build_texts(parts)
            elif type_ == "array":
                yield self._build_array(
                    parts, int(max(_get_all(parts, "minItems", "minContains"), default=0))
                )
            elif type_ == "object":
                yield self._build_object(parts, max(_get_all(parts, "minProperties"), default=0))
            else:
                yield _SAMPLES[type_]

    def _build_array(self, parts: Parts, length: int) -> list[Any]:
        items: list[Any] = []
        is_unique = any(_get_all(parts, "uniqueItems"))
        for index in range(
            min(max(length, 1 if _get_all(parts, "contains") else 0), EXAMPLES.size)
        ):
            self._budget.spend(1 + len(parts))
            options = self.build([*_look_at(parts, index), *_get_all(parts, "contains")])
            options += self.build(_look_at(parts, index)) if is_unique or not options else []
            options += [index + 1] if is_unique else []
            items += next(([one] for one in options if not (is_unique and one in items)), [])
        return items

    def _build_object(self, parts: Parts, count: int) -> dict[str, Any]:
        names = dict.fromkeys(
            sorted(name for listed in _get_all(parts, "required") for name in listed)
        )
        for pairs in _get_all(parts, "dependentRequired"):
            names |= dict.fromkeys(other for name in [*names] for other in pairs.get(name, ()))
        invented = (f"a{index}" for index in range(EXAMPLES.size))
        for name in chain(_iterate_written_names(parts), invented):
            if len(names) >= count:
                break
            names[name] = None
        values = ((name, self.build(_look_under(parts, name))) for name in names)
        return {name: found[0] for name, found in values if found}

    def _iterate_arrays(
        self, bases: list[Any], parts: tuple[Parts, Parts], changed: Parts
    ) -> Iterator[Any]:
        for count in dict.fromkeys(_get_all(changed, *_ITEM_COUNTS)):
            for length in _list_neighbours(count):
                yield from (self._build_array(side, int(length)) for side in parts if length >= 0)
        if _get_all(changed, "uniqueItems"):
            options = [value for side in parts for value in self.build(_look_at(side, 0))]
            yield from ([value] * 2 for value in (*options[:2], 0))
        longest = max((len(part.get("prefixItems", ())) for part in chain(*parts)), default=0)
        for index in range(min(longest, EXAMPLES.size) + 1):
            old, new = (_look_at(side, index) for side in parts)
            contained = [_get_all(side, "contains") for side in parts] if index == 0 else [[], []]
            for one, other in ((old, new), contained):
                for value in self._iterate_changed(one, other):
                    filler = [self._build_item(parts, at) for at in range(index)]
                    for base in bases[:2]:
                        yield [*base[:index], *filler[len(base) :], value, *base[index + 1 :]]
                        yield [*base, value]

    def _build_item(self, parts: tuple[Parts, Parts], index: int) -> Any:
        """Return an item that both sides allow at an index; 0 if none is found."""
        schemas = chain.from_iterable(_look_at(side, index) for side in parts)
        return next(iter(self.build(schemas)), 0)

    def _iterate_objects(
        self, bases: list[Any], parts: tuple[Parts, Parts], changed: Parts
    ) -> Iterator[Any]:
        dependent = [*_iterate_dependent(parts, changed)]
        needed = [name for listed in _get_all(changed, "required") for name in listed]
        needed += [name for key, others in dependent for name in (key, *others)]
        for base in bases[: EXAMPLES.ways]:
            full = {**base, **{name: self._find_one(parts, name) for name in needed}}
            yield full
            for name in needed:
                yield {key: value for key, value in full.items() if key != name}
            yield from ({**base, key: self._find_one(parts, key)} for key, _ in dependent)
        for count in dict.fromkeys(_get_all(changed, *_NAME_COUNTS)):
            for size in _list_neighbours(count):
                yield from (self._build_object(side, int(size)) for side in parts)
        for name in self._list_names(parts):
            for value in self._iterate_changed(*(_look_under(side, name) for side in parts)):
                yield from ({**base, name: value} for base in bases[: EXAMPLES.ways])
        names = self._iterate_changed(*(_get_all(side, "propertyNames") for side in parts))
        for name in (one for one in names if isinstance(one, str)):
            yield from ({**base, name: self._find_one(parts, name)} for base in bases[:2])

    def _iterate_changed(self, old: list[NormalSchema], new: list[NormalSchema]) -> Iterator[Any]:
        """Yield values near what differs in one place; none if nothing does."""
        if write_canonical(old) != write_canonical(new):
            self._budget.spend()
            yield from islice(self.iterate_near(old, new), EXAMPLES.parts * 4)

    def _find_one(self, parts: tuple[Parts, Parts], name: str) -> Any:
        found = self.build([schema for side in parts for schema in _look_under(side, name)])
        return next(chain(found, self.build(_look_under(parts[0], name))), 0)

    def _list_names(self, parts: tuple[Parts, Parts]) -> list[str]:
        every = [*chain(*parts)]
        written = sorted({*_iterate_written_names(every)}, key=lambda name: (len(name), name))
        patterns = {pattern for part in every for pattern in part.get("patternProperties", ())}
        tried = sorted(patterns)[: EXAMPLES.patterns]
        matching = chain.from_iterable(find_text(pattern, NO_PATTERN) for pattern in tried)
        return [*dict.fromkeys((*written, *matching, *_FRESH_NAMES))]


def _list_neighbours(count: Any) -> tuple[Any, Any, Any]:
    return count - 1, count, count + 1


def _iterate_written_names(parts: Parts) -> Iterator[str]:
    """Yield the names that schemas give to the keys of an object."""
    for part in parts:
        yield from part.get("properties", ())
        yield from part.get("dependentSchemas", ())


def _iterate_dependent(
    parts: tuple[Parts, Parts], changed: Parts
) -> Iterator[tuple[str, list[str]]]:
    """Yield names that something depends on, each with the names that it needs."""
    for pairs in _get_all(changed, "dependentRequired"):
        yield from pairs.items()
    for pairs in _get_all([*chain(*parts)], "dependentSchemas"):
        yield from ((name, []) for name in pairs)


def _list_parts(schemas: Iterable[NormalSchema]) -> Parts:
    """Return all schemas that look at the same value as these, whether it must meet them or not."""
    parts: Parts = []
    waiting = [*schemas]
    while waiting:
        schema = waiting.pop()
        if isinstance(schema, dict):
            parts.append(SchemaObject(schema))
            waiting += [inner for name in _LOOKING_LISTS for inner in schema.get(name, ())]
            waiting += [schema[name] for name in _LOOKING if name in schema]
            waiting += schema.get("dependentSchemas", {}).values()
    return parts


def _list_changed_leaves(parts: tuple[Parts, Parts]) -> Parts:
    """Return keywords without schemas that only one side has, each by itself.

    If there are none, return all of them.
    """
    old, new = map(_index_leaves, parts)
    both = old | new
    apart = [both[text] for text in sorted(old.keys() ^ new.keys())]
    # A bound is recognised by what is next to it.
    return apart or [both[text] for text in sorted(both)]


def _index_leaves(parts: Parts) -> dict[str, SchemaObject]:
    """Return the keywords without schemas, each as a separate schema, by their texts."""
    leaves: dict[str, SchemaObject] = {}
    for part in parts:
        for name in _LEAVES & {*part}:
            leaves[write_canonical([name, part[name]])] = SchemaObject({name: part[name]})
    return leaves


def _iterate_ways(schemas: list[NormalSchema]) -> Iterator[Parts]:
    """Yield the ways to meet schemas: the schemas that a value must meet, without choices."""
    if not schemas:
        yield []
        return
    first, *rest = schemas
    if first is False:
        return
    if not isinstance(first, dict):
        yield from _iterate_ways(rest)
        return
    conditional = (
        [[first["if"], first.get("then", True)], [first.get("else", True)]]
        if "if" in first
        else [[]]
    )
    choices = [[[branch] for branch in first.get(name, [True])] for name in ("anyOf", "oneOf")]
    always = [*first.get("allOf", ()), first.get("$ref", True)]
    for chosen in product(*choices, conditional):
        for way in _iterate_ways([*always, *chain(*chosen), *rest]):
            yield [SchemaObject(first), *way]


def _get_all(parts: Parts, *keywords: str) -> list[Any]:
    return [part[name] for part in parts for name in keywords if name in part]


def _list_values(part: SchemaObject) -> list[Any]:
    return [*part.get("enum", ()), *([part["const"]] if "const" in part else [])]


def _list_types(part: SchemaObject) -> set[str]:
    return {*part["type"]} | ({"integer", "fraction"} if "number" in part["type"] else set())


def _look_under(parts: Parts, name: str) -> list[NormalSchema]:
    """Return the schemas for the value under a name."""
    found: list[NormalSchema] = []
    for part in parts:
        own = [part["properties"][name]] if name in part.get("properties", ()) else []
        patterns = part.get("patternProperties", {})
        own += [schema for text, schema in patterns.items() if is_pattern_found(text, name)]
        found += own or _get_all([part], "additionalProperties", "unevaluatedProperties")
    return found


def _look_at(parts: Parts, index: int) -> list[NormalSchema]:
    """Return the schemas for the item at an index."""
    found: list[NormalSchema] = []
    for part in parts:
        first = part.get("prefixItems", [])
        rest = (part[word] for word in ("items", "unevaluatedItems") if word in part)
        found += [first[index]] if index < len(first) else rest
    return found


def _build_numbers(parts: Parts, type_: str) -> Iterator[Any]:
    numbers = (value for value in _iterate_numbers(parts) if find_type(value) == type_)
    yield from islice((value for value in numbers if _is_within(value, parts)), 1)


def _iterate_numbers(parts: Parts) -> Iterator[Any]:
    units = [Fraction(unit) for unit in _get_all(parts, "multipleOf")]
    starts = [Fraction(0), *map(Fraction, _get_all(parts, *_BOUNDS))]
    steps = [start + offset for start in starts for offset in _OFFSETS]
    for unit, start in product(units, starts):
        steps += [(start // unit + count) * unit for count in _MULTIPLES]
    for number in dict.fromkeys(steps):
        if isinstance(value := convert_fraction(number), Decimal):
            yield int(value) if number.denominator == 1 else value


def _is_within(number: Any, parts: Parts) -> bool:
    return (
        all(number >= least for least in _get_all(parts, "minimum"))
        and all(number > least for least in _get_all(parts, "exclusiveMinimum"))
        and all(number <= most for most in _get_all(parts, "maximum"))
        and all(number < most for most in _get_all(parts, "exclusiveMaximum"))
        and all(is_multiple(number, unit) for unit in _get_all(parts, "multipleOf"))
    )


def _build_texts(parts: Parts) -> Iterator[str]:
    length = int(min(max(_get_all(parts, "minLength"), default=0), EXAMPLES.text))
    for pattern in _get_all(parts, "pattern")[: EXAMPLES.patterns]:
        for text in find_text(pattern, NO_PATTERN):
            yield from (
                text,
                text + text[-1:] * (length - len(text)),
                text + _LETTERS[0] * (length - len(text)),
            )
    yield _LETTERS[0] * length


def _iterate_scalars(changed: Parts) -> Iterator[Any]:
    """Yield values at the edges of some keywords.

    These are listed values, numbers at bounds, and texts by length and by pattern.
    """
    for part in changed:
        yield from islice(_list_values(part), EXAMPLES.size)
        yield from (*_SAMPLES.values(), False) if part.keys() & {"type", "enum", "const"} else ()
        yield from _iterate_numbers([part]) if part.keys() & {"multipleOf", *_BOUNDS} else ()
    for count in _get_all(changed, "minLength", "maxLength"):
        for length in _list_neighbours(count):
            if length in range(EXAMPLES.text):
                yield from (letter * int(length) for letter in _LETTERS)
    patterns = _get_all(changed, "pattern")[: EXAMPLES.patterns]
    for found, unfound in product([*patterns, ANY_PATTERN], [*patterns, NO_PATTERN]):
        yield from find_text(found, unfound) if patterns and found != unfound else ()
