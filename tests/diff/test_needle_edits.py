"""Small edits of a JSON Schema as people make them: level and direction of each, written down before they were compared."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from operator import itemgetter
from pathlib import Path
from random import Random
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from evalstore.diff import Witness, compare
from evalstore.diff.findings import Detail
from evalstore.diff.plain_data import make_plain
from evalstore.documents import read_yaml
from evalstore.errors import SchemaError
from evalstore.languages.schema_comparison import SchemaRelation, compare_schemas
from evalstore.languages.schemas import (
    SCHEMA_LIST_KEYWORDS,
    SCHEMA_MAP_KEYWORDS,
    SINGLE_SCHEMA_KEYWORDS,
)
from evalstore.languages.schemas.untrusted import compile_untrusted
from tests.diff.fuzz.schemas import edited, instance, schema
from tests.diff.test_json_schema_random import allows
from tests.rows import each

TABLE = Path(__file__).with_name("needle_edits.yaml")
EDITS = make_plain(read_yaml(TABLE.read_bytes(), TABLE.name).value)
TEXT = {"type": "string"}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "route": {"type": "string", "minLength": 1},
        "tier": {"enum": ["low", "high"]},
        "score": {"type": "number", "minimum": 0, "maximum": 10},
        "count": {"type": "integer"},
        "ok": {"type": "boolean"},
        "kind": {"const": "answer"},
        "level": {"type": "integer", "minimum": 3, "maximum": 3},
        "note": TEXT,
        "code": {"type": "string", "pattern": "^[a-z]+-[0-9]+$"},
        "slug": {"type": "string", "pattern": "^[a-z]+"},
        "owner": {"type": ["string", "null"]},
        "value": {"anyOf": [TEXT, {"type": "number"}]},
        "place": {"type": "object", "properties": {"city": TEXT}, "additionalProperties": False},
        "tags": {"type": "array"},
        "steps": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"name": TEXT, "done": {"type": "boolean"}},
                "required": ["name"],
            },
        },
    },
    "required": ["route", "tier"],
}

NAME = itemgetter(0)
BACK = {
    "stricter": {SchemaRelation.LOOSENED},
    "looser": {SchemaRelation.TIGHTENED},
    "either": {SchemaRelation.INCOMPARABLE},
    "none": {SchemaRelation.SAME_NORMAL_FORM, SchemaRelation.EQUIVALENT},
}


def edit(pointer: str, old: Any, new: Any) -> dict[str, Any]:
    """Return the schema with another value at a pointer, where it has the old one."""
    edited = copy.deepcopy(SCHEMA)
    *path, name = pointer.split("/")[1:]
    place: Any = edited
    for step in path:
        place = place.setdefault(step, {})
    assert place.pop(name, None) == old
    if new is not None:
        place[name] = new
    return edited


def ask(schema: Any) -> dict[str, Any]:
    check = {"id": "answer", "kind": "json_schema", "schema": schema}
    return {"id": "r", "version": "1.0.0", "checks": [check], "scoring": {"combine": "all_pass"}}


def hold_edit(row: list[Any]) -> None:
    _, pointer, old, new, level, direction = row
    detail = Detail.WITNESSES if level == "major" else Detail.FINDINGS
    diff = compare(ask(SCHEMA), ask(edit(pointer, old, new)), detail=detail)
    (finding,) = diff.findings
    assert (str(finding.level), str(finding.direction)) == (level, direction), finding.reason
    if level == "major":
        witness = finding.witness
        assert isinstance(witness, Witness), finding.reason
        assert finding.is_certain
    back = compare_schemas(edit(pointer, old, new), SCHEMA).relation
    assert back in BACK[direction]


test_a_third_of_the_small_edits_are_what_people_expect = each(EDITS[::3], name=NAME)(hold_edit)
test_all_small_edits_are_what_people_expect = pytest.mark.slow(each(EDITS, name=NAME)(hold_edit))


def wrap(random: Random, part: Any) -> Any:
    """Return a schema, and all within it, with some of what excludes nothing around it or in it."""
    if not isinstance(part, dict):
        return part
    # Beside these, what lets everything through has looked at it.
    if "unevaluated" in json.dumps(part, default=str):
        return part
    part = {key: wrap_value(random, key, value) for key, value in part.items()}
    for name, value in IDLE.items():
        if random.random() < 0.1 and name not in part:
            part |= value
    if "const" in part and "enum" not in part and random.random() < 0.5:
        part["enum"] = [part.pop("const")]
    around: list[Any] = [{"not": {"not": part}}, {"allOf": [part]}, {"anyOf": [part]}, {"oneOf": [part]}]
    return random.choice(around) if random.random() < 0.2 else part


def wrap_value(random: Random, keyword: str, value: Any) -> Any:
    if keyword in SCHEMA_MAP_KEYWORDS and isinstance(value, dict):
        return {name: wrap(random, inner) for name, inner in value.items()}
    if keyword in SCHEMA_LIST_KEYWORDS and isinstance(value, list):
        return [wrap(random, inner) for inner in value]
    return wrap(random, value) if keyword in SINGLE_SCHEMA_KEYWORDS else value


IDLE: dict[str, dict[str, Any]] = {
    "minItems": {"minItems": 0},
    "minLength": {"minLength": 0},
    "minProperties": {"minProperties": 0},
    "uniqueItems": {"uniqueItems": False},
    "pattern": {"pattern": ".*"},
    "additionalProperties": {"additionalProperties": {}},
    "items": {"items": {"title": "any"}},
    "propertyNames": {"propertyNames": True},
    "required": {"required": []},
    "contains": {"contains": {"type": "string"}, "minContains": 0},
    "title": {"title": "a note"},
}


def make_floats(value: Any) -> Any:
    """Return a value as Python's `json` reads it, for the library knows no decimals."""
    return json.loads(json.dumps(value, default=float))


def hold_drawn(random: Random) -> str:
    """Hold a drawn schema, one that is wrapped and one that is edited against what jsonschema itself says."""
    old = schema(random, random.choice([1, 2, 2]))
    wrapped, new = wrap(random, old), edited(random, old)
    try:
        compiled = [compile_untrusted(one) for one in (old, wrapped, new)]
    except SchemaError:
        return "unread"
    oracles = [Draft202012Validator(make_floats(one)) for one in (old, wrapped, new)]
    found = compare_schemas(old, wrap(random, new))
    values = [*found.examples, *compare_schemas(old, wrapped).examples]
    for value in (*values, *(instance(random) for _ in range(12))):
        said = [oracle.is_valid(make_floats(value)) for oracle in oracles]
        assert [one.is_valid(value) for one in compiled] == said, (old, wrapped, new, value)
        assert said[0] is said[1], (old, wrapped, value)
        assert allows(found, before=said[0], after=said[2]), (found, old, new, value)
    return found.relation


def test_what_excludes_nothing_lets_through_what_jsonschema_does(samples: Callable[[int], int]) -> None:
    random = Random(20261129)  # noqa: S311  # not for secrets
    said = {hold_drawn(random) for _ in range(samples(30))}
    assert SchemaRelation.SAME_NORMAL_FORM in said
