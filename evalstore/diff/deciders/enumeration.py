"""Enumerates the answers that the checks of a rubric can give, where these are few; combines each before and after."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import product
from math import prod

from evalstore.diff.change import Change, Proof, name_decider
from evalstore.diff.kinds import KINDS
from evalstore.diff.pairing import list_demand
from evalstore.diff.plain_data import is_same
from evalstore.diff.rubric_state import CheckState, RubricState
from evalstore.model import CheckResult, RubricResult, UnscoredReason, Verdict
from evalstore.versions import Bump

# Ways to answer, and checks: well under a tenth of a second.
_WAYS, _CHECKS = 2_048, 32
_SCORES = 12
_RULES = {"scoring-combine-changed": "scoring-combine-equivalent"}
_TWO = (Fraction(0), Fraction(1))

_Answers = Mapping[str, CheckResult]


@name_decider("settled")
def prove_by_enumeration(change: Change) -> Proof | None:
    """Prove that whatever the checks answer, the rubric's score and verdict are the same before and after."""
    before, after = change.states
    # Checks that ask for the same always answer alike, so they are one factor of the product.
    groups = None if max(len(before.checks), len(after.checks)) > _CHECKS else _group_equal_checks(before, after)
    ways = [list(_iterate_answers(group)) for group in groups or ()]
    if not ways or not all(ways) or (number := prod(map(len, ways))) > _WAYS:
        return None
    for way in product(*ways):
        answers = {token: result for part in way for token, result in part.items()}
        if _read_outcome(_combine_answers(before, answers)) != _read_outcome(_combine_answers(after, answers)):
            return None
    text = f"the checks can answer in {number:,} ways, and each gives the same score and verdict before and after"
    return Proof(text, Bump.PATCH if before.tokens == after.tokens else Bump.MINOR, _RULES.get(change.rule))


def list_scores(check: CheckState) -> tuple[Fraction, ...]:
    """Return every score that a check can have, or nothing where these are not known to be few."""
    if check.two_valued:
        return _TWO
    if check.facts:
        return check.facts.scores
    parts = KINDS[check.kind].score_parts(check.params)
    return tuple(Fraction(part, parts) for part in range(parts + 1)) if 0 < parts < _SCORES else ()


def _group_equal_checks(before: RubricState, after: RubricState) -> list[list[CheckState]] | None:
    """Return the checks of both sides, those that always answer alike together; None where one is another check."""
    groups: list[dict[str, CheckState]] = []
    for check in (*before.checks, *after.checks):
        known = next(
            (group for group in groups if is_same(list_demand(next(iter(group.values()))), list_demand(check))), None
        )
        if known is None:
            groups.append(known := {})
        known[check.token] = check
    tokens = [token for group in groups for token in group]
    return [list(group.values()) for group in groups] if len(set(tokens)) == len(tokens) else None


def _iterate_answers(group: list[CheckState]) -> Iterator[dict[str, CheckResult]]:
    first = group[0]
    bar, scores = first.bar, list_scores(first)
    if bar is None or not scores:
        return
    for score in scores:
        verdict = Verdict.PASS if score >= bar else Verdict.FAIL
        yield {check.token: CheckResult(check.token, check.kind, score, verdict) for check in group}
    for unscored, can_be in ((UnscoredReason.MISSING, first.may_miss), (UnscoredReason.ERROR, first.may_err)):
        if can_be:
            yield {
                check.token: CheckResult(check.token, check.kind, None, Verdict.UNSCORED, unscored=unscored)
                for check in group
            }


def _combine_answers(rubric: RubricState, answers: _Answers) -> RubricResult:
    from evalstore.checks import combine_results

    return combine_results(rubric.to_scoring(), [answers[check.token] for check in rubric.checks])


def _read_outcome(result: RubricResult) -> tuple[object, object]:
    return result.score, result.verdict
