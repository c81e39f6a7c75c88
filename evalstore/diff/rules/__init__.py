"""The catalogue: every rule is one row, in the module of its area; a change names its rule by id."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from evalstore.diff.change import CHECK_SCOPES, ChangeRule
from evalstore.diff.deciders.scoring import prove_weightless
from evalstore.diff.rules import dataset, judge, references, rubric, shared, structure, text

# A published set never judges otherwise: tests/cases/rule_sets keeps its verdicts. What is new is a set of the next
# number: a row has `since` (and `replaces`, where another rule judged such edits), a decider of an old row is a
# `LaterDecider`, a proof that the facts state has `since`. The last number judges where evalstore.yaml pins none.
RULE_SETS = (1,)


def _complete_row(rule: ChangeRule) -> ChangeRule:
    """Return a row with its mirror, and with the proof that all rules of checks share, the last to be tried."""
    shared_by_all = (prove_weightless,) if rule.scope in CHECK_SCOPES else ()
    return replace(rule, mirror=rule.mirror or rule.id, deciders=(*rule.deciders, *shared_by_all))


RULES: Mapping[str, ChangeRule] = {
    rule.id: _complete_row(rule)
    for area in (shared, rubric, text, structure, references, judge, dataset)
    for rule in area.ROWS
}
