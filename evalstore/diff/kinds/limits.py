"""limits: the least and the most of each recorded number that passes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import Any

from evalstore.checks.kinds.limits import Bounds, read_bounds
from evalstore.diff.change import Change, Decision, Proof
from evalstore.diff.changes.edit_script import EditScript, set_param
from evalstore.diff.direction import EITHER, LOOSER, STRICTER, bound_direction
from evalstore.diff.findings import Certainty
from evalstore.diff.kinds import (
    ComparedKind,
    Param,
    Params,
    UnreadableError,
    read_mapping,
    read_no_question,
    say_always,
    say_never,
)
from evalstore.model.measures import MEASURES, NO_MEASURES, Measures

_RULE = "limits-changed"
_EQUAL = Proof("the same numbers are within the limits before and after")

_REASONS = {
    STRICTER: "what is within the limits now was before, and some other numbers no longer are",
    LOOSER: "what was within the limits before still is, and some more numbers are",
    EITHER: "some numbers were within the limits only before, others only are now",
}


def _read_limit(value: Any) -> dict[str, Any]:
    """Return the limits of a number, without a minimum of 0, which has no effect."""
    limit = read_mapping(value)
    numbers = all(_is_limit(item) for item in limit.values())
    if not limit or not limit.keys() <= {"min", "max"} or not numbers:
        raise UnreadableError(f"{value!r} is not a mapping of min and max to numbers")
    return {key: item for key, item in limit.items() if (key, item) != ("min", 0)}


def _is_limit(value: Any) -> bool:
    is_number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    return is_number and value >= 0


def _find_limit_changes(script: EditScript, token: str, *, name: str) -> Iterator[Change]:
    """Yield the edit of the limits of one number."""
    old, new = script.current[token].params[name], script.goal[token].params[name]
    edited = set_param(script.current[token], name, new)
    words = {"old": _describe_limit(old), "new": _describe_limit(new)}
    change = script.edit_check(_RULE, name, edited, old=old, new=new, words=words)
    yield change if None in (old, new) else _decide(change, read_bounds(old), read_bounds(new))


def _describe_limit(limit: dict[str, Any] | None) -> str:
    if limit is None:
        return "not asked for"
    return str(read_bounds(limit)) or "any that is recorded"


def _decide(change: Change, old: Bounds, new: Bounds) -> Change:
    """Decide an edit of limits that are there before and after.

    Added or removed limits are not decided here, because their number may not be recorded.
    """
    below, above = old.is_within(new), new.is_within(old)
    if below and above:
        return replace(change, proof=_EQUAL)
    direction = bound_direction(below=below, above=above)
    decision = Decision(Certainty.PROVED, _REASONS[direction], (), direction)
    return replace(change, decision=decision)


def _sample_measures(params: Params) -> Iterator[Measures]:
    """Yield each number within its limits, then beyond them, if there are such numbers."""
    for name in MEASURES:
        if params[name] is None:
            continue
        bounds = read_bounds(params[name])
        numbers = [bounds.least, bounds.least / 2]
        if bounds.most.is_finite():
            numbers = [bounds.most, bounds.most + 1, *numbers]
        yield from (NO_MEASURES._replace(**{name: number}) for number in dict.fromkeys(numbers))


KIND = ComparedKind(
    params={
        name: Param(None, _read_limit, rule=_RULE, edits=partial(_find_limit_changes, name=name))
        for name in MEASURES
    },
    is_binary=say_always,
    may_miss=say_always,
    may_err=say_never,
    question_parts=read_no_question,
    reads_more_than_text=say_always,
    sample_measures=_sample_measures,
)
