"""Compares two schemas: normal forms, a proof in each direction, and examples that the real check has confirmed."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import islice
from typing import Any

from evalstore.budget import OutOfStepsError, SharedBudget
from evalstore.checks.untrusted_schemas import compile_untrusted
from evalstore.documents import read_value, write_canonical
from evalstore.errors import EvalstoreError, SchemaError
from evalstore.schema_inclusion.constraints import intersect_schemas
from evalstore.schema_inclusion.examples import generate_examples
from evalstore.schema_inclusion.normalization import (
    NormalForm,
    NormalSchema,
    UnsupportedSchemaError,
    check_supported,
    find_dialect,
    normalize_schema,
)
from evalstore.schema_inclusion.prover import Prover
from evalstore.schemas import Schema
from evalstore.text import make_excerpt

# Steps of some ten microseconds. What the schemas that belong together may take: the largest two that are compared
# take about half of it.
TOTAL_STEPS = 100_000
# What one proof, and the search for examples in one direction, may take of them.
_PROOF_STEPS, _EXAMPLE_STEPS = 20_000, 8_000
# What compiling takes, for each value that a schema is written with.
_COMPILE_STEPS = 6
# Examples that are tried in one direction, and how many are returned.
_CANDIDATE_LIMIT, _EXAMPLE_LIMIT = 24, 3
_OUT_OF_STEPS = "it takes too many steps to compare"
_UNPROVED = "neither was proved to let through all that the other does"


class SchemaRelation(StrEnum):
    """What the JSON that is valid by the new schema is to what is valid by the old one."""

    SAME_NORMAL_FORM = "same normal form"
    EQUIVALENT = "equivalent"
    TIGHTENED = "tightened"
    LOOSENED = "loosened"
    INCOMPARABLE = "incomparable"
    ASSUMED = "assumed"


@dataclass(frozen=True, slots=True)
class SchemaComparison:
    """The answer; the examples, shortest first, are valid by one schema only; `why` it is only assumed.

    It holds for JSON that keeps within the limits of the check: what outruns them is unscored.
    """

    relation: SchemaRelation
    examples: tuple[Any, ...] = ()
    why: str = ""


def compare_schemas(old: Any, new: Any, budget: SharedBudget | None = None) -> SchemaComparison:
    """Return what the JSON that is valid by `new` is to what is valid by `old`, both plain data; it never raises."""
    if find_dialect(old) != find_dialect(new):
        return SchemaComparison(SchemaRelation.ASSUMED, why="they are of two dialects")
    steps = budget or SharedBudget(TOTAL_STEPS)
    try:
        steps.spend(_COMPILE_STEPS * (check_supported(old) + check_supported(new)))
        compiled = compile_untrusted(old), compile_untrusted(new)
        return compare_normal_forms((normalize_schema(old), normalize_schema(new)), compiled, steps)
    except UnsupportedSchemaError as error:
        return SchemaComparison(SchemaRelation.ASSUMED, why=str(error))
    except OutOfStepsError:
        return SchemaComparison(SchemaRelation.ASSUMED, why=_OUT_OF_STEPS)
    except SchemaError as error:
        return SchemaComparison(SchemaRelation.ASSUMED, why=f"one cannot be applied: {make_excerpt(error.message)}")


def compare_normal_forms(
    forms: tuple[NormalForm, NormalForm], compiled: tuple[Schema, Schema], budget: SharedBudget
) -> SchemaComparison:
    """Compare two normal forms; each example was held against the compiled schemas."""
    old, new = (form.schema for form in forms)
    if write_canonical(old) == write_canonical(new):
        return SchemaComparison(SchemaRelation.SAME_NORMAL_FORM)
    obstacle = next((form.obstacle for form in forms if form.obstacle), "")
    (is_tighter, why), (is_looser, _) = (
        ((False, obstacle),) * 2
        if obstacle
        else (_prove_inclusion(new, old, budget), _prove_inclusion(old, new, budget))
    )
    if is_tighter and is_looser:
        return SchemaComparison(SchemaRelation.EQUIVALENT)
    # Where an inclusion is proved, there is nothing to be found in that direction.
    lost = [] if is_looser else _find_examples(old, new, compiled, budget)
    gained = [] if is_tighter else _find_examples(new, old, compiled[::-1], budget)
    if is_tighter or is_looser:
        relation = SchemaRelation.TIGHTENED if is_tighter else SchemaRelation.LOOSENED
        return SchemaComparison(relation, tuple(lost or gained))
    examples = tuple(sorted((*lost, *gained), key=lambda value: len(write_canonical(value))))
    if lost and gained:
        return SchemaComparison(SchemaRelation.INCOMPARABLE, examples)
    return SchemaComparison(SchemaRelation.ASSUMED, examples, why or _UNPROVED)


def _prove_inclusion(narrow: NormalSchema, wide: NormalSchema, budget: SharedBudget) -> tuple[bool, str]:
    """Return whether all values of one schema are proved to meet another, and why that cannot be known."""
    prover = Prover(SharedBudget(_PROOF_STEPS, budget))
    try:
        return prover.entails_schema(intersect_schemas([narrow]), wide), ""
    except UnsupportedSchemaError as error:
        return False, str(error)
    except OutOfStepsError:
        return False, _OUT_OF_STEPS
    except RecursionError:
        return False, "they nest too deep to be compared"


def _find_examples(
    wide: NormalSchema, narrow: NormalSchema, compiled: tuple[Schema, Schema], budget: SharedBudget
) -> list[Any]:
    """Return values that the check finds valid by the first schema only, the shortest first."""
    found: dict[str, Any] = {}
    prover = Prover(SharedBudget(_EXAMPLE_STEPS, budget))
    # What was found before the search broke off is kept.
    with suppress(OutOfStepsError, RecursionError, SchemaError, UnsupportedSchemaError):
        candidates = generate_examples(prover, intersect_schemas([wide, {"not": narrow}]))
        for value in islice(candidates, _CANDIDATE_LIMIT):
            if compiled[0].is_valid(value) and not compiled[1].is_valid(value):
                found[write_canonical(value)] = value
    return [found[text] for text in sorted(found, key=lambda text: (len(text), text))[:_EXAMPLE_LIMIT]]


@lru_cache(maxsize=256)
def find_instances(text: str) -> tuple[Any, ...]:
    """Return some small instances of a schema, canonical JSON, and some that are none, as far as they can be built."""
    with suppress(EvalstoreError, OutOfStepsError, RecursionError, UnsupportedSchemaError):
        schema = read_value(text, "schema")
        check_supported(schema)
        compile_untrusted(schema)
        normal = normalize_schema(schema).schema
        value_sets = (intersect_schemas([one]) for one in (normal, {"not": normal}))
        return tuple(
            value
            for value_set in value_sets
            for value in islice(generate_examples(Prover(SharedBudget(_EXAMPLE_STEPS)), value_set), _EXAMPLE_LIMIT)
        )
    return ()
