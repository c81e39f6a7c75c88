"""TODO: one sentence."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import islice
from typing import Any

from evalstore.budget import OutOfStepsError, SharedBudget
from evalstore.checks.strangers import compile_untrusted
from evalstore.documents import canonical, read_value
from evalstore.errors import EvalstoreError, SchemaError
from evalstore.schema_inclusion.constraints import domain
from evalstore.schema_inclusion.examples import examples
from evalstore.schema_inclusion.normalization import Reading, UnreadError, View, check_readable, dialect, read_view
from evalstore.schema_inclusion.prover import Prover
from evalstore.schemas import Schema
from evalstore.text import make_excerpt

_TRIED = 24


# All schemas of two rubrics together; the largest two that are compared take about half of it.
TOTAL_STEPS = 100_000
_PROOF_STEPS = 20_000
_BUILDING = 8_000
_TOO_MANY = "it takes too many steps to compare"


_COMPILING = 6  # steps a value of a schema


_KEPT = 3


_UNSURE = "neither was proved to let through all that the other does"


class Relation(StrEnum):
    """How the JSON that is valid by the new schema stands to what is valid by the old one."""

    SAME_VIEW = "same view"
    EQUIVALENT = "equivalent"
    TIGHTENED = "tightened"
    LOOSENED = "loosened"
    INCOMPARABLE = "incomparable"
    ASSUMED = "assumed"


@dataclass(frozen=True, slots=True)
class Comparison:
    """The answer; `shown` are instances, the shortest first, that are valid by one schema only; `why` it is assumed.

    It holds for JSON that keeps within the limits of the check: what outruns them is unscored.
    """

    relation: Relation
    shown: tuple[Any, ...] = ()
    why: str = ""


def compare_schemas(old: Any, new: Any, allowance: SharedBudget | None = None) -> Comparison:
    """Compare two schemas, plain data, as the check applies them; what it costs is taken from the allowance."""
    if dialect(old) != dialect(new):
        return Comparison(Relation.ASSUMED, why="they are of two dialects")
    purse = allowance or SharedBudget(TOTAL_STEPS)
    try:
        purse.spend(_COMPILING * (check_readable(old) + check_readable(new)))
        compiled = compile_untrusted(old), compile_untrusted(new)
        return compare_views((read_view(old), read_view(new)), compiled, purse)
    except UnreadError as unread:
        return Comparison(Relation.ASSUMED, why=str(unread))
    except OutOfStepsError:
        return Comparison(Relation.ASSUMED, why=_TOO_MANY)
    except SchemaError as flaw:
        return Comparison(Relation.ASSUMED, why=f"one cannot be applied: {make_excerpt(flaw.message)}")


def compare_views(
    readings: tuple[Reading, Reading], compiled: tuple[Schema, Schema], allowance: SharedBudget
) -> Comparison:
    """Compare two views; what is shown was held against the compiled schemas."""
    old, new = (reading.view for reading in readings)
    if canonical(old) == canonical(new):
        return Comparison(Relation.SAME_VIEW)
    strange = next((reading.strange for reading in readings if reading.strange), "")
    (tighter, why), (looser, _) = (
        ((False, strange),) * 2 if strange else (_proved(new, old, allowance), _proved(old, new, allowance))
    )
    if tighter and looser:
        return Comparison(Relation.EQUIVALENT)
    lost = [] if looser else _between(old, new, compiled, allowance)
    gained = [] if tighter else _between(new, old, compiled[::-1], allowance)
    if tighter or looser:
        return Comparison(Relation.TIGHTENED if tighter else Relation.LOOSENED, tuple(lost or gained))
    shown = tuple(sorted((*lost, *gained), key=lambda value: len(canonical(value))))
    if lost and gained:
        return Comparison(Relation.INCOMPARABLE, shown)
    return Comparison(Relation.ASSUMED, shown, why or _UNSURE)


def _proved(narrow: View, wide: View, allowance: SharedBudget) -> tuple[bool, str]:
    try:
        return Prover(SharedBudget(_PROOF_STEPS, allowance)).within(domain([narrow]), wide), ""
    except UnreadError as unread:
        return False, str(unread)
    except OutOfStepsError:
        return False, _TOO_MANY
    except RecursionError:
        return False, "they nest too deep to be compared"


def _between(wide: View, narrow: View, compiled: tuple[Schema, Schema], allowance: SharedBudget) -> list[Any]:
    """Return instances that the check finds valid by the first schema only, the shortest first."""
    found: dict[str, Any] = {}
    with suppress(OutOfStepsError, RecursionError, SchemaError, UnreadError):  # what was found before it ended is kept
        for value in islice(examples(Prover(SharedBudget(_BUILDING, allowance)), domain([wide, {"not": narrow}])), _TRIED):
            if compiled[0].accepts(value) and not compiled[1].accepts(value):
                found[canonical(value)] = value
    return [found[text] for text in sorted(found, key=lambda text: (len(text), text))[:_KEPT]]


@lru_cache(maxsize=256)
def instances_of(text: str) -> tuple[Any, ...]:
    """Return some small instances of a schema, canonical JSON, and some that are none, as far as they can be built."""
    with suppress(EvalstoreError, OutOfStepsError, RecursionError, UnreadError):
        schema = read_value(text, "schema")
        check_readable(schema)
        compile_untrusted(schema)
        view = read_view(schema).view
        wanted = (domain([one]) for one in (view, {"not": view}))
        return tuple(value for one in wanted for value in islice(examples(Prover(SharedBudget(_BUILDING)), one), _KEPT))
    return ()
