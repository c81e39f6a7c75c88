"""Compares two schemas by normal forms, the table of keywords and confirmed examples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import islice
from typing import Any

from evalstore.budget import OutOfStepsError, SharedBudget
from evalstore.documents import read_value, write_canonical
from evalstore.errors import EvalstoreError, SchemaError
from evalstore.languages.limits import COMPARISON, EXAMPLES
from evalstore.languages.schema_comparison.dialects import have_same_meaning
from evalstore.languages.schema_comparison.examples import generate_examples
from evalstore.languages.schema_comparison.monotony import is_within
from evalstore.languages.schema_comparison.normalization import (
    NormalForm,
    NormalSchema,
    UnsupportedSchemaError,
    check_supported,
    normalize_as_written,
    normalize_schema,
)
from evalstore.languages.schema_comparison.pattern_texts import is_pattern_within, take_no_limit
from evalstore.languages.schemas import Schema, find_dialect
from evalstore.languages.schemas.untrusted import compile_untrusted
from evalstore.text import make_excerpt

_OUT_OF_STEPS = "it takes too many steps to compare"
_OTHER_DIALECTS = "their dialects differ"
_UNPROVED = "neither could be proved to accept all that the other accepts"
_SEPARATED = "they accept the same, but one may take too many steps on a long output"
# What an instance can make expensive: keywords that go from item to item, from name to name, or
# through a text.
_REPEATING = frozenset(
    {
        "items",
        "additionalItems",
        "prefixItems",
        "contains",
        "uniqueItems",
        "unevaluatedItems",
        "pattern",
    }
    | {"additionalProperties", "patternProperties", "propertyNames", "unevaluatedProperties"}
)
_IDLE = (("additionalProperties", True), ("uniqueItems", False))


class SchemaRelation(StrEnum):
    """How the JSON valid by the new schema relates to the JSON valid by the old one."""

    SAME_NORMAL_FORM = "same normal form"
    EQUIVALENT = "equivalent"
    TIGHTENED = "tightened"
    LOOSENED = "loosened"
    INCOMPARABLE = "incomparable"
    ASSUMED = "assumed"


@dataclass(frozen=True, slots=True)
class SchemaComparison:
    """The answer; `why` it is only assumed.

    The examples, shortest first, are valid by one schema only.

    It holds for JSON within the limits of the check: what exceeds them is unscored.
    """

    relation: SchemaRelation
    examples: tuple[Any, ...] = ()
    why: str = ""


def compare_schemas(old: Any, new: Any, budget: SharedBudget | None = None) -> SchemaComparison:
    """Return how the JSON valid by `new` relates to the JSON valid by `old`; it never raises.

    Both schemas are plain data.
    """
    differ = find_dialect(old) != find_dialect(new)
    if differ and not (have_same_meaning(old) and have_same_meaning(new)):
        return SchemaComparison(SchemaRelation.ASSUMED, why=_OTHER_DIALECTS)
    steps = budget or SharedBudget(COMPARISON.steps)
    try:
        steps.spend(COMPARISON.compile_steps * (check_supported(old) + check_supported(new)))
        compiled = compile_untrusted(old), compile_untrusted(new)
        written = normalize_as_written(old), normalize_as_written(new)
        if write_canonical(written[0]) == write_canonical(written[1]):
            return SchemaComparison(SchemaRelation.SAME_NORMAL_FORM)
        if differ:
            return SchemaComparison(SchemaRelation.ASSUMED, why=_OTHER_DIALECTS)
        found = compare_normal_forms(
            (normalize_schema(old), normalize_schema(new)), compiled, steps
        )
        is_separated = found.relation is SchemaRelation.EQUIVALENT and not (
            all(map(is_cheap, written)) or _differ_in_spelling(*written)
        )
        return SchemaComparison(SchemaRelation.ASSUMED, why=_SEPARATED) if is_separated else found
    except UnsupportedSchemaError as error:
        return SchemaComparison(SchemaRelation.ASSUMED, why=str(error))
    except OutOfStepsError:
        return SchemaComparison(SchemaRelation.ASSUMED, why=_OUT_OF_STEPS)
    except SchemaError as error:
        return SchemaComparison(
            SchemaRelation.ASSUMED, why=f"one cannot be applied: {make_excerpt(error.message)}"
        )


def compare_normal_forms(
    forms: tuple[NormalForm, NormalForm], compiled: tuple[Schema, Schema], budget: SharedBudget
) -> SchemaComparison:
    """Compare two normal forms; each example was checked by the compiled schemas."""
    old, new = (form.schema for form in forms)
    obstacle = next((form.obstacle for form in forms if form.obstacle), "")
    (is_tighter, why), (is_looser, _) = (
        ((False, obstacle),) * 2
        if obstacle
        else (_find_direction(new, old, budget), _find_direction(old, new, budget))
    )
    if is_tighter and is_looser:
        return SchemaComparison(SchemaRelation.EQUIVALENT)
    lost, gained = _find_examples(old, new, compiled, budget)
    if is_tighter or is_looser:
        relation = SchemaRelation.TIGHTENED if is_tighter else SchemaRelation.LOOSENED
        return SchemaComparison(relation, tuple(lost or gained))
    examples = tuple(sorted((*lost, *gained), key=lambda value: len(write_canonical(value))))
    if lost and gained:
        return SchemaComparison(SchemaRelation.INCOMPARABLE, examples)
    return SchemaComparison(SchemaRelation.ASSUMED, examples, why or _UNPROVED)


def _find_direction(
    narrow: NormalSchema, wide: NormalSchema, budget: SharedBudget
) -> tuple[bool, str]:
    """Return the direction in which a schema accepts no more, and why that is unknown, if it is."""
    try:
        return is_within(narrow, wide, SharedBudget(COMPARISON.direction_steps, budget)), ""
    except UnsupportedSchemaError as error:
        return False, str(error)
    except OutOfStepsError:
        return False, _OUT_OF_STEPS
    except RecursionError:
        return False, "they are nested too deeply to be compared"


def _find_examples(
    old: NormalSchema, new: NormalSchema, compiled: tuple[Schema, Schema], budget: SharedBudget
) -> tuple[list[Any], list[Any]]:
    """Return values that only the old schema accepts, and only the new one, shortest first."""
    found: tuple[list[Any], list[Any]] = [], []
    steps = SharedBudget(COMPARISON.example_steps, budget)
    cost = 1 + (_count_values(old) + _count_values(new)) // 16
    # What was found before the steps ran out is kept.
    with suppress(OutOfStepsError, SchemaError):
        for value in _list_candidates(old, new, steps):
            steps.spend(cost)
            answers = [schema.is_valid(value) for schema in compiled]
            side = found[answers[1]]
            if answers[0] is not answers[1] and len(side) < EXAMPLES.found:
                side.append(value)
            if all(len(side) == EXAMPLES.found for side in found):
                break
    return found


def _list_candidates(old: NormalSchema, new: NormalSchema, budget: SharedBudget) -> list[Any]:
    """Return distinct values near what differs, shortest first."""
    built: dict[str, Any] = {}
    with suppress(OutOfStepsError, RecursionError, UnsupportedSchemaError):
        steps = SharedBudget(COMPARISON.example_steps // 2, budget)
        for value in islice(generate_examples(old, new, steps), EXAMPLES.tried):
            built.setdefault(write_canonical(value), value)
    return [built[text] for text in sorted(built, key=lambda text: (len(text), text))]


def is_cheap(schema: NormalSchema) -> bool:
    """Whether no JSON that evalstore reads takes a normal schema near its limit of steps."""
    return _count_values(schema) <= COMPARISON.cheap and not _repeats(schema, in_choice=False)


def _differ_in_spelling(old: NormalSchema, new: NormalSchema) -> bool:
    """Whether two schemas differ only in patterns that find the same texts at little cost."""
    patterns = [*_list_patterns(old), *_list_patterns(new)]
    return _are_spelled(old, new) and take_no_limit(patterns)


def _are_spelled(old: Any, new: Any) -> bool:
    if isinstance(old, dict) and isinstance(new, dict):
        return old.keys() == new.keys() and all(
            _is_keyword_spelled(word, old[word], new[word]) for word in old
        )
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(map(_are_spelled, old, new))
    return write_canonical(old) == write_canonical(new)


def _is_keyword_spelled(word: str, old: Any, new: Any) -> bool:
    if word == "pattern" and isinstance(old, str):
        return is_pattern_within(old, new) and is_pattern_within(new, old)
    return _are_spelled(old, new)


def _list_patterns(value: Any) -> Iterator[str]:
    for inner in _list_inner(value):
        yield from _list_patterns(inner)
    if isinstance(value, dict):
        yield from value.get("patternProperties", {})
        yield from [value["pattern"]] if isinstance(value.get("pattern"), str) else []


def _repeats(value: Any, *, in_choice: bool) -> bool:
    if isinstance(value, list):
        return any(_repeats(item, in_choice=in_choice) for item in value)
    if not isinstance(value, dict):
        return False
    for word, inner in value.items():
        # A closed object ends at its first unexpected name, unless everything wrong with a branch
        # is collected.
        is_closed = word == "additionalProperties" and inner is False and not in_choice
        if word in _REPEATING and not is_closed and (word, inner) not in _IDLE:
            return True
        if _repeats(inner, in_choice=in_choice or word in {"anyOf", "oneOf"}):
            return True
    # Long values are compared part by part.
    listed = [*value["enum"]] if isinstance(value.get("enum"), list) else []
    return any(isinstance(item, dict | list) for item in (*listed, value.get("const")))


def _count_values(schema: Any) -> int:
    return 1 + sum(map(_count_values, _list_inner(schema)))


def _list_inner(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


@lru_cache(maxsize=256)
def find_instances(text: str) -> tuple[Any, ...]:
    """Return small instances of a schema as canonical JSON, and some values that are not valid."""
    with suppress(EvalstoreError, UnsupportedSchemaError):
        schema = read_value(text, "schema")
        check_supported(schema)
        compiled = compile_untrusted(schema)
        found: tuple[list[Any], list[Any]] = [], []
        for value in _list_candidates(
            normalize_schema(schema).schema, True, SharedBudget(COMPARISON.example_steps)
        ):
            side = found[not compiled.is_valid(value)]
            side += [value] * (len(side) < EXAMPLES.found)
        return (*found[0], *found[1])
    return ()
