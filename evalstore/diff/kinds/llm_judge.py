"""llm_judge: one judge or a jury, what their prompts hold, and how often they are asked."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from evalstore.checks.statements import STATEMENT_AGGREGATES
from evalstore.checks.votes import AGGREGATES
from evalstore.diff.change import Change
from evalstore.diff.changes.check_judging import find_jury_changes
from evalstore.diff.changes.edit_script import EditScript, set_param
from evalstore.diff.changes.judge_inputs import find_model_changes, find_variable_changes
from evalstore.diff.kinds import (
    ComparedKind,
    Param,
    Params,
    UnreadableError,
    describe_source,
    read_integer,
    read_mapping,
    read_one_of,
    read_text,
    read_typed,
    say_always,
    say_never,
)
from evalstore.diff.pairing import pair_items
from evalstore.diff.plain_data import describe_value, is_same
from evalstore.documents import Pointer
from evalstore.model.question_params import find_question_key, list_question_values

_read_aggregate = read_one_of(*AGGREGATES)
_EACH = "each"
_STATEMENTS_CHANGED = "check-statements-changed"


def _read_each(value: Any) -> Any:
    """Return statements with their weights written out, or the key of the question that has them."""
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


def _yield_statement_changes(walk: EditScript, token: str) -> Iterator[Change]:
    old, new = (side[token].params[_EACH] for side in (walk.current, walk.goal))
    if not (isinstance(old, list) and isinstance(new, list)):
        words = {
            "asks": f"asks about the statements of {describe_source(new)} (was {describe_source(old)})"
        }
        edited = set_param(walk.current[token], _EACH, new)
        yield walk.edit_check(_STATEMENTS_CHANGED, _EACH, edited, old=old, new=new, words=words)
        return
    # What is kept is paired first, then what has one name, then what has one place.
    pairs = pair_items(
        old, new, is_same, lambda one, other: one["text"] == other["text"], _has_same_name
    )
    left = [index for index in range(len(old)) if index not in pairs]
    added = [index for index in range(len(new)) if index not in pairs.values()]
    pairs |= dict(zip(left, added, strict=False))
    for before in range(len(old)):
        after = pairs.get(before)
        if after is None or not is_same(old[before], new[after]):
            yield _edit_statement(
                walk, token, old[before], None if after is None else new[after], (before, after)
            )
    for after in range(len(new)):
        if after not in pairs.values():
            yield _edit_statement(walk, token, None, new[after], (None, after))
    walk.adopt_check(set_param(walk.current[token], _EACH, new))


def _has_same_name(one: Params, other: Params) -> bool:
    return "id" in one and one["id"] == other.get("id")


def _edit_statement(
    walk: EditScript,
    token: str,
    old: Params | None,
    new: Params | None,
    places: tuple[int | None, int | None],
) -> Change:
    items = walk.current[token].params[_EACH]
    place = (
        len(items)
        if old is None
        else next(place for place, item in enumerate(items) if is_same(item, old))
    )
    changed = [*items[:place], *([] if new is None else [new]), *items[place + 1 :]]
    at = tuple(None if place is None else (_EACH, place) for place in places)
    words = {"asks": _word_statement(old, new)}
    edited = set_param(walk.current[token], _EACH, changed)
    return walk.edit_check(
        _STATEMENTS_CHANGED, _EACH, edited, old=old, new=new, at=(at[0], at[1]), words=words
    )


def _word_statement(old: Params | None, new: Params | None) -> str:
    if old is None or new is None:
        text = describe_value((new or old or {})["text"])
        return f"also asks about {text!r}" if old is None else f"no longer asks about {text!r}"
    before, after = (describe_value(side["text"]) for side in (old, new))
    if not is_same(old["text"], new["text"]):
        return f"asks about {after!r} instead of {before!r}"
    if not is_same(old["weight"], new["weight"]):
        return (
            f"weighs {after!r} {describe_value(new['weight'])} (was "
            f"{describe_value(old['weight'])})"
        )
    return f"names {after!r} {describe_value(new.get('id'))} (was {describe_value(old.get('id'))})"


def _yield_aggregate_change(walk: EditScript, token: str) -> Iterator[Change]:
    old, new = (side[token].params["aggregate"] for side in (walk.current, walk.goal))
    edited = set_param(walk.current[token], "aggregate", new)
    words = {"asks": f"makes one score of its statements by {new} (was {old})"}
    yield walk.edit_check(_STATEMENTS_CHANGED, "aggregate", edited, old=old, new=new, words=words)


def _list_question_parts(params: Params) -> Iterator[Pointer]:
    # What its judges' templates read is followed to the judges.
    yield from ((value.key,) for value in list_question_values(params))


def _find_signs(params: Params) -> frozenset[int]:
    """Return the signs of the statements that count; without statements the score is what the judges say."""
    statements = params[_EACH]
    if find_question_key(statements):
        return frozenset()
    weights = [statement["weight"] for statement in statements or ()]
    return frozenset(1 if weight > 0 else -1 for weight in weights if weight) or frozenset({1})


def _takes_values(params: Params) -> bool:
    return bool(list_question_values(params))


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


KIND = ComparedKind(
    params={
        "judge_prompt_ref": Param(
            None, read_text, rule="judge-ref-changed", edits=find_jury_changes
        ),
        "jury": Param(None, _read_jury, edits=find_jury_changes),
        "variables": Param({}, read_mapping, edits=find_variable_changes),
        "model": Param({}, read_mapping, edits=find_model_changes),
        "samples": Param(1, read_integer, rule="judge-sampling-changed"),
        _EACH: Param(None, _read_each, edits=_yield_statement_changes, reads_sources=True),
        "aggregate": Param(
            "mean", read_one_of(*STATEMENT_AGGREGATES), edits=_yield_aggregate_change
        ),
    },
    is_binary=say_never,
    may_miss=_takes_values,
    may_err=say_always,
    question_parts=_list_question_parts,
    reads_threshold=_is_majority,
    asks_judges=say_always,
    signs=_find_signs,
)
