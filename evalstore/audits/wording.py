"""Words an audit: the sentence that answers the question, and the claim about each factor; pure."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from evalstore.audits.values import Factor, FactorName
from evalstore.statistics import ChangeEstimate, Conclusion, bound_rate

_DIRECTION_PHRASES = {
    FactorName.RUBRIC: ("a stricter rubric", "a looser rubric"),
    FactorName.DATASET: ("changed references", "changed references"),
    FactorName.OUTPUTS: ("worse outputs", "better outputs"),
}
_MIX_PHRASE = "other questions"
_LOST_PHRASE = "what could not be reproduced"


def format_points(share: Fraction | float) -> str:
    """Format a share of the score in points of a hundred, with sign."""
    text = f"{float(share) * 100:+.2f}"
    return "0.00" if text in {"+0.00", "-0.00"} else text


def write_sentence(delta: Fraction, factors: Sequence[Factor], mix: Fraction, lost: Fraction) -> str:
    """Return one sentence: how far the score moved, and what took and gave how much of it."""
    parts = [(factor.share, _DIRECTION_PHRASES[factor.name][factor.share > 0]) for factor in factors if factor.share]
    parts += [(share, word) for share, word in ((mix, _MIX_PHRASE), (lost, _LOST_PHRASE)) if share]
    if not parts:
        changed = any(factor.changed for factor in factors)
        return f"The score did not move{', although something changed' if changed else ': nothing changed'}."
    sign = -1 if delta < 0 else 1
    # What moved the score in the direction of the whole comes first, the largest first.
    parts.sort(key=lambda part: (part[0] * sign < 0, -abs(part[0])))
    phrases = [
        f"{word} {'took' if share < 0 else 'gave'} {format_points(abs(share)).lstrip('+')}" for share, word in parts
    ]
    moved = (
        f"{'fell' if delta < 0 else 'rose'} by {format_points(abs(delta)).lstrip('+')} points"
        if delta
        else "did not move"
    )
    return f"The score {moved}: {_join_phrases(phrases)}."


def is_sampled(name: FactorName) -> bool:
    """Whether the shares of a factor are a sample, and not a replay of these very questions."""
    return name is FactorName.OUTPUTS


def choose_claim(name: FactorName, estimate: ChangeEstimate | None) -> str:
    """Return what may be concluded from one factor's shares for questions like these; numbers are in points."""
    if estimate is None:
        return "unchanged"
    return describe_conclusion(estimate) if is_sampled(name) else "exact on these questions"


def describe_conclusion(estimate: ChangeEstimate) -> str:
    """Return the conclusion of an estimate in words; numbers are in points."""
    conclusion, mean = estimate.conclusion, estimate.mean
    if conclusion is Conclusion.MOVED_NONE:
        return f"moved none; at most {float(bound_rate(estimate.units)):.0%} would"
    if conclusion is Conclusion.SIGNIFICANT:
        return "significant"
    if mean is None:
        return "not resolvable (too few questions or groups)"
    if conclusion is Conclusion.BOUNDED_NULL:
        return f"bounded null (below {max(map(abs, mean.interval)) * 100:.2f})"
    return f"not resolvable (MDE {mean.detectable_effect * 100:.1f})"


def format_p(p: float) -> str:
    """Format a p-value; the smallest only as a bound."""
    return f"{p:.3f}" if p >= 0.001 else "below 0.001"  # noqa: PLR2004  # a convention


def _join_phrases(parts: Sequence[str]) -> str:
    if len(parts) < 3:  # noqa: PLR2004  # a list of two needs no comma
        return " and ".join(parts)
    return f"{', '.join(parts[:-1])}, and {parts[-1]}"
