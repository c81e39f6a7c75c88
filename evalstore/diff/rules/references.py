"""Rules for references to other artifacts (catalogue G): a moved pin imports exactly the other artifact's change."""

from __future__ import annotations

from evalstore.diff.change import ChangeRule, Scope
from evalstore.diff.deciders.bounds import prove_no_share_between, prove_verdict_unread
from evalstore.diff.deciders.juries import bound_member_shift
from evalstore.diff.direction_rules import COMPOSITE_MARK, NEVER, UNKNOWN
from evalstore.diff.findings import Certainty
from evalstore.diff.references import prove_default_unused, prove_harmless, prove_locked_harmless, prove_same_content
from evalstore.versions import Bump

ROWS = (
    ChangeRule(
        id="judge-ref-changed",
        artifact="rubric",
        level=Bump.MAJOR,
        direction=UNKNOWN,
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
        level=Bump.MAJOR,
        direction=UNKNOWN,
        scope=Scope.SCORE,
        message="{where} follows {new} (was {old})",
        reason="its meaning can change without any diff",
        mirror="judge-ref-changed",
        example="judge/tone@1.0.0 → judge/tone@^1.0",
        instead="judge/tone@1.0.0 → judge/tone@1.1.0 (an exact pin; evalstore bump --dependents moves it)",
        certainty=Certainty.ASSUMED,
    ),
    ChangeRule(
        id="ref-repinned-same-content",
        artifact="any",
        level=Bump.PATCH,
        direction=NEVER,
        scope=Scope.NOTHING,
        message="{where} is pinned to {new} (was {old}), with the same content",
        reason="the version differs, the content does not",
        example="judge/tone@1.0.0 → judge/tone@1.0.1",
    ),
    ChangeRule(
        id="composite-ref-changed",
        artifact="rubric",
        level=Bump.MAJOR,
        direction=UNKNOWN,
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
        artifact="rubric",
        level=Bump.MAJOR,
        direction=COMPOSITE_MARK,
        scope=Scope.CHECK_VERDICT,
        message="{check}, a composite, has threshold {new} (was {old})",
        reason="its score must reach another threshold",
        example="rubric_ref: rubric/inner@1.0.0, threshold: 0.5 → rubric_ref: rubric/inner@1.0.0, threshold: 0.6",
        instead="combine: all_pass → combine: min (which reads its score, not its threshold)",
        deciders=(prove_no_share_between, prove_verdict_unread),
    ),
    ChangeRule(
        id="composite-inlined",
        artifact="rubric",
        level=Bump.PATCH,
        direction=NEVER,
        scope=Scope.NOTHING,
        message="{check}, the rubric {ref}, {stands}",
        reason="the total score is the same either way",
        example="kind: composite, rubric_ref: rubric/inner@1.0.0} → {id: x, kind: must_contain_any, values: [foo]}",
    ),
    ChangeRule(
        id="question-rubric-ref-changed",
        artifact="dataset",
        level=Bump.MAJOR,
        direction=UNKNOWN,
        scope=Scope.SCORE,
        message="{question}: graded by {new} (was {old}){why}",
        reason="the pin brings in the changes of the rubric",
        example="rubric_ref: rubric/inner@1.0.0 → rubric_ref: rubric/inner@2.0.0",
        instead="rubric_ref: rubric/inner@1.0.0 → rubric_ref: rubric/other@2.0.0 (a default that no question reads)",
        deciders=(prove_locked_harmless, prove_same_content, prove_harmless, prove_default_unused),
        certainty=Certainty.ASSUMED,
    ),
)
