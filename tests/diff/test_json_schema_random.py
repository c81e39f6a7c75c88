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
from evalstore.errors import SchemaError
from evalstore.languages.schema_comparison import SchemaComparison, SchemaRelation, compare_schemas
from evalstore.languages.schema_comparison.examples import generate_examples
from evalstore.languages.schema_comparison.normalization import UnsupportedSchemaError, normalize_schema
from evalstore.languages.schemas.untrusted import compile_untrusted
from tests.diff.fuzz.schemas import DRAFT_07, edited, instance, schema
from tests.rows import thin


def build_values(old: Any, new: Any) -> Iterator[Any]:
    """Yield what is built of both schemas and near what differs between them, whatever is said of them."""
    with suppress(OutOfStepsError, UnsupportedSchemaError, RecursionError):
        forms = normalize_schema(old).schema, normalize_schema(new).schema
        yield from islice(generate_examples(*forms, SharedBudget(2_000)), 40)


def hold_pair(random: Random) -> str:
    """Compare a random pair and hold what is said of it against the real check; return what was said."""
    old = schema(random, random.choice([1, 2, 2, 3]))
    new = old
    for _ in range(random.choice([1, 1, 1, 2, 3])):
        new = edited(random, new)
    if isinstance(old, dict) and isinstance(new, dict) and random.random() < 0.15:
        old, new = {**old, "$schema": DRAFT_07}, {**new, "$schema": DRAFT_07}
    try:
        compiled = compile_untrusted(old), compile_untrusted(new)
    except SchemaError:
        return "unread"
    found = compare_schemas(old, new)
    for value in (*build_values(old, new), *(instance(random) for _ in range(25))):
        with suppress(SchemaError):
            before, after = (one.is_valid(value) for one in compiled)
            assert allows(found, before=before, after=after), (found, old, new, value)
    for value in found.examples:
        assert compiled[0].is_valid(value) is not compiled[1].is_valid(value)
    return found.relation


def allows(found: SchemaComparison, *, before: bool, after: bool) -> bool:
    relation = found.relation
    if relation in {SchemaRelation.SAME_NORMAL_FORM, SchemaRelation.EQUIVALENT} or "they accept the same" in found.why:
        return before is after
    return before is after or relation is not (SchemaRelation.TIGHTENED if after else SchemaRelation.LOOSENED)


@pytest.mark.heavy
@pytest.mark.parametrize("seed", thin(range(3), 3))
def test_what_is_said_of_random_pairs_holds_for_random_json(seed: int) -> None:
    random = Random(seed)  # noqa: S311  # not for secrets
    said = {hold_pair(random) for _ in range(40)}
    assert said >= {SchemaRelation.SAME_NORMAL_FORM, SchemaRelation.TIGHTENED, SchemaRelation.LOOSENED}


@pytest.mark.slow
def test_the_same_for_long(capsys: pytest.CaptureFixture[str]) -> None:
    seed, pairs = secrets.randbelow(1 << 32), 50_000
    with capsys.disabled():
        sys.stdout.write(f"\n{pairs:,} pairs of schemas, seed {seed}\n")
    random = Random(seed)  # noqa: S311  # not for secrets
    for _ in range(pairs):
        hold_pair(random)
