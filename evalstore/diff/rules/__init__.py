"""The catalogue: every rule is one row, in the module of its area; a change names its rule by id."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from evalstore.diff.change import CHECK_SCOPES, NEVER, ChangeRule, Scope
from evalstore.diff.deciders.bounds import prove_weightless
from evalstore.diff.rules import checks, dataset, judge, rubric, shared


def _complete_row(rule: ChangeRule) -> ChangeRule:
    """Return a row with what follows from the rest of it: its mirror, and no direction of what moves nothing.

    All rules of checks share a proof, the last to be tried.
    """
    shared_by_all = (prove_weightless,) if rule.scope in CHECK_SCOPES else ()
    direction = NEVER if rule.scope is Scope.NOTHING else rule.direction
    return replace(rule, direction=direction, mirror=rule.mirror or rule.id, deciders=(*rule.deciders, *shared_by_all))


RULES: Mapping[str, ChangeRule] = {
    rule.id: _complete_row(rule) for area in (shared, rubric, checks, judge, dataset) for rule in area.ROWS
}
