"""The catalogue of rules: each is a row in its area's module, and a change names it by id."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from evalstore.diff.change import CHECK_SCOPES, NEVER, ChangeRule, Scope
from evalstore.diff.deciders.unmoved import prove_by_enumeration, prove_weightless
from evalstore.diff.rules import checks, dataset, judge, rubric, shared
from evalstore.versions import Bump

_AREAS = (shared, rubric, checks, judge, dataset)


def _complete_row(rule: ChangeRule) -> ChangeRule:
    """Return a row with the facts that follow from it, and with the deciders that all rules share.

    `prove_by_enumeration` is tried last, because it knows only that the result stays the same.
    """
    shared_by_all = (prove_weightless,) if rule.scope in CHECK_SCOPES else ()
    if rule.level is Bump.MAJOR and rule.scope is not Scope.NOTHING:
        shared_by_all = (*shared_by_all, prove_by_enumeration)
    direction = NEVER if rule.scope is Scope.NOTHING else rule.direction
    return replace(
        rule,
        direction=direction,
        mirror=rule.mirror or rule.id,
        deciders=(*rule.deciders, *shared_by_all),
    )


RULES: Mapping[str, ChangeRule] = {
    rule.id: _complete_row(rule) for area in _AREAS for rule in area.ROWS
}
