"""Reads lists of evaluators.

Each is read by its type's row in the table, with weight, gate and negation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

from evalstore.documents import format_json_pointer
from evalstore.migration.readers.agentevals.composites import read_assert_set, read_composite
from evalstore.migration.readers.agentevals.dialects import is_in_dialect
from evalstore.migration.readers.agentevals.grading import (
    CrashError,
    GradingTerms,
    SuitePart,
    Term,
    join_gradings,
    note_losses,
    parse_number,
    parse_share,
)
from evalstore.migration.readers.agentevals.model_graders import (
    read_bare_texts,
    read_model_grader,
    read_points,
)
from evalstore.migration.readers.agentevals.output_checks import (
    read_fields,
    read_fixed_check,
    read_limits,
    read_pattern,
    read_substrings,
    read_trimmed_text,
)
from evalstore.migration.readers.agentevals.tool_calls import (
    read_skill_use,
    read_tool_arguments,
    read_tool_sequence,
    read_tools_used,
    read_trajectory,
)
from evalstore.text import make_excerpt

_GOAL = "the runner's judge reads the calls of tools as well"


_NAMELESS = (
    "versions of the runner leave out a member of a composite that has no name, or whose type "
    "is spelled with _; here it counts"
)
_UNNAMED = "versions of the runner skip a check without a name; here it counts"


def read_list(part: SuitePart, *, inner: bool = False) -> GradingTerms:
    """Read a list of evaluators.

    For members of a group (`inner`) the runner ignores gates and negation.
    """
    if not isinstance(part.raw, list):
        return part.skip("it is not a list") if part.raw is not None else GradingTerms()
    parts = [part.enter(index) for index in range(len(part.raw))]
    texts = [one for one in parts if isinstance(one.raw, str)]
    gradings = [_read_evaluator(one, inner=inner) for one in parts if not isinstance(one.raw, str)]
    dialect = part.scope.dialect
    if dialect.custom and (dialect.name == "D4" or not inner):  # a composite has no bare texts
        return join_gradings([*gradings, read_bare_texts(texts)])
    return join_gradings(
        [*gradings, *(one.skip("it is a text, and no evaluator") for one in texts)]
    )


def _read_evaluator(part: SuitePart, *, inner: bool) -> GradingTerms:
    type_, dialect, include = part.get("type"), part.scope.dialect, part.get("include")
    if type_ is None and isinstance(include, str):
        return part.set_aside(
            f"it includes the checks of {make_excerpt(include)}, which are not read"
        )
    if not isinstance(type_, str):
        return part.skip("it has no type")
    gate = _read_gate(part) if dialect.gates and not inner else None
    # Types were spelled with underscores before 2.14; the table has hyphens.
    row = part.scope.form["types"].get(type_.replace("_", "-"))
    if row is None or not is_in_dialect(dialect.name, row):
        return _read_unknown_type(part, row or {})
    reads = row["reads"]
    grading = _READERS[reads](replace(part, row=row))
    if reads != "unmapped":
        # Losses of keys count only if something is graded.
        key_notes = part.check_keys("check", reads)
        grading += key_notes if grading.terms else replace(key_notes, lossy=())
    # Types with `not-` are the negation of the type without.
    if row.get("negate"):
        grading = replace(
            grading, terms=tuple(replace(term, negate=not term.negate) for term in grading.terms)
        )
    return _grade_member(grading, part) if inner else _grade_weighted(grading, part, gate)


def _read_unknown_type(part: SuitePart, row: Mapping[str, Any]) -> GradingTerms:
    type_, dialect = make_excerpt(part.raw["type"]), part.scope.dialect
    if "refused" in row:
        raise CrashError(f"{format_json_pointer(part.pointer)}: {row['refused']}")
    if row:
        return part.skip(
            f"{type_}: {row['removed']}"
            if "removed" in row
            else f"{dialect.name} has no type {type_}"
        )
    if dialect.custom:
        alternative = ", or one that the runner rejects" if dialect.name == "D4" else ""
        return part.set_aside(
            f"the type {type_} is one of the project's own, decided by code{alternative}"
        )
    return part.skip(f"it does not know the type {type_}")


def _grade_member(grading: GradingTerms, part: SuitePart) -> GradingTerms:
    """Return a member of a group.

    A set uses its own weight, a composite the weights of its aggregator.
    """
    dialect = part.scope.dialect.name
    has_weight = dialect == "D4"
    ignored_keys = ["negate", "required", *(() if has_weight else ("weight",))]
    written = [key for key in ignored_keys if part.raw.get(key, False) is not False]
    notes = [part.enter(key).ignore(f"{key} of a member") for key in written]
    weight = part.weight if has_weight else Fraction(1)
    old = dialect == "D3" and "_" in part.raw["type"]
    unsure = (
        bool(grading.terms) and not has_weight and (old or not isinstance(part.get("name"), str))
    )
    terms = tuple(replace(term, weight=weight) for term in grading.terms)
    return join_gradings(
        [replace(grading, terms=terms), note_losses(_NAMELESS if unsure else ""), *notes]
    )


def _grade_weighted(grading: GradingTerms, part: SuitePart, gate: Fraction | None) -> GradingTerms:
    weight, gates = part.weight, part.scope.dialect.gates
    # Dialects without gates do not read `negate` either.
    is_negated = gates and part.get("negate") is True

    def weigh(term: Term) -> Term:
        return replace(term, weight=weight, gate=gate, negate=term.negate is not is_negated)

    terms = tuple(map(weigh, grading.terms))
    nameless = bool(terms) and not gates and not isinstance(part.get("name"), str)
    return replace(grading, terms=terms) + note_losses(_UNNAMED if nameless else "")


def _read_gate(part: SuitePart) -> Fraction | None:
    """Return the score that a required evaluator must reach; None if it is not required."""
    required, dialect = part.get("required"), part.scope.dialect
    # `min_score` of an evaluator overrides the threshold of the test.
    least = parse_share(part.get("min_score")) if dialect.limits else None
    if required is True:
        return least or part.scope.passes
    if parse_number(required) is not None and dialect.name == "D4":
        problem = "required is a number, which the runner no longer takes"
        raise CrashError(f"{format_json_pointer(part.pointer)}: {problem}")
    required_share = parse_share(required)
    return required_share and (least or required_share)


_READERS: Mapping[str, Callable[[SuitePart], GradingTerms]] = {
    "texts": read_substrings,
    "trimmed": read_trimmed_text,
    "pattern": read_pattern,
    "fixed": read_fixed_check,
    "judged": read_model_grader,
    "items": read_points,
    "trajectory": read_trajectory,
    "used": read_tools_used,
    "sequence": read_tool_sequence,
    "called": read_tool_arguments,
    "skill": read_skill_use,
    "goal": lambda part: read_model_grader(part) + note_losses(_GOAL),
    "fields": read_fields,
    "limits": read_limits,
    "composite": partial(read_composite, read_members=partial(read_list, inner=True)),
    "assert_set": partial(read_assert_set, read_members=partial(read_list, inner=True)),
    "unmapped": lambda part: part.set_aside(part.row["reason"]),
}
