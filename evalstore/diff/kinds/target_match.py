"""target_match: targets, a mode and two tolerances, compared as the set of outputs they accept."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

from evalstore.checks.kinds.target_match import (
    TargetRange,
    list_expected_targets,
    read_number,
    read_range,
    read_target,
)
from evalstore.checks.phrases import PHRASE_LIMIT
from evalstore.checks.steps import STEPS_KEY
from evalstore.diff.answers.read_parts import wrap_text
from evalstore.diff.answers.text_scores import TextScore, is_in_all
from evalstore.diff.change import Change, Decision, Proof
from evalstore.diff.changes.edit_script import EditScript
from evalstore.diff.direction import EITHER, LOOSER, STRICTER, bound_direction
from evalstore.diff.findings import Certainty, Direction
from evalstore.diff.kinds import (
    ComparedKind,
    Param,
    Params,
    Row,
    UnreadableError,
    read_one_of,
    read_typed,
    say_always,
)
from evalstore.documents import Pointer, write_canonical
from evalstore.errors import LimitError
from evalstore.languages import (
    pattern_comparison,  # a lazy package: names load on first use
)

_RULE = "target-changed"
_PARAMS = ("targets", "mode", "tolerance", "relative")
_EQUAL = Proof("the same outputs equal a target before and after")
_REASONS = {
    STRICTER: "what equals a target now did before, and some outputs no longer do",
    LOOSER: "what equaled a target before still does, and some more outputs do",
    EITHER: "some outputs equaled a target only before, others only do now",
}


class _Accepted(NamedTuple):
    """What a check accepts: some texts, or sorted ranges of numbers that do not touch."""

    texts: frozenset[str]
    ranges: tuple[TargetRange, ...]


def _read_targets(value: Any) -> list[str]:
    """Return targets as texts; a number becomes its shortest decimal."""
    items = read_typed(value, list)
    if not all(_is_target(item) for item in items):
        raise UnreadableError("a target is not a text or a number")
    return [item if isinstance(item, str) else write_canonical(item) for item in items]


def _is_target(item: Any) -> bool:
    return isinstance(item, str | int | float | Decimal) and not isinstance(item, bool)


def _read_tolerance(value: Any) -> Decimal:
    if isinstance(value, bool | str) or (number := Decimal(str(value))) < 0:
        raise UnreadableError(f"{value!r} is not a number of 0 or more")
    return number


def _list_accepted(params: Params) -> _Accepted | None:
    """Return what a check accepts; None if the question says that, or a target is unreadable."""
    texts = _respell_targets(params)
    if not texts or _may_err(params):
        return None
    if params["mode"] == "exact":
        return _Accepted(frozenset(texts), ())
    ranges = [read_range(text, params) for text in texts]
    return _Accepted(frozenset(), _merge_ranges([one for one in ranges if one is not None]))


def _has_targets(params: Params) -> bool:
    """Whether the targets are in the check itself, and not in the question."""
    return isinstance(params["targets"], list)


def _respell_targets(params: Params) -> list[str] | None:
    """Return the targets as compared; None if there are none here, or one exceeds a limit."""
    steps = {STEPS_KEY: params.get(STEPS_KEY) or ()}
    targets = params["targets"] if _has_targets(params) else ()
    try:
        return [read_target(target, steps) for target in targets] or None
    except LimitError:
        return None


def _merge_ranges(ranges: Sequence[TargetRange]) -> tuple[TargetRange, ...]:
    merged: list[TargetRange] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1].high:
            merged[-1] = TargetRange(merged[-1].low, max(merged[-1].high, high))
        else:
            merged.append(TargetRange(low, high))
    return tuple(merged)


def _find_unaccepted(one: _Accepted, other: _Accepted) -> str | None:
    """Return an output that `one` accepts and `other` does not; None if there is none."""
    for text in sorted(one.texts):
        number = read_number(text)
        if text not in other.texts and (number is None or not _holds(other, Fraction(number))):
            return text
    for low, high in one.ranges:
        if other.texts:
            # A number can be written in endless ways, so no list of texts has all of them.
            return _write_unlisted(low, other.texts)
        for inside in _list_ends(low, high, other.ranges):
            if not _holds(other, inside):
                return _write_number(inside)
    return None


def _holds(accepted: _Accepted, number: Fraction) -> bool:
    return any(low <= number <= high for low, high in accepted.ranges)


def _list_ends(low: Fraction, high: Fraction, others: Sequence[TargetRange]) -> Iterator[Fraction]:
    """Yield numbers of a range: its ends, and the middle of each gap between other ranges."""
    yield from (low, high)
    inside = [bound for other in others for bound in other if low < bound < high]
    bounds = sorted({low, high, *inside})
    yield from ((one + next_) / 2 for one, next_ in pairwise(bounds))


def _write_number(number: Fraction) -> str:
    """Return a number as an exact decimal; sums and halves of decimals always have one."""
    digits = 0
    while (number * 10**digits).denominator != 1:
        digits += 1
    scaled = int(number * 10**digits)
    return write_canonical(Decimal(scaled).scaleb(-digits)) if digits else str(scaled)


def _write_unlisted(number: Fraction, texts: frozenset[str]) -> str:
    written = _write_number(number)
    written += "" if "." in written else "."
    while written in texts:
        written += "0"
    return written


def _find_target_changes(script: EditScript, token: str) -> Iterator[Change]:
    """Yield the edit of what a check accepts, as one edit.

    Several edits would compare rubrics that are in neither document.
    """
    check, goal = script.current[token], script.goal[token]
    changed = [name for name in _PARAMS if check.params[name] != goal.params[name]]
    if not changed:
        return
    edited = replace(
        check, params={**check.params, **{name: goal.params[name] for name in _PARAMS}}
    )
    name, *more = changed
    old, new = ({name: one.params[name] for name in changed} for one in (check, edited))
    sides = {"old": old, "new": new} if more else {"old": old[name], "new": new[name]}
    yield _decide(script.edit_check(_RULE, name, edited, **sides))


def _decide(change: Change) -> Change:
    before, after = change.checks
    old, new = _list_accepted(before.params), _list_accepted(after.params)
    if old is None or new is None:
        return _decide_by_tolerance(change)
    only_old, only_new = _find_unaccepted(old, new), _find_unaccepted(new, old)
    if only_old is only_new is None:
        return replace(change, proof=_EQUAL)
    direction = bound_direction(below=only_old is None, above=only_new is None)
    outputs = [text for text in (only_old, only_new) if text is not None]
    return _add_decision(change, direction, _REASONS[direction], outputs)


def _decide_by_tolerance(change: Change) -> Change:
    """Decide an edit of tolerances alone, whatever the question expects."""
    before, after = (check.params for check in change.checks)
    if any(map(_has_targets, (before, after))) or before["mode"] != after["mode"]:
        return change
    if before["mode"] == "exact":
        return replace(change, proof=Proof("no tolerance is read where mode is exact"))
    names = ("tolerance", "relative")
    risen = any(after[name] > before[name] for name in names)
    fallen = any(before[name] > after[name] for name in names)
    direction = bound_direction(below=risen and not fallen, above=not risen)
    return _add_decision(change, direction, "the tolerance holds for each target", ())


def _add_decision(
    change: Change, direction: Direction, reason: str, texts: Sequence[str]
) -> Change:
    check = change.checks[1]
    # It is not known whether the steps of `on` ever leave one of the texts that differ.
    certainty = Certainty.ASSUMED if check.reads_part else Certainty.PROVED
    outputs = tuple(wrap_text(text, check.params) for text in texts)
    return replace(change, decision=Decision(certainty, reason, outputs, direction))


def _may_err(params: Params) -> bool:
    """Whether a target may be unreadable or unknown, or there are too many of them."""
    texts = _respell_targets(params)
    if texts is None or params["mode"] == "exact":
        # Without any target the check has nothing to grade.
        return texts is None and params["targets"] != []
    return len(texts) > PHRASE_LIMIT or None in [read_range(text, params) for text in texts]


def _yield_texts(params: Params) -> Iterator[str]:
    accepted = _list_accepted(params)
    if accepted is None:
        return
    for text in sorted(accepted.texts):
        yield from (text, text.swapcase(), f"{text} ")
    for low, high in accepted.ranges:
        middle = (low + high) / 2
        yield from map(_write_number, (middle, low, high, high + 1, low - 1))


def _read_text_score(params: Params) -> TextScore | None:
    language = _build_language(params)
    return None if language is None else TextScore((language,), is_in_all)


def _build_language(params: Params) -> Any:
    accepted = _list_accepted(params)
    if accepted is None or not accepted.texts:
        return None
    pattern = "|".join(map(re.escape, sorted(accepted.texts)))
    return pattern_comparison.build_pattern_language(
        pattern_comparison.Expression(pattern, "", "fullmatch")
    )


def _simplify(params: Params) -> Params:
    """Return the parameters with the targets as compared; a tolerance that nothing reads is 0."""
    read = {} if params["mode"] == "number" else {"tolerance": Decimal(0), "relative": Decimal(0)}
    texts = _respell_targets(params)
    return {**params, **read, "targets": texts and sorted(set(texts))}


def _find_question_parts(params: Params) -> Iterator[Pointer]:
    if params["targets"] is None:
        yield ("expected",)


def _fill_from_reference(check: Params, row: Row) -> dict[str, Any]:
    if "targets" in check:
        return {}
    return {"targets": _read_targets(list(list_expected_targets(row)))}


KIND = ComparedKind(
    params={
        "targets": Param(
            None,
            _read_targets,
            rule=_RULE,
            items=(_RULE, _RULE),
            edits=_find_target_changes,
            is_set=True,
        ),
        "mode": Param(
            "exact", read_one_of("exact", "number"), rule=_RULE, edits=_find_target_changes
        ),
        "tolerance": Param(Decimal(0), _read_tolerance, rule=_RULE, edits=_find_target_changes),
        "relative": Param(Decimal(0), _read_tolerance, rule=_RULE, edits=_find_target_changes),
    },
    is_binary=say_always,
    may_miss=lambda params: not params["targets"],
    may_err=_may_err,
    question_parts=_find_question_parts,
    fill_from_reference=_fill_from_reference,
    sample_texts=_yield_texts,
    simplify=_simplify,
    text_score=_read_text_score,
    found_language=_build_language,
    reads_more_than_text=lambda params: not params["targets"],
)
