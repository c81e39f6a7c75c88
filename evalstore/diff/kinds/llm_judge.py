"""llm_judge: one judge or a jury, what their prompts contain, and how often they are asked."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from evalstore.checks.statements import STATEMENT_AGGREGATES
from evalstore.checks.votes import AGGREGATES
from evalstore.diff.changes.check_judging import find_jury_changes
from evalstore.diff.changes.judge_inputs import find_model_changes, find_variable_changes
from evalstore.diff.changes.statements import find_aggregate_change, find_statement_changes
from evalstore.diff.deciders.statements import read_statement_score
from evalstore.diff.kinds import (
    ComparedKind,
    Param,
    Params,
    UnreadableError,
    read_integer,
    read_mapping,
    read_one_of,
    read_text,
    read_typed,
    say_always,
    say_never,
)
from evalstore.documents import Pointer
from evalstore.model.question_params import find_question_key, list_question_values

_read_aggregate = read_one_of(*AGGREGATES)
_EACH = "each"


def _read_each(value: Any) -> Any:
    """Return statements with their weights, or the key of the question that has them."""
    if find_question_key(value):
        return value
    return [_read_statement(item) for item in read_typed(value, list)]


def _read_statement(item: Any) -> dict[str, Any]:
    if isinstance(item, str):
        return {"text": item, "weight": 1}
    weight = read_mapping(item).get("weight", 1)
    if isinstance(weight, bool) or not isinstance(weight, int | Decimal):
        raise UnreadableError(f"{weight!r} is not a weight")
    return {**item, "text": read_text(item.get("text")), "weight": weight}


def _list_question_parts(params: Params) -> Iterator[Pointer]:
    # What its judges' templates read is found elsewhere, from the judges.
    yield from ((value.key,) for value in list_question_values(params))


def _find_signs(params: Params) -> frozenset[int]:
    """Return the signs of the weights; without statements, the judges give the score itself: 1."""
    statements = params[_EACH]
    if find_question_key(statements):
        return frozenset()
    weights = [statement["weight"] for statement in statements or ()]
    return frozenset(1 if weight > 0 else -1 for weight in weights if weight) or frozenset({1})


def _simplify(params: Params) -> Params:
    """Return parameters with the formula of the score instead of the statements and aggregate."""
    score = read_statement_score(params)
    if score is None:
        return {**params, "aggregate": None} if params[_EACH] is None else params
    return {**params, _EACH: list(score), "aggregate": None}


def _read_jury(value: Any) -> dict[str, Any]:
    """Return a jury: at least one member, each with its weight written out."""
    jury = read_mapping(value)
    if not (members := [_read_member(member) for member in read_typed(jury.get("members"), list)]):
        raise UnreadableError("a jury has no members")
    return {**jury, "members": members, "aggregate": _read_aggregate(jury.get("aggregate"))}


def _read_member(value: Any) -> dict[str, Any]:
    weight = read_mapping(value).get("weight", 1)
    if isinstance(weight, bool) or not isinstance(weight, int | Decimal) or weight < 0:
        raise UnreadableError(f"{weight!r} is not a weight")
    return {**value, "judge_prompt_ref": read_text(value.get("judge_prompt_ref")), "weight": weight}


def _is_majority(params: Params) -> bool:
    # Each member votes for or against by the check's threshold.
    return params["jury"] is not None and params["jury"]["aggregate"] == "majority"


KIND = ComparedKind(
    params={
        "judge_prompt_ref": Param(
            None, read_text, rule="judge-ref-changed", edits=find_jury_changes
        ),
        "jury": Param(None, _read_jury, edits=find_jury_changes),
        "variables": Param({}, read_mapping, edits=find_variable_changes),
        "model": Param({}, read_mapping, edits=find_model_changes),
        "samples": Param(1, read_integer, rule="judge-sampling-changed"),
        _EACH: Param(None, _read_each, edits=find_statement_changes, reads_sources=True),
        "aggregate": Param("mean", read_one_of(*STATEMENT_AGGREGATES), edits=find_aggregate_change),
    },
    is_binary=say_never,
    may_miss=say_always,  # a judge may say that it is not applicable
    may_err=say_always,
    question_parts=_list_question_parts,
    reads_threshold=_is_majority,
    asks_judges=say_always,
    simplify=_simplify,
    signs=_find_signs,
)
