"""Finds edits of spelling alone: what is written differently and means the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from evalstore.diff.change import Change, Proof
from evalstore.diff.changes.edit_script import (
    find_key_changes,
)
from evalstore.diff.document import Sides
from evalstore.diff.kinds import KINDS, Row
from evalstore.diff.plain_data import is_same
from evalstore.diff.rubric_state import CheckState, RubricState

_SAME_PARAM = Proof("it is the default, or another spelling of the same value")


def find_spelling_change(sides: Sides) -> Iterator[Change]:
    """Yield the edit of a document if only its spelling changed, and so its digest."""
    old, new = (side.content for side in sides)
    if not is_same(old, new):
        yield Change("spelling-changed", old, new, (), ())


def find_param_spellings(
    old: Mapping[str, Any], new: Mapping[str, Any], states: tuple[RubricState, RubricState]
) -> Iterator[Change]:
    """Yield the edits of parameters that are spelled differently and mean the same.

    `states` are the rubrics that the mappings spell; paired checks share a token.
    """
    before = {check.token: check for check in states[0].checks}
    for goal in states[1].checks:
        check = before.get(goal.token)
        if check is not None and check.kind == goal.kind:
            yield from _find_check_spelling(
                check, goal, old["checks"][check.index], new["checks"][goal.index]
            )


def _find_check_spelling(
    check: CheckState, goal: CheckState, old: Row, new: Row
) -> Iterator[Change]:
    differ = find_key_changes(old, new)
    words = {"check": goal.id, "came": "has another spelling of"}
    for name, value in check.params.items():
        rule = KINDS[goal.kind].params[name].rule
        if rule and name in differ and is_same(value, goal.params[name]):
            at = ("checks", check.index, name), ("checks", goal.index, name)
            yield Change(rule, *differ[name], *at, name=name, words=words, proof=_SAME_PARAM)
