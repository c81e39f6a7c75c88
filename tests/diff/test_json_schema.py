"""How two JSON Schemas are compared: a table of pairs, places, limits, and random pairs held against the real check."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evalstore.checks.strangers import read_schema
from evalstore.diff.deciders.json_schema import Relation, compare_schemas
from evalstore.documents import read_yaml
from evalstore.errors import SchemaError

TABLE = Path(__file__).with_name("schema_pairs.yaml")
PAIRS = [tuple(row) for row in read_yaml(TABLE.read_bytes(), TABLE.name).value]
MIRRORED = {Relation.TIGHTENED: Relation.LOOSENED, Relation.LOOSENED: Relation.TIGHTENED}
SURE = frozenset({Relation.TIGHTENED, Relation.LOOSENED, Relation.INCOMPARABLE})


@pytest.mark.parametrize(("old", "new", "answer"), [row[1:] for row in PAIRS], ids=[row[0] for row in PAIRS])
def test_what_the_new_schema_is_to_the_old_one(old: Any, new: Any, answer: str) -> None:
    found, back = compare_schemas(old, new), compare_schemas(new, old)
    assert found.relation == answer
    assert back.relation is MIRRORED.get(found.relation, found.relation)
    assert bool(found.why) is (found.relation is Relation.ASSUMED)
    assert found.shown or found.relation not in SURE
    for value in (*found.shown, *back.shown):
        assert read_schema(old).accepts(value) is not read_schema(new).accepts(value)


@pytest.mark.parametrize("schema", [row[index] for row in PAIRS for index in (1, 2)])
def test_a_schema_is_what_it_is(schema: Any) -> None:
    try:
        read_schema(schema)
    except SchemaError:
        return
    compared = compare_schemas(schema, schema)
    assert compared.relation in {Relation.SAME_VIEW, Relation.ASSUMED}
