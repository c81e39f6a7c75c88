"""llm_judge: one judge or a jury, what their prompts hold, and how often they are asked."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from evalstore.checks.judges import AGGREGATES
from evalstore.diff.changes.check_judging import find_jury_changes, find_model_changes, find_variable_changes
from evalstore.diff.kinds import CheckKind, Param, read_no_question, say_always, say_never
from evalstore.diff.params import (
    Params,
    UnreadableError,
    read_integer,
    read_mapping,
    read_one_of,
    read_text,
    read_typed,
)

_read_aggregate = read_one_of(*AGGREGATES)


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
    # A member votes by the check's threshold.
    return params["jury"] is not None and params["jury"]["aggregate"] == "majority"


def _yield_texts(_: Params) -> Iterator[str]:
    # What a model says of a text, nobody knows without asking it.
    yield from ()


KIND = CheckKind(
    params={
        "judge_prompt_ref": Param(None, read_text, rule="judge-ref-changed", edits=find_jury_changes),
        "jury": Param(None, _read_jury, edits=find_jury_changes),
        "variables": Param({}, read_mapping, edits=find_variable_changes),
        "model": Param({}, read_mapping, edits=find_model_changes),
        "samples": Param(1, read_integer, rule="judge-sampling-changed"),
    },
    is_binary=say_never,
    may_miss=say_never,
    may_err=say_always,
    question_parts=read_no_question,  # what its judges' templates read is followed to the judges
    sample_texts=_yield_texts,
    reads_threshold=_is_majority,
    asks_judges=say_always,
)
