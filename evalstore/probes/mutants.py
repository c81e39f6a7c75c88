"""Changes one part of a rubric at a time, as a slip of the hand would; grades nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from evalstore.documents import format_json_pointer
from evalstore.model import MALFORMED_ERRORS, Rubric, list_check_ids, read_rubric
from evalstore.probes.values import RubricMutant
from evalstore.text import make_excerpt

# The lists of a check that stand for several demands.
_LISTS = ("values", "facts", "required_sections", "forbidden_patterns", "forbidden", "tools", "expected_fields")
_STEP = Fraction(1, 10)  # by which a threshold moves
_EXCERPT = 40


class MutatedRubric(NamedTuple):
    """A mutant, and the rubric that it is."""

    mutant: RubricMutant
    rubric: Rubric


def iterate_mutants(value: Mapping[str, Any]) -> Iterator[MutatedRubric]:
    """Yield every rubric that one change leads to: a check or a phrase less, a switch turned, a number moved."""
    # Ids are written out first: a removed check must not rename those that follow it.
    checks = [{**check, "id": id_} for id_, check in zip(list_check_ids(value["checks"]), value["checks"], strict=True)]
    whole = {**value, "checks": checks}
    for message, pointer, mutated in (*_mutate_checks(whole), *_mutate_scoring(whole)):
        try:
            yield MutatedRubric(RubricMutant(message, format_json_pointer(pointer)), read_rubric(mutated))
        except MALFORMED_ERRORS:
            continue  # no rubric any more, so nobody can have it


_Mutation = tuple[str, tuple[str | int, ...], Mapping[str, Any]]


def _mutate_checks(value: Mapping[str, Any]) -> Iterator[_Mutation]:
    checks: Sequence[Mapping[str, Any]] = value["checks"]
    for place, check in enumerate(checks):
        before, after = checks[:place], checks[place + 1 :]
        if before or after:
            yield f"without check {check['id']}", ("checks", place), {**value, "checks": [*before, *after]}
        for message, pointer, changed in _mutate_check(check):
            whole = {**value, "checks": [*before, changed, *after]}
            yield f"check {check['id']} {message}", ("checks", place, *pointer), whole


def _mutate_check(check: Mapping[str, Any]) -> Iterator[_Mutation]:
    yield "turned round (negate)", ("negate",), {**check, "negate": not check.get("negate", False)}
    if "case_sensitive" in check or check["kind"] in {"must_contain_any", "must_not_contain", "fact_match"}:
        turned = not check.get("case_sensitive", False)
        yield f"with case_sensitive: {str(turned).lower()}", ("case_sensitive",), {**check, "case_sensitive": turned}
    if check["kind"] == "regex":
        flags = "".join(check.get("flags", ""))
        other = flags.replace("i", "") if "i" in flags else f"{flags}i"
        yield f'with flags: "{other}"', ("flags",), {**check, "flags": other}
    for name in _LISTS:
        items = check.get(name)
        several = items if isinstance(items, list) and len(items) > 1 else []
        for place, item in enumerate(several):
            rest = [*several[:place], *several[place + 1 :]]
            yield f"without {name}: {make_excerpt(str(item), _EXCERPT)}", (name, place), {**check, name: rest}
    if isinstance(check.get("min_matches"), int):
        more = check["min_matches"] + 1
        yield f"with min_matches: {more}", ("min_matches",), {**check, "min_matches": more}
    yield from _move_threshold(check)


def _mutate_scoring(value: Mapping[str, Any]) -> Iterator[_Mutation]:
    scoring: Mapping[str, Any] = value["scoring"]
    ids = [check["id"] for check in value["checks"]]
    for message, pointer, changed in (
        *_double_weights(scoring, ids),
        *_toggle_gates(scoring, ids),
        *_move_threshold(scoring),
    ):
        yield f"scoring {message}", ("scoring", *pointer), {**value, "scoring": changed}


def _double_weights(scoring: Mapping[str, Any], ids: Sequence[str]) -> Iterator[_Mutation]:
    weights = scoring.get("weights", {})
    for id_ in ids if scoring["combine"] == "weighted_avg" and len(ids) > 1 else ():
        doubled = Fraction(str(weights.get(id_, 1))) * 2
        yield f"with twice the weight of {id_}", ("weights", id_), {**scoring, "weights": {**weights, id_: doubled}}


def _toggle_gates(scoring: Mapping[str, Any], ids: Sequence[str]) -> Iterator[_Mutation]:
    gates = scoring.get("required", [])
    for id_ in ids:
        held = id_ in gates
        changed = [gate for gate in gates if gate != id_] if held else [*gates, id_]
        yield f"with{'out' if held else ''} {id_} as a gate (required)", ("required",), {**scoring, "required": changed}


def _move_threshold(part: Mapping[str, Any]) -> Iterator[_Mutation]:
    if "threshold" in part:
        bar = Fraction(str(part["threshold"]))
        for moved in sorted({max(bar - _STEP, Fraction(0)), min(bar + _STEP, Fraction(1))} - {bar}):
            yield f"with threshold {float(moved):g}", ("threshold",), {**part, "threshold": moved}
