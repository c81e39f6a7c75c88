"""Rules for a rubric's identity, its checks as wholes, and its scoring."""

from __future__ import annotations

from fractions import Fraction

from evalstore.diff.change import Change, ChangeRule, Scope
from evalstore.diff.deciders.unmoved import (
    prove_tool_share_unread,
    prove_verdict_unread,
    prove_weightless,
)
from evalstore.diff.direction import LOOSER, STRICTER, bound_share, bound_weight_variation
from evalstore.diff.direction_rules import (
    BY_COMBINE,
    BY_MODES,
    DEMAND,
    EXTRACTED,
    MINIMUM,
    PARTIAL,
    fix_direction,
    rank_policies,
)
from evalstore.diff.findings import Certainty
from evalstore.versions import Bump


def _bound_check_share(change: Change) -> Fraction | None:
    before, after = change.states
    rubric = after if change.token in after.tokens else before
    return bound_share(rubric[change.token], rubric)


ROWS = (
    ChangeRule(
        id="rubric-id-changed",
        scope=Scope.NOTHING,
        message="the id changes from {old} to {new}",
        reason="every pin on the old id breaks, and so does its history",
        example="id: r → id: s",
        instead=(
            "nothing → renamed_from: r (the id that it had: it goes on from the releases of that "
            "id)"
        ),
    ),
    ChangeRule(
        id="check-added",
        direction=BY_COMBINE,
        message="{check} is a new {kind} check",
        reason="the score includes one more check",
        mirror="check-removed",
        example="nothing → {id: b, kind: must_not_contain, values: [bar]}",
        instead="nothing → weights: {b: 0} (a new check that only advises)",
        deciders=(prove_weightless,),
        shift=_bound_check_share,
    ),
    ChangeRule(
        id="check-removed",
        direction=BY_COMBINE,
        message="{check}, {a_kind} check, was removed",
        reason="the score includes one fewer check",
        mirror="check-added",
        example="{id: b, kind: must_not_contain, values: [bar]} → nothing",
        instead="weights: {b: 0} → nothing (a check that only advised)",
        deciders=(prove_weightless,),
        shift=_bound_check_share,
    ),
    ChangeRule(
        id="checks-regrouped",
        level=Bump.PATCH,
        scope=Scope.NOTHING,
        message="{group} became {checks}, which together ask for the same",
        reason="splitting or merging these lists gives the same score",
        example=(
            "values: [foo, bar] → values: [foo]} - {id: more, kind: must_not_contain, values: [bar]"
        ),
    ),
    ChangeRule(
        id="check-kind-changed",
        scope=Scope.CHECK,
        message="{check} becomes {a_new} check (was {old})",
        reason="another kind of check grades, and kinds cannot be ordered",
        example="kind: must_contain_any → kind: llm_judge",
        instead=(
            "values: ['a.b'], case_sensitive: true → kind: regex, pattern: 'a\\.b' (the same "
            "texts pass)"
        ),
    ),
    ChangeRule(
        id="check-renamed",
        level=Bump.MINOR,
        scope=Scope.NOTHING,
        message="{old} is now called {new}",
        reason="the score stays, but records kept by check id do not follow",
        example="{id: a, kind: must_contain_any → {id: z, kind: must_contain_any",
        instead="description: a → description: b (other words for people; the history uses the id)",
    ),
    ChangeRule(
        id="check-reordered",
        level=Bump.PATCH,
        scope=Scope.NOTHING,
        message="the order of the checks changes",
        reason="no way of combining depends on the order",
        example="values: [foo]} - {id: b → values: [bar]} - {id: a",
    ),
    ChangeRule(
        id="check-weight-changed",
        message="weight of {checks}: {old} → {new}",
        reason="each check's share of the average changes",
        example="weights: {a: 1} → weights: {a: 3}",
        instead="weights: {a: 2, b: 1} → weights: {a: 0.2, b: 0.1} (all by one factor)",
        shift=lambda change: bound_weight_variation(*change.states),
    ),
    ChangeRule(
        id="check-weights-rescaled",
        level=Bump.PATCH,
        scope=Scope.NOTHING,
        message="the weights of {checks} are rescaled, {old} to {new}",
        reason="a common factor does not change an average",
        example="weights: {a: 2, b: 1} → weights: {a: 0.2, b: 0.1}",
    ),
    ChangeRule(
        id="check-threshold-raised",
        direction=fix_direction(STRICTER),
        scope=Scope.CHECK_VERDICT,
        message="threshold of {check}: {old} → {new}",
        reason="fewer outputs can reach the threshold",
        mirror="check-threshold-lowered",
        example="nothing → threshold: 0.8",
        instead="threshold: 0.2 → nothing (a check that scores 0 or 1)",
        deciders=(prove_verdict_unread,),
    ),
    ChangeRule(
        id="check-threshold-lowered",
        direction=fix_direction(LOOSER),
        scope=Scope.CHECK_VERDICT,
        message="threshold of {check}: {old} → {new}",
        reason="more outputs can reach the threshold",
        mirror="check-threshold-raised",
        example="nothing → threshold: 0.5",
        instead="nothing → threshold: 0.2 (a check that scores 0 or 1)",
        deciders=(prove_verdict_unread,),
    ),
    ChangeRule(
        id="check-negate-changed",
        scope=Scope.CHECK,
        message="{check} has negate {new} (was {old})",
        reason="the check is inverted",
        example="nothing → negate: true",
        instead=(
            "must_contain_any, values: [foo], negate: true → must_not_contain, values: [foo] "
            "(the same)"
        ),
    ),
    ChangeRule(
        id="check-target-changed",
        direction=EXTRACTED,
        scope=Scope.CHECK,
        message="{check} reads another part of the output ({name} {new}, was {old})",
        reason="the check reads another text",
        example="extract: whole → extract: fence",
        instead="nothing → weights: {b: 0} (the new form as a second check that only advises)",
    ),
    ChangeRule(
        id="check-applicability-changed",
        scope=Scope.CHECK,
        message="{check}{lack} is now {new} (was {old})",
        reason="an output without the part failed on one side, and is unscored on the other",
        example="on: [first_number] → on: [first_number], on_nothing: missing",
        instead=(
            "on: [strip] → on: [strip], on_nothing: missing (a step that always finds something)"
        ),
    ),
    ChangeRule(
        id="check-question-values-changed",
        scope=Scope.CHECK,
        message="{check} has {name} {new} (was {old})",
        reason="its values come from each question, and they decide what the change does",
        example="values: {from: must_name} → values: {from: must_say}",
        instead="edit the values in the questions, where the rules of the kind judge them",
        certainty=Certainty.ASSUMED,
    ),
    ChangeRule(
        id="check-engine-changed",
        scope=Scope.CHECK,
        message="{check} reads the output as {new} (was {old})",
        reason="the same text can be counted differently",
        example="dialect: lines → nothing",
        instead="nothing → weights: {b: 0} (the new form as a second check that only advises)",
        certainty=Certainty.ASSUMED,
    ),
    ChangeRule(
        id="check-partial-credit-changed",
        direction=PARTIAL,
        scope=Scope.CHECK,
        message="{check} has partial credit {new} (was {old})",
        reason="with partial credit a share of the demands counts, without it all or nothing",
        example="nothing → partial: true",
        instead="nothing → partial: true (with one required tool, whose share is all or nothing)",
        deciders=(prove_tool_share_unread,),
    ),
    ChangeRule(
        id="scoring-combine-changed",
        direction=BY_MODES,
        message="the checks combine by {new} (was {old})",
        reason="the same results give another score",
        example="combine: weighted_avg → combine: min",
        instead="combine: median → combine: weighted_avg (of two checks with equal weights)",
    ),
    ChangeRule(
        id="scoring-combine-equivalent",
        level=Bump.PATCH,
        scope=Scope.NOTHING,
        message=(
            "the checks combine by {new} (was {old}), which makes no difference for this rubric"
        ),
        reason="both modes give the same score here",
        example="combine: all_pass → combine: min",
    ),
    ChangeRule(
        id="scoring-threshold-changed",
        direction=MINIMUM,
        scope=Scope.VERDICT,
        message="threshold of the rubric: {old} → {new}",
        reason="the pass rate can move although the scores stay",
        example="threshold: 0.5 → threshold: 0.6",
        instead="threshold: 0.6 → threshold: 0.9 (no score is between the two)",
    ),
    ChangeRule(
        id="scoring-verdict-changed",
        scope=Scope.VERDICT,
        message="the rubric passes where {new} (was: where {old})",
        reason="the pass rate can move although the scores stay",
        example="threshold: 0.5 → verdict: all",
        instead="threshold: 1 → verdict: all (where every check scores 0 or 1)",
    ),
    ChangeRule(
        id="scoring-missing-policy-changed",
        direction=rank_policies("skip", "zero"),
        message="a check with nothing to grade counts as {new} (was {old})",
        reason="checks are left out of the score instead of counting as 0, or the reverse",
        example="nothing → missing: zero",
        instead="nothing → missing: zero (under max, where another check always has a score)",
    ),
    ChangeRule(
        id="scoring-errors-policy-changed",
        direction=rank_policies("skip", "zero", "fail"),
        message="a check that could not grade counts as {new} (was {old})",
        reason="failed checks are left out, count as 0 or fail the rubric, and that changes",
        example="nothing → errors: fail",
        instead="nothing → errors: fail (where every check can always grade)",
    ),
    ChangeRule(
        id="scoring-required-changed",
        direction=DEMAND,
        message="{check} {gate} required",
        reason="when a required check fails, the whole rubric scores 0",
        example="nothing → required: [b]",
        instead="nothing → required: [b] (under all_pass, which fails with it anyway)",
    ),
)
