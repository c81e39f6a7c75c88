"""What carries the claim about schemas: on random pairs and random JSON, the real check never moves where it may not."""

from __future__ import annotations

import copy
import secrets
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from decimal import Decimal
from itertools import islice
from random import Random
from typing import Any

import pytest

from evalstore.checks.strangers import read_schema
from evalstore.diff.deciders.json_schema import Relation, compare_views
from evalstore.diff.deciders.json_schema.accepts import accepts
from evalstore.diff.deciders.json_schema.allowance import Allowance
from evalstore.diff.deciders.json_schema.domain import domain
from evalstore.diff.deciders.json_schema.example import examples
from evalstore.diff.deciders.json_schema.prover import Prover
from evalstore.diff.deciders.json_schema.view import UnreadError, View, check_readable, read_view
from evalstore.documents import canonical
from evalstore.errors import SchemaError

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


def distinct(values: list[Any]) -> list[Any]:
    return list({canonical(value): value for value in values}.values())


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


def told(old: View, new: View) -> Iterator[Any]:
    """Yield what the builder makes of both views and of what is between them, whatever was proved."""
    for views in ([old], [new], [old, {"not": new}], [new, {"not": old}]):
        with suppress(UnreadError, RecursionError):
            yield from islice(examples(Prover(left=2_000), domain(views)), 8)


def held(random: Random) -> str:
    """Compare a random pair and hold what is said of it against the real check; return what was said."""
    old = schema(random, random.choice([1, 2, 2, 3]))
    new = old
    for _ in range(random.choice([1, 1, 1, 2, 3])):
        new = edited(random, new)
    if isinstance(old, dict) and isinstance(new, dict) and random.random() < 0.15:
        old, new = {**old, "$schema": DRAFT_07}, {**new, "$schema": DRAFT_07}
    try:
        check_readable(old)
        check_readable(new)
        compiled = read_schema(old), read_schema(new)
        views = read_view(old), read_view(new)
    except (SchemaError, UnreadError):
        return "unread"
    found = compare_views(views, compiled, Allowance())
    strange = any(view.strange for view in views)
    for value in (*told(views[0].view, views[1].view), *(instance(random) for _ in range(25))):
        with suppress(SchemaError):
            before, after = (one.accepts(value) for one in compiled)
            assert allows(found.relation, before=before, after=after), (found, old, new, value)
            own = [accepts(view.view, value) for view in views]
            assert strange or own[0] in {None, before}, (old, value)
            assert strange or own[1] in {None, after}, (new, value)
    for value in found.shown:
        assert compiled[0].accepts(value) is not compiled[1].accepts(value)
    return found.relation


def allows(relation: Relation, *, before: bool, after: bool) -> bool:
    if relation in {Relation.SAME_VIEW, Relation.EQUIVALENT}:
        return before is after
    return before is after or relation is not (Relation.TIGHTENED if after else Relation.LOOSENED)


@pytest.mark.parametrize("seed", range(3))
def test_what_is_said_of_random_pairs_holds_for_random_json(seed: int) -> None:
    random = Random(seed)  # noqa: S311  # not for secrets
    said = {held(random) for _ in range(60)}
    assert said >= {Relation.EQUIVALENT, Relation.TIGHTENED, Relation.LOOSENED}


@pytest.mark.slow
def test_the_same_for_long(capsys: pytest.CaptureFixture[str]) -> None:
    seed, pairs = secrets.randbelow(1 << 32), 50_000
    with capsys.disabled():
        sys.stdout.write(f"\n{pairs:,} pairs of schemas, seed {seed}\n")
    random = Random(seed)  # noqa: S311  # not for secrets
    for _ in range(pairs):
        held(random)
