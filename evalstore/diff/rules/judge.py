"""Rules for references, which import the changes of the other artifact, and for judges."""

from __future__ import annotations

from typing import Any

from evalstore.diff.change import Change, ChangeRule, Proof, Scope
from evalstore.diff.deciders.judge_rates import prove_rates_not_lower
from evalstore.diff.deciders.judges import (
    bound_level_shift,
    prove_domain_unread,
    prove_levels_equivalent,
    prove_pattern_equivalent,
    prove_scale_equivalent,
    prove_template_equivalent,
    prove_variable_unread,
)
from evalstore.diff.deciders.juries import (
    bound_jury_shift,
    bound_member_shift,
    prove_jury_equivalent,
)
from evalstore.diff.deciders.statements import (
    bound_statements_shift_scored,
    prove_statements_unmoved,
)
from evalstore.diff.deciders.unmoved import prove_verdict_unread, prove_weightless
from evalstore.diff.direction_rules import (
    BY_LEVELS,
    BY_PANEL,
    BY_STATEMENTS,
    BY_VOTES,
    BY_WAYS,
    COMPOSITE_MARK,
)
from evalstore.diff.findings import Certainty
from evalstore.diff.references import (
    prove_default_unused,
    prove_harmless,
    prove_locked_harmless,
    prove_same_content,
)
from evalstore.versions import Bump

_NEW_JUDGE = "a new judge, to which rubrics move one by one"


def _show_advisory(change: Change) -> Proof | None:
    """Prove that it is the model of a check that only advises."""
    return prove_weightless(change) if change.token else None


def _make_row(id_: str, **facts: Any) -> ChangeRule:
    common = {"artifact": "judge", "instead": _NEW_JUDGE, "certainty": Certainty.ASSUMED}
    return ChangeRule(**{"id": id_, **common, **facts})


_REFERENCE_ROWS = (
    ChangeRule(
        id="judge-ref-changed",
        scope=Scope.CHECK,
        message="{check} is judged by {new} (was {old}){why}",
        reason="the pin brings in the changes of the judge",
        example="judge/tone@1.0.0 → judge/tone@2.0.0",
        instead="judge/tone@1.0.0 → judge/tone@1.1.0 (a release that needed no more than minor)",
        deciders=(prove_locked_harmless, prove_same_content, prove_harmless),
        shift=bound_member_shift,
        certainty=Certainty.ASSUMED,
    ),
    ChangeRule(
        id="ref-unpinned",
        artifact="any",
        message="{where} follows {new} (was {old})",
        reason="its meaning can change without any diff",
        mirror="judge-ref-changed",
        example="judge/tone@1.0.0 → judge/tone@^1.0",
        instead=(
            "judge/tone@1.0.0 → judge/tone@1.1.0 (an exact pin; evalstore bump --dependents "
            "moves it)"
        ),
        certainty=Certainty.ASSUMED,
    ),
    ChangeRule(
        id="ref-repinned-same-content",
        artifact="any",
        level=Bump.PATCH,
        scope=Scope.NOTHING,
        message="{where} is pinned to {new} (was {old}), with the same content",
        reason="the version differs, the content does not",
        example="judge/tone@1.0.0 → judge/tone@1.0.1",
    ),
    ChangeRule(
        id="composite-ref-changed",
        scope=Scope.CHECK,
        message="{check} is the rubric {new} (was {old}){why}",
        reason="the pin brings in the changes of the rubric",
        example="rubric/inner@1.0.0 → rubric/inner@2.0.0",
        instead="rubric/inner@1.0.0 → rubric/inner@2.0.0 (in a check of weight 0)",
        deciders=(prove_locked_harmless, prove_same_content, prove_harmless),
        certainty=Certainty.ASSUMED,
    ),
    ChangeRule(
        id="composite-threshold-changed",
        direction=COMPOSITE_MARK,
        scope=Scope.CHECK_VERDICT,
        message="{check}, a composite, has threshold {new} (was {old})",
        reason="its score must reach another threshold",
        example=(
            "rubric_ref: rubric/inner@1.0.0, threshold: 0.5 → rubric_ref: rubric/inner@1.0.0, "
            "threshold: 0.6"
        ),
        instead="combine: all_pass → combine: min (which reads its score, not its threshold)",
        deciders=(prove_verdict_unread,),
    ),
    ChangeRule(
        id="composite-inlined",
        level=Bump.PATCH,
        scope=Scope.NOTHING,
        message="{check}, the rubric {ref}, {replaced}",
        reason="the total score is the same either way",
        example=(
            "kind: composite, rubric_ref: rubric/inner@1.0.0} → {id: x, kind: must_contain_any, "
            "values: [foo]}"
        ),
    ),
    ChangeRule(
        id="question-rubric-ref-changed",
        artifact="dataset",
        message="{question}: graded by {new} (was {old}){why}",
        reason="the pin brings in the changes of the rubric",
        example="rubric_ref: rubric/inner@1.0.0 → rubric_ref: rubric/inner@2.0.0",
        instead=(
            "rubric_ref: rubric/inner@1.0.0 → rubric_ref: rubric/other@2.0.0 (a default that no "
            "question reads)"
        ),
        deciders=(prove_locked_harmless, prove_same_content, prove_harmless, prove_default_unused),
        certainty=Certainty.ASSUMED,
    ),
)

_JUDGE_ROWS = (
    ChangeRule(
        id="judge-id-changed",
        artifact="judge",
        scope=Scope.NOTHING,
        message="the id changes from {old} to {new}",
        reason="every pin on the old id breaks",
        example="id: tone → id: taste",
        instead=(
            "nothing → renamed_from: judge/tone (the id that it had: it goes on from the "
            "releases of that id)"
        ),
    ),
    _make_row(
        "judge-template-changed",
        message="the template: {change}",
        reason="the judge reads all of it: wording, order and even white space can move a score",
        example="Is it kind? → Is it kind and calm?",
        instead="{{ output }} → {{{output}}} (other braces, the same text)",
        deciders=(prove_template_equivalent,),
        is_sent=True,
    ),
    _make_row(
        "judge-first-prompt-changed",
        message="what the judge is asked first: {change}",
        reason="its reply becomes part of the prompt that asks for the score",
        example="Plan for it → Plan well for it",
        is_sent=True,
    ),
    ChangeRule(
        id="judge-template-equivalent",
        artifact="judge",
        level=Bump.PATCH,
        scope=Scope.NOTHING,
        message="the template changes its notation, and the prompt stays the same",
        reason="spaces within tags, three braces for two and comments never reach the model",
        example="{{ output }} → {{{output}}}",
    ),
    _make_row(
        "judge-template-variable-changed",
        message="the template's variables change from {old} to {new}",
        reason="the prompt gets other values",
        example="variables: [criterion] → variables: []",
        instead=(
            "variables: [criterion] → variables: [criterion, mood] (one that the template does "
            "not use)"
        ),
        deciders=(prove_variable_unread,),
        is_sent=True,
    ),
    _make_row(
        "judge-score-type-changed",
        message="the score type changes from {old} to {new}",
        reason="each score type is another scale",
        example="score_type: continuous → score_type: binary",
    ),
    _make_row(
        "judge-levels-changed",
        message="the levels change from {old} to {new}",
        reason="the levels, or what each is worth by its position, change",
        example="level_names: [bad, good] → level_names: [bad, fair, good]",
        instead=(
            "level_names: [bad, good] → level_names: [good, bad] (where level_scores says what "
            "each is worth)"
        ),
        direction=BY_LEVELS,
        deciders=(prove_levels_equivalent,),
        shift=bound_level_shift,
        certainty=Certainty.BY_DEFINITION,
    ),
    _make_row(
        "judge-level-value-changed",
        message="the values of the levels change from {old} to {new}",
        reason="the same level gives another score",
        example="{bad: 0, good: 1} → {bad: 0.1, good: 1}",
        instead="nothing → level_scores: {bad: 0, good: 1} (the values they had by position)",
        direction=BY_LEVELS,
        deciders=(prove_levels_equivalent,),
        shift=bound_level_shift,
        certainty=Certainty.BY_DEFINITION,
    ),
    _make_row(
        "judge-reply-pattern-changed",
        message="the reply pattern: {change}",
        reason="the pattern decides which reply becomes which score",
        example="reply_pattern: '(.*)' → reply_pattern: 'score (.*)'",
        instead="'score: ([0-9]+)' → 'score: (?P<score>[0-9]+)' (a name for the group)",
        deciders=(prove_pattern_equivalent,),
    ),
    _make_row(
        "judge-reply-keys-changed",
        message="which keys of a reply answer changes: {change}",
        reason="the same reply can become another score, or none",
        example="nothing → reads: {score: grade, verdict: pass, no_verdict: pass}",
    ),
    _make_row(
        "judge-scale-changed",
        message="the scale changes from {old} to {new}",
        reason="the same reply becomes another score, or is off the scale",
        example="scale: {max: 5} → scale: {max: 10}",
        instead="scale: {max: 5} → scale: {min: 0, max: 5} (0 is the default)",
        deciders=(prove_scale_equivalent,),
    ),
    _make_row(
        "judge-model-changed",
        message="{where}: {change}",
        reason="another model, or one with another system message, gives other scores",
        example="model: {id: small} → model: {id: large}",
        deciders=(_show_advisory,),
        is_sent=True,
    ),
    _make_row(
        "judge-sampling-changed",
        message="{where}: {change}",
        reason="sampling and other parameters of the request can change the scores",
        example="temperature: 0 → temperature: 1",
        deciders=(_show_advisory,),
        is_sent=True,
    ),
    ChangeRule(
        id="judge-validation-changed",
        artifact="judge",
        level=Bump.MINOR,
        scope=Scope.NOTHING,
        message="the validation changes: {changes}",
        reason="scores stay, but the judge is measurably worse, or not measured any more",
        example="tpr: 0.93, tnr: 0.9} → tpr: 0.91, tnr: 0.92}",
        instead="tpr: 0.93, tnr: 0.9} → tpr: 0.93, tnr: 0.92} (measured again, with no lower rate)",
        deciders=(prove_rates_not_lower,),
    ),
    ChangeRule(
        id="judge-validation-stale",
        artifact="judge",
        level=Bump.MINOR,
        scope=Scope.NOTHING,
        message="the validation is older than the change of its {moved}",
        reason="nobody has measured how well this judge agrees with people",
        example="Is it kind? → Is it kind, and calm?",
        instead="measure it again: evalstore judge validate",
    ),
    ChangeRule(
        id="judge-applicable-to-widened",
        artifact="judge",
        level=Bump.MINOR,
        scope=Scope.NOTHING,
        message="the judge also claims {item}{backing}",
        reason="one more domain; no score moves",
        mirror="judge-applicable-to-narrowed",
        example="applicable_to: [drupal] → applicable_to: [drupal, web]",
        instead="a note under x_…, which is not a claim",
    ),
    ChangeRule(
        id="judge-applicable-to-narrowed",
        artifact="judge",
        scope=Scope.NOTHING,
        message="the judge no longer claims {item}",
        reason="whoever chose it for that domain relies on the claim, or the claim cannot be read",
        mirror="judge-applicable-to-widened",
        example="applicable_to: [drupal] → applicable_to: drupal",
        instead=(
            "applicable_to: [drupal, web] → applicable_to: [drupal] (a list whose items can all "
            "be read)"
        ),
        deciders=(prove_domain_unread,),
    ),
)


_JURY_ROWS = (
    ChangeRule(
        id="check-variables-changed",
        scope=Scope.CHECK,
        message="{check} gives its judges {variable}: {change}",
        reason="the judge's template shows it to the model",
        example="nothing → variables: {criterion: kind}",
        instead="variables: {mood: calm} → nothing (one that no judge's template uses)",
        certainty=Certainty.ASSUMED,
        is_sent=True,
    ),
    ChangeRule(
        id="check-statements-changed",
        direction=BY_STATEMENTS,
        scope=Scope.ANSWER,
        message="{check} {asks}",
        reason="its score is computed from what the judges say about each statement",
        example="each: [is kind] → each: [is kind, is short]",
        instead="each: [is kind] → each: [{text: is kind, weight: 1}] (the same, written out)",
        deciders=(prove_statements_unmoved,),
        shift_scored=bound_statements_shift_scored,
        certainty=Certainty.ASSUMED,
        is_sent=True,
    ),
    ChangeRule(
        id="jury-member-changed",
        direction=BY_PANEL,
        scope=Scope.CHECK,
        message="{check} {asks}",
        reason="the jury has one judge more or less, and a score needs all of them",
        example="nothing → {judge_prompt_ref: judge/taste@1.0.0}",
        instead="judge_prompt_ref: judge/tone@1.0.0 → jury: {members: [{judge_prompt_ref: "
        "judge/tone@1.0.0}], aggregate: mean} (a jury of the same single judge)",
        deciders=(prove_jury_equivalent,),
        shift=bound_jury_shift,
    ),
    ChangeRule(
        id="jury-weight-changed",
        direction=BY_VOTES,
        scope=Scope.CHECK,
        message="in the jury of {check} the weights change from {old} to {new}",
        reason="each judge's share of the result changes",
        example="weight: 1} → weight: 3}",
        instead="weight: 2}, {judge_prompt_ref: judge/taste@1.0.0, weight: 1} → "
        "weight: 0.2}, {judge_prompt_ref: judge/taste@1.0.0, weight: 0.1} (all by one factor)",
        deciders=(prove_jury_equivalent,),
        shift=bound_jury_shift,
    ),
    ChangeRule(
        id="jury-aggregation-changed",
        direction=BY_WAYS,
        scope=Scope.CHECK,
        message="the jury of {check} combines its scores by {new} (was {old})",
        reason="the same answers can give another score",
        example="aggregate: mean → aggregate: min",
        instead="aggregate: mean → aggregate: median (of two judges with equal weights)",
        deciders=(prove_jury_equivalent,),
    ),
)
ROWS = (*_REFERENCE_ROWS, *_JUDGE_ROWS, *_JURY_ROWS)
