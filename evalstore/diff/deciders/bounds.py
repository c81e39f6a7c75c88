"""Thresholds and limits: which edits of one no score can notice, and which scores a threshold tells apart."""

from __future__ import annotations

from fractions import Fraction

from evalstore.diff.change import Change, Proof, RubricEffect
from evalstore.diff.direction import (
    HIGHEST,
    LOOSER,
    LOWEST,
    STRICTER,
    VERDICT_MODES,
    bound_direction,
    is_advisory,
    is_counted,
)
from evalstore.diff.findings import Direction
from evalstore.diff.kinds import KINDS, Limit
from evalstore.diff.limits import PROOFS
from evalstore.diff.rubric_state import CheckState, RubricState
from evalstore.model import Combine, format_decimal
from evalstore.text import make_excerpt
from evalstore.versions import Bump

_RULES = {"scoring-combine-changed": "scoring-combine-equivalent"}
_ONE, _TWO = (Fraction(1),), (Fraction(0), Fraction(1))


def prove_by_enumeration(change: Change) -> Proof | None:
    """Prove that whatever the checks can answer to one output, the score and the verdict stay."""
    if change.effect is None or change.effect.moves:
        return None
    return Proof(explain_same_result(change.effect), rule=_RULES.get(change.rule))


def explain_same_result(effect: RubricEffect) -> str:
    """Say why an edit moves nothing, of an effect that does not."""
    if effect.ways == 1:
        return "the checks give every output the same answers, and the score and verdict do not change"
    return f"the checks have {effect.ways:,} possible answers, and each gives the same score and verdict as before"


def list_scores(check: CheckState) -> tuple[Fraction, ...]:
    """Return every score that a check can have, or nothing where these are not known to be few."""
    if KINDS[check.kind].passes_all(check.params):
        return _ONE
    if check.two_valued:
        return _TWO
    if check.facts:
        return check.facts.scores
    parts = KINDS[check.kind].score_parts(check.params)
    return tuple(Fraction(part, parts) for part in range(parts + 1)) if 0 < parts < PROOFS.scores else ()


_ZERO_AND_ONE = frozenset({Fraction(0), Fraction(1)})


def prove_binary_threshold(change: Change) -> Proof | None:
    """Prove that a check that scores 0 or 1 passes exactly at 1, before and after."""
    if not all(check.binary for check in change.checks):
        return None
    return Proof("the check scores 0 or 1, and both thresholds are in between")


def prove_no_share_between(change: Change) -> Proof | None:
    """Prove that no score that the check can have lies between the old threshold and the new."""
    before, after = change.checks
    scores = list_scores(after)
    if before.bar is None or after.bar is None:
        return None
    if before.bar == after.bar:
        return Proof(f"the threshold stays {format_decimal(after.bar)}, the one its rubric has")
    low, high = sorted((before.bar, after.bar))
    if not scores or any(low <= score < high for score in scores):
        return None
    return Proof(f"none of the {len(scores)} possible scores of the check is in between")


def prove_verdict_unread(change: Change) -> Proof | None:
    """Prove that nothing reads the check's verdict: it is not a gate, its rubric combines scores, its score stays."""
    if any(check.reads_threshold or check.is_gate for check in change.checks):
        return None
    if any(rubric.combine in VERDICT_MODES for rubric in change.states):
        return None
    combine = change.states[1].combine
    return Proof(
        f"{combine} reads only scores and the check is not required, so its verdict does not count", Bump.MINOR
    )


def prove_fact_share_unread(change: Change) -> Proof | None:
    """Prove that only the share of facts moves, and the rubric reads the check's verdict alone, which stays."""
    if any(rubric.combine not in VERDICT_MODES for rubric in change.states) or prove_by_enumeration(change) is None:
        return None
    return Proof("the rubric reads only the check's verdict, which stays the same for every answer", Bump.MINOR)


def prove_unattainable(change: Change) -> Proof | None:
    """Prove that no score that this rubric can have lies between the old threshold and the new."""
    before, after = change.states
    low, high = sorted((before.threshold, after.threshold))
    scores = find_attainable_scores(before)
    if scores is None or any(low <= score < high for score in scores):
        return None
    return Proof(f"none of the {len(scores)} possible scores of this rubric is in between")


def is_full_share_threshold(check: CheckState, parts: int) -> bool:
    """Whether of all shares of so many parts the bar tells only the full one from the others."""
    if check.threshold is None or not parts:
        return False
    step = Fraction(1, parts)
    return 0 < check.threshold <= step if check.negate else 1 - step < check.threshold <= 1


def find_attainable_scores(rubric: RubricState) -> frozenset[Fraction] | None:
    """Return a finite set that holds every score the rubric can have, or None when it is not known to be finite."""
    if rubric.combine in VERDICT_MODES:
        return _ZERO_AND_ONE
    scores = [list_scores(check) for check in rubric.checks]
    if len(scores) > PROOFS.combined_checks or not all(scores):
        return None
    if rubric.combine is Combine.WEIGHTED_AVG:
        return _find_attainable_averages(rubric)
    # A closed gate and the policies give 0.
    single = _ZERO_AND_ONE.union(*scores)
    halves = len(scores) % 2 == 0 or any(map(rubric.may_leave_out, rubric.checks))
    if rubric.combine is Combine.MEDIAN and halves:
        return frozenset((one + other) / 2 for one in single for other in single)
    return single


def _find_attainable_averages(rubric: RubricState) -> frozenset[Fraction] | None:
    sums = {(Fraction(0), Fraction(0))}
    for check in rubric.checks:
        left_out = sums if rubric.may_leave_out(check) else set()
        gains = {check.weight * score for score in (*list_scores(check), Fraction(0))}
        sums = left_out | {(got + gain, total + check.weight) for got, total in sums for gain in gains}
        if len(sums) > PROOFS.sums:
            return None
    # A closed gate and the policies for errors give 0.
    return frozenset({Fraction(0)} | {got / total for got, total in sums if total})


_MARKDOWN = "markdown_structure"


def prove_not_binding(change: Change) -> Proof | None:
    """Prove that the old and the new bound let the same outputs through."""
    limit = find_limit(change)
    if limit is None:
        return None
    before, after = change.checks
    if limit.of(before.params) != limit.of(after.params) or before.may_miss is not after.may_miss:
        return None
    return Proof("the limit has no effect before or after: other demands imply it")


def find_limit(change: Change) -> Limit | None:
    """Return the limit that the changed parameter of a check is; None for any other parameter."""
    return KINDS[change.checks[1].kind].params[change.name].limit


def prove_demand_implied(change: Change) -> Proof | None:
    """Prove that an added or removed demand of `markdown_structure` follows from the others."""
    if change.checks[1].kind != _MARKDOWN:
        return None  # what implies what is known of its lists only
    shorter, longer = sorted(change.checks, key=lambda check: _count_demands(check, change.name))
    if change.name == "no_h1":
        idle = shorter.params["max_heading_level"] < 1
        return Proof("no heading is allowed") if idle else None
    item = change.item
    others = list(longer.params[change.name])
    others.remove(item)
    part = next((other for other in others if _implies_demand(change.name, other, item)), None)
    return None if part is None else Proof(f"{make_excerpt(part, 60)!r}, also listed, implies it")


def _count_demands(check: CheckState, name: str) -> int:
    value = check.params[name]
    return int(value) if isinstance(value, bool) else len(value)


def _implies_demand(name: str, other: str, item: str) -> bool:
    # A heading that holds the longer text holds the shorter one; a text without the shorter lacks the longer.
    return item.lower() in other.lower() if name == "required_sections" else other in item


def prove_nothing_missing(change: Change) -> Proof | None:
    """Prove that no check can be without something to grade, or that one more 0 decides nothing."""
    before, after = change.states
    unscorable = [check for check in before.checks if check.may_miss]
    if not unscorable:
        return Proof("every check of this rubric always has something to grade")
    return _prove_zeros_unread(before, after, unscorable)


def prove_nothing_errs(change: Change) -> Proof | None:
    """Prove that every check can always grade, or that one more 0 decides nothing, or all, under both policies."""
    before, after = change.states
    unscorable = [check for check in before.checks if check.may_err]
    if not unscorable:
        return Proof(
            "every check of this rubric can always be graded: none needs a judge, another engine or too many steps"
        )
    policies = {before.errors, after.errors}
    if policies == {"zero", "fail"} and all(_decides_alone(check, after) for check in unscorable):
        return Proof("a check that counts as 0 already makes this rubric 0")
    return _prove_zeros_unread(before, after, unscorable) if policies == {"skip", "zero"} else None


def prove_gate_idle(change: Change) -> Proof | None:
    """Prove that the gate is shut only where the score is 0 without it, or never."""
    before, after = change.states
    check = after[change.token]
    if after.combine is Combine.ALL_PASS:
        return Proof("all_pass is already 0 when one check fails")
    if after.combine is Combine.MIN and check.binary:
        return Proof("min is already 0 when this check fails")
    if _is_alone(check, after) and check.binary:
        return Proof("it is the only check, and the score is already 0 when it fails")
    if not any(_can_fail(check, rubric) for rubric in (before, after)):
        return Proof("it passes whatever it grades, so it cannot fail")
    return None


def _prove_zeros_unread(before: RubricState, after: RubricState, unscorable: list[CheckState]) -> Proof | None:
    if any(check.is_gate for check in unscorable):
        return None
    if not any(is_counted(check, after) for check in unscorable):
        return Proof("the checks that can be unscored have weight 0 in a weighted average and are not required")
    sure = [check for check in before.checks if check not in unscorable and not before.may_leave_out(check)]
    if after.combine not in HIGHEST or not sure:
        return None
    return Proof(f"{after.combine} takes the best, and {sure[0].id} is always scored")


def _decides_alone(check: CheckState, rubric: RubricState) -> bool:
    """Whether the rubric is 0 wherever this check counts as 0 and as failed."""
    return check.is_gate or _is_alone(check, rubric) or rubric.combine in LOWEST


def _is_alone(check: CheckState, rubric: RubricState) -> bool:
    return len(rubric.checks) == 1 and is_counted(check, rubric)


def _can_fail(check: CheckState, rubric: RubricState) -> bool:
    counted_as_zero = (check.may_miss and rubric.missing == "zero") or (check.may_err and rubric.errors == "zero")
    passes_all = not check.negate and KINDS[check.kind].passes_all(check.params)
    return counted_as_zero or not (passes_all or check.bar == 0)


def prove_weights_unread(change: Change) -> Proof | None:
    """Prove that no weight is read: the mode ignores them, or there is only one check."""
    before, after = change.states
    if before.combine is not Combine.WEIGHTED_AVG:
        return Proof(f"{before.combine} ignores weights")
    if len(before.checks) == 1 and before.checks[0].weight and after.checks[0].weight:
        return Proof("there is one check, and its weight cancels")
    return None


def prove_rescaled(change: Change) -> Proof | None:
    """Prove that all weights were multiplied by one positive number, in exact arithmetic."""
    before, after = change.states
    old, new = ([check.weight for check in rubric.checks] for rubric in (before, after))
    factor = next((mine / theirs for theirs, mine in zip(old, new, strict=True) if theirs), Fraction(0))
    if not factor or [weight * factor for weight in old] != new:
        return None
    return Proof(f"every weight is multiplied by {factor}, which the average cancels", rule="check-weights-rescaled")


def prove_weightless(change: Change) -> Proof | None:
    """Prove that the rubric reads neither side of a check: weight 0 in a weighted average, and no gate."""
    before, after = change.states
    for rubric in (before, after):
        if change.token in rubric.tokens and not is_advisory(rubric[change.token], rubric):
            return None
    return Proof("its weight is 0 in a weighted average and it is not required, so it does not count", Bump.MINOR)


_ALL, _ANY, _AVG = Combine.ALL_PASS, Combine.ANY_PASS, Combine.WEIGHTED_AVG
_MIN, _MAX, _MEDIAN = Combine.MIN, Combine.MAX, Combine.MEDIAN

# Every pair (lower, higher) that holds for any scores and weights.
_GRADED = frozenset({(_MIN, _AVG), (_AVG, _MAX), (_MIN, _MEDIAN), (_MEDIAN, _MAX), (_MIN, _MAX), (_ALL, _ANY)})
# With checks that are 0 or 1 and say so: the lowest, the two that are not comparable, the highest.
_BINARY = {_ALL: 0, _MIN: 0, _AVG: 1, _MEDIAN: 1, _ANY: 2, _MAX: 2}


def prove_modes_equivalent(change: Change) -> Proof | None:
    """Prove that two modes are one for this rubric."""
    before, after = change.states
    modes = {before.combine, after.combine}
    if why := _explain_equivalence(before, modes):
        return Proof(why, rule="scoring-combine-equivalent")
    return None


def find_modes_direction(change: Change) -> Direction:
    """Return whether the new mode can only raise, or only lower, the score."""
    before, after = change.states
    old, new = before.combine, after.combine
    if all(check.binary for check in before.checks) and _BINARY[old] != _BINARY[new]:
        return LOOSER if _BINARY[old] < _BINARY[new] else STRICTER
    return bound_direction(below=(old, new) in _GRADED, above=(new, old) in _GRADED)


def _explain_equivalence(rubric: RubricState, modes: set[Combine]) -> str:
    if not rubric.checks:
        return "the two rubrics have no check in common, so neither mode combines anything"
    binary = all(check.binary for check in rubric.checks)
    weights = [check.weight for check in rubric.checks]
    weighed = _AVG not in modes or all(weights)
    if len(weights) == 1 and weighed and (binary or modes <= {_AVG, _MIN, _MAX, _MEDIAN}):
        return "there is one check, and both modes give its score"
    if binary and modes in ({_ALL, _MIN}, {_ANY, _MAX}):
        return "every check scores 0 or 1 and passes only at 1, so both modes give the same score"
    if modes == {_MEDIAN, _AVG} and len(weights) == 2 and 0 != weights[0] == weights[1]:  # noqa: PLR2004  # two checks
        return "the median of two checks is their mean, and their weights are equal"
    return ""
