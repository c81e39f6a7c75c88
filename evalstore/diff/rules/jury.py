"""Rules for who judges a check (catalogue G): a jury's members, weights and way of joining, and what they are told."""

from __future__ import annotations

from evalstore.diff.change import ChangeRule, Scope
from evalstore.diff.deciders.juries import bound_jury_shift, prove_jury_equivalent
from evalstore.diff.direction_rules import BY_PANEL, BY_VOTES, BY_WAYS, UNKNOWN
from evalstore.diff.findings import Certainty
from evalstore.versions import Bump

ROWS = (
    ChangeRule(
        id="check-variables-changed",
        number="-",
        artifact="rubric",
        level=Bump.MAJOR,
        direction=UNKNOWN,
        scope=Scope.CHECK,
        message="{check} tells its judges {variable} {new} (was {old})",
        reason="a model reads the text where the judge's template has it",
        example="nothing → variables: {criterion: kind}",
        instead="variables: {mood: calm} → nothing (one that no template of the judges reads)",
        certainty=Certainty.ASSUMED,
    ),
    ChangeRule(
        id="jury-member-changed",
        number="54",
        artifact="rubric",
        level=Bump.MAJOR,
        direction=BY_PANEL,
        scope=Scope.CHECK,
        message="{check} {asks}",
        reason="one judge more or less has a say, and all must answer for a score",
        example="nothing → {judge_prompt_ref: judge/taste@1.0.0}",
        instead="judge_prompt_ref: judge/tone@1.0.0 → jury: {members: [{judge_prompt_ref: judge/tone@1.0.0}], "
        "aggregate: mean} (one judge, and a place for more)",
        deciders=(prove_jury_equivalent,),
        shift=bound_jury_shift,
    ),
    ChangeRule(
        id="jury-weight-changed",
        number="55",
        artifact="rubric",
        level=Bump.MAJOR,
        direction=BY_VOTES,
        scope=Scope.CHECK,
        message="in the jury of {check} the weights change from {old} to {new}",
        reason="the judges have other shares of the vote",
        example="weight: 1} → weight: 3}",
        instead="weight: 2}, {judge_prompt_ref: judge/taste@1.0.0, weight: 1} → "
        "weight: 0.2}, {judge_prompt_ref: judge/taste@1.0.0, weight: 0.1} (all by one factor)",
        deciders=(prove_jury_equivalent,),
        shift=bound_jury_shift,
    ),
    ChangeRule(
        id="jury-aggregation-changed",
        number="56",
        artifact="rubric",
        level=Bump.MAJOR,
        direction=BY_WAYS,
        scope=Scope.CHECK,
        message="the jury of {check} is joined by {new} (was {old})",
        reason="the same answers of the judges give another score",
        example="aggregate: mean → aggregate: min",
        instead="aggregate: mean → aggregate: median (of two judges with equal weights)",
        deciders=(prove_jury_equivalent,),
    ),
)
