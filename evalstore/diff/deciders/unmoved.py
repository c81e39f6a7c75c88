"""Proves that an edit changes no result of a rubric, whatever its checks can answer.

Such an edit is a patch. It is minor if the answer of one check may change, because reports show
that answer even if the rubric does not read it.
"""

from __future__ import annotations

from fractions import Fraction

from evalstore.diff.attainable_scores import list_scores
from evalstore.diff.change import Change, Proof, RubricEffect
from evalstore.diff.direction import VERDICT_MODES, is_advisory
from evalstore.diff.kinds.tool_usage import count_required_tools
from evalstore.diff.rubric_state import CheckState, RubricState
from evalstore.versions import Bump

# Rules that have another name for an edit that changes no result.
UNMOVED_RULES = {
    "scoring-combine-changed": "scoring-combine-equivalent",
    "contain-phrase-added": "phrase-redundant",
    "contain-phrase-removed": "phrase-redundant",
    "ban-phrase-added": "phrase-redundant",
    "ban-phrase-removed": "phrase-redundant",
}


def prove_by_enumeration(change: Change) -> Proof | None:
    """Prove that whatever the checks answer to one output, score and verdict stay the same."""
    if change.effect is None or change.effect.moves:
        return None
    return Proof(explain_same_result(change.effect), rule=UNMOVED_RULES.get(change.rule))


def explain_same_result(effect: RubricEffect) -> str:
    """Say why an edit changes no result; `effect` must be one that moves nothing."""
    if effect.ways == 1:
        return (
            "the checks give every output the same answers, and the score and verdict do not change"
        )
    return (
        f"the checks have {effect.ways:,} possible answers, and each gives the same score and "
        "verdict as before"
    )


def prove_weightless(change: Change) -> Proof | None:
    """Prove that the rubric ignores the check on both sides: weight 0 and not required."""
    before, after = change.states
    for rubric in (before, after):
        if change.token in rubric.tokens and not is_advisory(rubric[change.token], rubric):
            return None
    return Proof(
        "its weight is 0 in a weighted average and it is not required, so it does not count",
        Bump.MINOR,
    )


def prove_verdict_unread(change: Change) -> Proof | None:
    """Prove that nothing reads the check's verdict: not required, and the mode reads scores."""
    if any(check.reads_threshold or check.is_required for check in change.checks):
        return None
    reads = any(rubric.combine in VERDICT_MODES or rubric.needs_all for rubric in change.states)
    if reads or not _may_move_verdict(change):
        return None
    combine = change.states[1].combine
    return Proof(
        f"{combine} reads only scores and the check is not required, so its verdict does not count",
        Bump.MINOR,
    )


def _may_move_verdict(change: Change) -> bool:
    """Whether the check can have a score between the old threshold and the new one."""
    before, after = change.checks
    if before.bar is None or after.bar is None:
        return True
    low, high = sorted((before.bar, after.bar))
    scores = list_scores(after)
    return low < high and (not scores or any(low <= _turn(score, after) < high for score in scores))


def _turn(score: Fraction, check: CheckState) -> Fraction:
    return 1 - score if check.negate else score


def prove_fact_share_unread(change: Change) -> Proof | None:
    """Prove that only the share of facts changes, and the rubric reads just the verdict."""
    from evalstore.diff.answers.joint import is_same_question

    if is_same_question(*change.checks) or any(
        rubric.combine not in VERDICT_MODES for rubric in change.states
    ):
        return None
    if prove_by_enumeration(change) is None:
        return None
    return Proof(
        "the rubric reads only the check's verdict, which stays the same for every answer",
        Bump.MINOR,
    )


def prove_tool_share_unread(change: Change) -> Proof | None:
    """Prove that only the share of tools changes, and the rubric reads just the verdict."""
    from evalstore.diff.answers.joint import is_same_question

    if any(map(_reads_share, change.checks, change.states)) or is_same_question(*change.checks):
        return None
    if not all(map(is_all_tools_threshold, change.checks)):
        return None
    return Proof(
        (
            "the rubric reads the check's verdict alone, and only calling every tool reaches its "
            "threshold"
        ),
        Bump.MINOR,
    )


def _reads_share(check: CheckState, rubric: RubricState) -> bool:
    # If a required check passes, its score is 1; if it fails, the rubric's score is 0.
    return rubric.combine not in VERDICT_MODES and (check.negate or not check.is_required)


def is_all_tools_threshold(check: CheckState) -> bool:
    """Whether the check's verdict depends only on whether all required tools were called."""
    bar, number = check.threshold, count_required_tools(check.params)
    if bar is None or not number:
        return number is None and bar == 1 and not check.negate
    step = Fraction(1, number)
    return 0 < bar <= step if check.negate else 1 - step < bar <= 1
