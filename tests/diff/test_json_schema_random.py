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
from evalstore.checks.strangers import compile_untrusted
from evalstore.errors import SchemaError
from evalstore.schema_inclusion.compare import TOTAL_STEPS, Relation, compare_views
from evalstore.schema_inclusion.constraints import domain
from evalstore.schema_inclusion.evaluation import accepts
from evalstore.schema_inclusion.examples import examples
from evalstore.schema_inclusion.normalization import UnreadError, View, check_readable, read_view
from evalstore.schema_inclusion.prover import Prover
from tests.diff.fuzz.schemas import DRAFT_07, edited, instance, schema


def told(old: View, new: View) -> Iterator[Any]:
    """Yield what the builder makes of both views and of what is between them, whatever was proved."""
    for views in ([old], [new], [old, {"not": new}], [new, {"not": old}]):
        with suppress(OutOfStepsError, UnreadError, RecursionError):
            yield from islice(examples(Prover(SharedBudget(2_000)), domain(views)), 8)


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
        compiled = compile_untrusted(old), compile_untrusted(new)
        views = read_view(old), read_view(new)
    except (SchemaError, UnreadError):
        return "unread"
    found = compare_views(views, compiled, SharedBudget(TOTAL_STEPS))
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
