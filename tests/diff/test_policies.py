"""Policies for unscored checks: every change of one is held against every way in which the checks can answer."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import permutations, product
from typing import Any

import pytest

from evalstore.checks import combine_results
from evalstore.diff import DiffFinding
from evalstore.diff.changes.rubric import find_rubric_changes
from evalstore.diff.classify import classify
from evalstore.diff.effects.edits import attach_effects
from evalstore.diff.pairing import pair_checks
from evalstore.diff.plain_data import make_plain
from evalstore.diff.rubric_state import CheckState, read_rubric_state
from evalstore.model import CheckResult, Combine, RubricResult, UnscoredReason, Verdict
from evalstore.versions import Bump
from tests.diff.fuzz.claims import allows, went
from tests.rows import thin

POLICIES = [("errors", pair) for pair in permutations(("skip", "zero", "fail"), 2)]
POLICIES += [("missing", pair) for pair in permutations(("skip", "zero"), 2)]
JUDGED = {"id": "j", "kind": "llm_judge", "judge_prompt_ref": "judge/j@1.0.0", "threshold": 0}
RECORDED = {"id": "t", "kind": "tool_usage", "forbidden": ["a"]}
PLAIN = {"id": "p", "kind": "must_contain_any", "values": ["a"], "negate": True}
CHECKS = [[PLAIN], [JUDGED], [JUDGED, PLAIN], [RECORDED, PLAIN], [JUDGED, RECORDED], [JUDGED, RECORDED, PLAIN]]


@pytest.mark.parametrize(
    ("mode", "name", "pair"), thin(((mode, *policy) for mode in Combine for policy in POLICIES), 3)
)
def test_a_changed_policy_does_what_is_claimed(mode: str, name: str, pair: tuple[str, str]) -> None:
    proved = 0
    for checks, weights, gates in product(CHECKS, ({}, {"j": 0}, {"t": 0, "j": 0}), ([], ["j"], ["t"])):
        scoring = {"combine": str(mode), "weights": weights, "required": gates}
        before, after = (
            read_rubric_state(make_plain({"checks": checks, "scoring": {**scoring, name: policy}})) for policy in pair
        )
        assert before is not None
        assert after is not None
        for step in attach_effects(list(find_rubric_changes(before, pair_checks(before, after))), None)[0]:
            claim, (old, new) = classify(step), step.states
            proved += claim.level < Bump.MAJOR
            for results in product(*map(answers, old.checks)):
                hold(claim, combine_results(old.to_scoring(), results), combine_results(new.to_scoring(), results))
    assert proved


def answers(check: CheckState) -> Iterator[CheckResult]:
    for score in map(Fraction, (0, 1) if check.two_valued else (0, "1/2", 1)):
        verdict = Verdict.PASS if check.threshold is not None and score >= check.threshold else Verdict.FAIL
        yield CheckResult(check.token, check.kind, score, verdict)
    for unscored, can_be in ((UnscoredReason.MISSING, check.may_miss), (UnscoredReason.ERROR, check.may_err)):
        if can_be:
            yield CheckResult(check.token, check.kind, None, Verdict.UNSCORED, unscored=unscored)


def hold(claim: DiffFinding, old: RubricResult, new: RubricResult) -> None:
    told: Any = claim.rule, claim.level, claim.directions, claim.reason, old, new
    if claim.level < Bump.MAJOR:
        assert (old.score, old.verdict) == (new.score, new.verdict), told
    if old.score is not None and new.score is not None:
        assert allows(claim.directions[0], went(old.score, new.score)), told
        assert allows(claim.directions[1], went(*(Fraction(one.verdict is Verdict.PASS) for one in (old, new)))), told
