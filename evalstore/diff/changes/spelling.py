"""The same said otherwise: parameters that are written in another way, or left out, and mean what they meant."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from evalstore.diff.change import Change, Proof
from evalstore.diff.kinds import KINDS
from evalstore.diff.pair import pair_checks
from evalstore.diff.plain import is_same
from evalstore.diff.state import CheckState, RubricState

_PROOF = Proof("it is the default, or another spelling of the same value")


def find_spelling_changes(
    old: Mapping[str, Any], new: Mapping[str, Any], states: tuple[RubricState, RubricState]
) -> Iterator[Change]:
    """Yield the parameters of checks that differ as written only; the digest differs, so each is a patch."""
    before = {check.token: check for check in states[0].checks}
    for goal in pair_checks(*states).checks:
        check = before.get(goal.token)
        if check is not None and check.kind == goal.kind:
            yield from _respelled(check, goal, written=(old["checks"][check.index], new["checks"][goal.index]))


def _respelled(
    check: CheckState, goal: CheckState, *, written: tuple[Mapping[str, Any], Mapping[str, Any]]
) -> Iterator[Change]:
    mine, theirs = written
    for name, value in check.params.items():
        rule = KINDS[goal.kind].params[name].rule
        alike = (name in mine) is (name in theirs) and is_same(mine.get(name), theirs.get(name))
        if rule and not alike and is_same(value, goal.params[name]):
            yield Change(
                rule,
                mine.get(name),
                theirs.get(name),
                ("checks", check.index, name),
                ("checks", goal.index, name),
                name=name,
                words={"check": goal.id, "came": "has another spelling of"},
                proof=_PROOF,
            )
