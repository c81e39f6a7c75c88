"""JSON Schemas, edits of them, and JSON to hold against them: small, so that they meet, with all the usual keywords."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from decimal import Decimal
from random import Random
from typing import Any

from evalstore.documents import write_canonical

NAMES = ["a", "b", "ab", "c"]
SCALARS = [None, True, False, 0, 1, 2, -1, Decimal("1.0"), Decimal("0.5"), "", "a", "b", "ab", "abc"]
VALUES = [
    *SCALARS,
    [],
    [0],
    ["a"],
    [0, 1],
    [1, 1],
    [True, 1],
    {},
    {"a": 1},
    {"a": "a"},
    {"b": None},
    {"a": 1, "b": "a"},
]
PATTERNS = ["a", "^a", "^a$", "b", "^$", "^[ab]+$", "."]
TYPES = ["null", "boolean", "integer", "number", "string", "array", "object"]
NOTES = ["title", "description", "format", "$comment"]
COUNTS = ["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"]
BOUNDS = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]
NUMBERS = [-1, 0, 1, 2, Decimal("0.5"), Decimal("1.5")]
DRAFT_07 = "http://json-schema.org/draft-07/schema#"

Schema = Any
Make = Callable[[Random], dict[str, Any]]
LEAVES: list[Make] = [
    lambda r: {"type": r.choice(TYPES)},
    lambda r: {"type": r.sample(TYPES, r.randint(2, 4))},
    lambda r: {"enum": distinct(r.sample(VALUES, r.randint(1, 5)))},
    lambda r: {"const": r.choice(VALUES)},
    lambda r: {r.choice(BOUNDS): r.choice(NUMBERS)},
    lambda r: {r.choice(BOUNDS): r.choice(NUMBERS)},
    lambda r: {"multipleOf": r.choice([1, 2, 3, Decimal("0.5"), Decimal("1.5")])},
    lambda r: {r.choice(COUNTS): r.randint(0, 3)},
    lambda r: {r.choice(COUNTS): r.randint(0, 3)},
    lambda r: {"pattern": r.choice(PATTERNS)},
    lambda r: {"uniqueItems": r.random() < 0.8},
    lambda r: {"required": r.sample(NAMES, r.randint(1, 2))},
    lambda r: {"dependentRequired": {r.choice(NAMES): r.sample(NAMES, r.randint(1, 2))}},
    lambda r: {r.choice(NOTES): "x"},
    lambda _: {},
]
ONE = ["additionalProperties", "items", "propertyNames", "not", "if", "then", "else"]
LISTED = ["allOf", "anyOf", "anyOf", "oneOf", "prefixItems"]
NAMED = {"properties": NAMES, "patternProperties": PATTERNS, "dependentSchemas": NAMES, "$defs": NAMES}
RARE = ["unevaluatedProperties", "unevaluatedItems", "additionalItems", "x-other"]

SAID_OTHERWISE = {
    "oneOf": "anyOf",
    "anyOf": "oneOf",
    "then": "else",
    "else": "then",
    "unevaluatedProperties": "additionalProperties",
    "additionalProperties": "unevaluatedProperties",
}


def distinct(values: list[Any]) -> list[Any]:
    return list({write_canonical(value): value for value in values}.values())


def schema(random: Random, depth: int) -> Schema:
    """Return a schema of about the given depth."""
    if depth <= 0 or random.random() < 0.2:
        return random.random() < 0.5 if random.random() < 0.1 else random.choice(LEAVES)(random)
    made: dict[str, Any] = {}
    for _ in range(random.randint(1, 3)):
        made |= random.choice([keyword, keyword, lambda r, _: random.choice(LEAVES)(r)])(random, depth - 1)
    return made


def keyword(random: Random, depth: int) -> dict[str, Any]:
    """Return a keyword that holds schemas, or what goes with one."""
    how = random.randrange(10)
    if how < 4:
        keys = random.sample(NAMES, random.randint(1, 2))
        made = {"properties": {key: schema(random, depth) for key in keys}}
        closed = {"additionalProperties": random.choice([False, False, schema(random, depth)])}
        return made | (closed if random.random() < 0.4 else {"required": keys[:1]} if random.random() < 0.4 else {})
    if how == 4:
        made = {"contains": schema(random, depth)}
        return made | {name: random.randint(0, 2) for name in ("minContains", "maxContains") if random.random() < 0.4}
    if how == 5:
        names = random.choice([("if", "then"), ("if", "then", "else"), ("if", "else")])
        return {name: schema(random, depth) for name in names}
    if how < 7:
        return {random.choice(ONE): schema(random, depth)}
    if how == 7:
        return {random.choice(LISTED): [schema(random, depth) for _ in range(random.randint(1, 2))]}
    if how == 8:
        name = random.choice(list(NAMED))
        return {name: {key: schema(random, depth) for key in random.sample(NAMED[name], random.randint(1, 2))}}
    return {random.choice(RARE): random.choice([False, schema(random, depth)])}


def parts(value: Schema, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the ways to all schemas within one."""
    yield at
    for name, item in value.items() if isinstance(value, dict) else ():
        inside = item.items() if name in NAMED else enumerate(item) if name in LISTED else ()
        for key, inner in inside:
            yield from parts(inner, (*at, name, key))
        if name in {*ONE, *RARE[:3], "contains"}:
            yield from parts(item, (*at, name))


def put(value: Schema, at: tuple[Any, ...], item: Any) -> Schema:
    """Return a copy with another schema in one place."""
    if not at:
        return item
    changed = place = copy.deepcopy(value)
    for step in at[:-1]:
        place = place[step]
    place[at[-1]] = item
    return changed


def edited(random: Random, value: Schema) -> Schema:
    """Return a schema with one edit somewhere."""
    at = random.choice(list(parts(value)))
    here = value
    for step in at:
        here = here[step]
    if not (isinstance(here, dict) and here):
        return put(value, at, schema(random, 1))
    key = random.choice(list(here))
    less = {name: item for name, item in here.items() if name != key}
    moved = {"$defs": {**value.get("$defs", {}), "moved": here}} if isinstance(value, dict) and at else {}
    edits = [
        lambda: put(value, at, less),
        lambda: put(value, at, {**here, **keyword(random, 1)}),
        lambda: put(value, at, {**here, **random.choice(LEAVES)(random)}),
        *[lambda: put(value, at, {**here, key: tweaked(random, key, here[key])})] * 3,
        lambda: put(value, at, {"allOf": [here]}),
        lambda: put(value, at, {"anyOf": [here, schema(random, 0)]}),
        lambda: put(value, at, {"not": {"not": here}}),
        lambda: put(value, at, {SAID_OTHERWISE.get(name, name): item for name, item in here.items()}),
        lambda: {**put(value, at, {"$ref": "#/$defs/moved"}), **moved} if moved and "$defs" not in at else value,
        lambda: put(value, at, {**here, "$ref": "#"}),
    ]
    return random.choice(edits)()


def tweaked(random: Random, key: str, value: Any) -> Any:
    """Return another value of a keyword, near the one it has."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | Decimal):
        least = {"multipleOf": 1}.get(key, -2 if key in BOUNDS else 0)
        return max(value + random.choice([1, -1, Decimal("0.5") if key in BOUNDS else 1]), least)
    if key == "pattern":
        return random.choice(PATTERNS)
    if key in {"enum", "required", "type"}:
        listed = value if isinstance(value, list) else [value]
        more = {"enum": VALUES, "required": NAMES, "type": TYPES}[key]
        listed = [*listed, random.choice(more)] if random.random() < 0.5 or len(listed) < 2 else listed[1:]
        return distinct(random.sample(listed, len(listed)))
    if key in LISTED:
        return random.sample(value, len(value)) if random.random() < 0.5 or len(value) < 2 else value[1:]
    if key in {"properties", "patternProperties"}:
        name = random.choice(NAMED[key])
        return (
            {**value, name: schema(random, 0)} if name not in value else {k: v for k, v in value.items() if k != name}
        )
    return value


def instance(random: Random, depth: int = 2) -> Any:
    """Return a JSON value."""
    how = random.randrange(10)
    if depth <= 0 or how < 5:
        return random.choice(VALUES)
    if how < 7:
        return [instance(random, depth - 1) for _ in range(random.randint(0, 3))]
    return {name: instance(random, depth - 1) for name in random.sample(NAMES, random.randint(0, 3))}
