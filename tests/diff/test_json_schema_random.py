"""What carries the claim about schemas: on random pairs and random JSON, the real check never moves where it may not."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from random import Random
from typing import Any

import pytest

from evalstore.budget import OutOfStepsError, SharedBudget
from evalstore.checks.untrusted_schemas import compile_untrusted
from evalstore.errors import SchemaError
from evalstore.schema_inclusion import TOTAL_STEPS, SchemaRelation
from evalstore.schema_inclusion.compare import compare_normal_forms
from evalstore.schema_inclusion.constraints import intersect_schemas
from evalstore.schema_inclusion.evaluation import evaluate_schema
from evalstore.schema_inclusion.examples import generate_examples
from evalstore.schema_inclusion.normalization import (
    NormalSchema,
    UnsupportedSchemaError,
    check_supported,
    normalize_schema,
)
from evalstore.schema_inclusion.prover import Prover
from tests.diff.fuzz.schemas import DRAFT_07, edited, instance, schema
from tests.rows import thin


def told(old: NormalSchema, new: NormalSchema) -> Iterator[Any]:
    """Yield what the builder makes of both views and of what is between them, whatever was proved."""
    for schemas in ([old], [new], [old, {"not": new}], [new, {"not": old}]):
        with suppress(OutOfStepsError, UnsupportedSchemaError, RecursionError):
            yield from islice(generate_examples(Prover(SharedBudget(2_000)), intersect_schemas(schemas)), 8)


def held(random: Random) -> str:
    """Compare a random pair and hold what is said of it against the real check; return what was said."""
    old = schema(random, random.choice([1, 2, 2, 3]))
    new = old
    for _ in range(random.choice([1, 1, 1, 2, 3])):
        new = edited(random, new)
    if isinstance(old, dict) and isinstance(new, dict) and random.random() < 0.15:
        old, new = {**old, "$schema": DRAFT_07}, {**new, "$schema": DRAFT_07}
    try:
        check_supported(old)
        check_supported(new)
        compiled = compile_untrusted(old), compile_untrusted(new)
        forms = normalize_schema(old), normalize_schema(new)
    except (SchemaError, UnsupportedSchemaError):
        return "unread"
    found = compare_normal_forms(forms, compiled, SharedBudget(TOTAL_STEPS))
    has_obstacle = any(form.obstacle for form in forms)
    for value in (*told(forms[0].schema, forms[1].schema), *(instance(random) for _ in range(25))):
        with suppress(SchemaError):
            before, after = (one.is_valid(value) for one in compiled)
            assert allows(found.relation, before=before, after=after), (found, old, new, value)
            own = [evaluate_schema(form.schema, value) for form in forms]
            assert has_obstacle or own[0] in {None, before}, (old, value)
            assert has_obstacle or own[1] in {None, after}, (new, value)
    for value in found.examples:
        assert compiled[0].is_valid(value) is not compiled[1].is_valid(value)
    return found.relation


def allows(relation: SchemaRelation, *, before: bool, after: bool) -> bool:
    if relation in {SchemaRelation.SAME_NORMAL_FORM, SchemaRelation.EQUIVALENT}:
        return before is after
    return before is after or relation is not (SchemaRelation.TIGHTENED if after else SchemaRelation.LOOSENED)


@pytest.mark.heavy
@pytest.mark.parametrize("seed", thin(range(3), 3))
def test_what_is_said_of_random_pairs_holds_for_random_json(seed: int) -> None:
    random = Random(seed)  # noqa: S311  # not for secrets
    said = {held(random) for _ in range(60)}
    assert said >= {SchemaRelation.EQUIVALENT, SchemaRelation.TIGHTENED, SchemaRelation.LOOSENED}


@pytest.mark.slow
def test_the_same_for_long(capsys: pytest.CaptureFixture[str]) -> None:
    seed, pairs = secrets.randbelow(1 << 32), 50_000
    with capsys.disabled():
        sys.stdout.write(f"\n{pairs:,} pairs of schemas, seed {seed}\n")
    random = Random(seed)  # noqa: S311  # not for secrets
    for _ in range(pairs):
        held(random)
