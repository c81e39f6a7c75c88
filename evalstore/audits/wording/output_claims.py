"""Lists what may be claimed about outputs, strongest claim first; pure.

Claims are about the mean, the verdicts, or the typical question.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import ceil, floor
from typing import NamedTuple

from evalstore.audits.values import (
    OWN_FACTORS,
    Audit,
    Factor,
    FactorName,
)
from evalstore.audits.wording.factors import describe_moves, describe_turned, name_own
from evalstore.audits.wording.points import format_points, format_size
from evalstore.statistics import Conclusion

_WIDE = Fraction(1, 2)  # of the larger: from this difference on, both rubrics are mentioned


class OutputClaim(NamedTuple):
    """A claim about outputs: its direction, and its words.

    `answer` is the claim alone, `words` what goes next to a stronger one.
    """

    direction: int
    answer: str
    words: str


def list_claims(factor: Factor) -> Iterator[OutputClaim]:
    """Yield what may be claimed about a factor, strongest first.

    Claims are about its mean, its verdicts, or its typical question.
    """
    if factor.conclusion is Conclusion.SIGNIFICANT:
        gain = describe_own_gain(factor)
        yield OutputClaim(1 if factor.share > 0 else -1, f": {gain}", gain)
    verdicts, typical = factor.verdicts, factor.typical
    if verdicts and verdicts.direction:
        turned = describe_turned(verdicts)
        yield OutputClaim(verdicts.direction, f": {turned}", turned)
    if typical and typical.direction:
        moves, comma = describe_moves(typical), "," if typical.direction > 0 else ""
        others = _word_mean_of_others(factor)
        yield OutputClaim(
            typical.direction, f"{comma} on typical questions: {moves}{others}", moves
        )


def list_opposed_claims(factor: Factor) -> list[OutputClaim]:
    """Return the claims that say the opposite of the strongest."""
    claims = [*list_claims(factor)]
    return [one for one in claims if one.direction != claims[0].direction]


def _word_mean_of_others(factor: Factor) -> str:
    """Return where the mean of other questions could be, in whole points."""
    if factor.ci is None:
        return ""
    low, high = floor(factor.ci[0] * 100), ceil(factor.ci[1] * 100)
    ends = (f"{end:+d}" if end else "0" for end in (low, high))
    return f"; a mean of others could lie between {' and '.join(ends)}"


def describe_own_gain(factor: Factor) -> str:
    """Return what the outputs of a factor gained or lost, with its interval if it has one."""
    return f"its outputs {describe_gain(factor.share)} points{_word_span(factor)}"


def describe_gain(share: Fraction) -> str:
    """Return `gained 3.25` or `lost 3.25`."""
    return f"{'lost' if share < 0 else 'gained'} {format_size(share)}"


def _word_span(factor: Factor) -> str:
    return (
        f" (95 %: {format_points(factor.ci[0])} to {format_points(factor.ci[1])})"
        if factor.ci
        else ""
    )


def describe_by_rubric(audit: Audit) -> str:
    """Return what the own share is under each rubric.

    It is empty unless the two differ by more than half of the larger.
    """
    own, factors = audit.own, audit.factors
    if (
        own.old is None
        or own.new is None
        or abs(own.new - own.old) <= _WIDE * max(abs(own.old), abs(own.new))
    ):
        return ""
    sampled = [
        factor for factor in factors if factor.share and not OWN_FACTORS.isdisjoint(factor.members)
    ]
    has_outputs = any(FactorName.OUTPUTS in factor.members for factor in sampled)
    if has_outputs and all(any(list_claims(factor)) for factor in sampled):
        ends = describe_effect(own.old), describe_effect(own.new)
        same = ends[0].partition(" ")[0] == ends[1].partition(" ")[0]
        after = ends[1].partition(" ")[2] if same else ends[1]
        return f", together: {name_own(audit)} {ends[0]} under A's rubrics, {after} under B's"
    old, new = format_points(own.old), format_points(own.new)
    return f", together: {name_own(audit)} come to {old} under A's rubrics, {new} under B's"


def describe_effect(share: Fraction) -> str:
    """Return what outputs do under a rubric: `gain 3.25`, `lose 3.25`, or `lose nothing`."""
    if not share:
        return "lose nothing"
    return f"{'lose' if share < 0 else 'gain'} {format_size(share)}"
