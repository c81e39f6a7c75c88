"""Words what may be concluded from each share, and how far judges alone move it; pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from math import ceil

from evalstore.audits.values import Audit, Factor, FactorName, JudgeNoiseEstimate
from evalstore.audits.wording.answer import describe_assumption
from evalstore.audits.wording.factors import describe_noise, describe_shown
from evalstore.audits.wording.points import format_points, format_size, join_phrases
from evalstore.statistics import FEWEST_ANCHORS, ChangeEstimate, Conclusion, bound_rate
from evalstore.text import count_noun

_JUDGED = {(FactorName.JUDGE,), (FactorName.JUDGE_SERVICE,)}


def choose_claim(
    members: Sequence[FactorName],
    estimate: ChangeEstimate | None,
    conclusion: Conclusion | None,
    *,
    is_judged: bool,
    anchors: int,
) -> str:
    """Return what may be concluded from one factor's shares for questions like these.

    Numbers are in points. There is no `conclusion` if nothing was sampled.
    """
    if estimate is None:
        return "unchanged"
    if anchors:
        how = f"estimated on {count_noun(anchors, 'anchor')}"
        return f"{how}, {_describe_estimated(estimate, conclusion, members)}"
    if conclusion is not None:
        return describe_conclusion(estimate, conclusion)
    # A judge may answer differently when asked again, so only results without any judge are exact
    # beyond their replies.
    judged = is_judged or FactorName.JUDGE in members or FactorName.JUDGE_SERVICE in members
    return "exact for the replies kept" if judged else "exact on these questions"


def _describe_estimated(
    estimate: ChangeEstimate, conclusion: Conclusion | None, names: Sequence[FactorName]
) -> str:
    if estimate.mean is None:
        return f"too few to tell ({FEWEST_ANCHORS} or more would)"
    if conclusion is Conclusion.MOVED_NONE:
        return "moved none"
    if conclusion is Conclusion.BOUNDED:
        low, high = estimate.mean.interval
        return f"between {format_points(low)} and {format_points(high)}"
    if conclusion is Conclusion.NOT_RESOLVABLE and estimate.conclusion is Conclusion.SIGNIFICANT:
        other = "the outputs" if FactorName.JUDGE_SERVICE in names else "the judge service"
        return f"which cannot tell it from {other}"
    return describe_conclusion(estimate, conclusion)


def describe_conclusion(estimate: ChangeEstimate, conclusion: Conclusion | None = None) -> str:
    """Return the conclusion of an estimate, or a given one, in words; numbers are in points."""
    conclusion, mean = conclusion or estimate.conclusion, estimate.mean
    if conclusion is Conclusion.MOVED_NONE:
        return (
            f"moved none; at most {_format_bound(100 * bound_rate(max(1, estimate.units)), 0)}% "
            "would"
        )
    if conclusion is Conclusion.SIGNIFICANT:
        return "significant"
    if mean is None:
        return f"{conclusion}: too few questions or groups"
    if conclusion is Conclusion.BOUNDED_NULL:
        return (
            f"bounded null (below {_format_bound(100 * Fraction(max(map(abs, mean.interval))), 2)})"
        )
    return f"{conclusion} (MDE {mean.detectable_effect * 100:.1f})"


def _format_bound(bound: Fraction, digits: int) -> str:
    """Format an upper bound: rounded up, because otherwise it would be exceeded."""
    return f"{ceil(bound * 10**digits) / 10**digits:.{digits}f}"


def format_p(p: float) -> str:
    """Format a p-value; the smallest ones only as a bound."""
    return f"{p:.3f}" if p >= 0.001 else "below 0.001"  # noqa: PLR2004  # a convention


def describe_certainty(factor: Factor) -> str:
    """Return in plain words how certain a share is, for a row of the waterfall."""
    span = f", {format_points(factor.ci[0])} to {format_points(factor.ci[1])}" if factor.ci else ""
    shown = describe_shown(factor.verdicts, factor.typical)
    shown = shown.replace(" verdicts turned ", " ")  # a row ends at the screen's edge
    words = {
        None: factor.claim,
        Conclusion.SIGNIFICANT: f"more than chance{span}",
        Conclusion.NOT_RESOLVABLE: f"{shown or 'could be chance'}{span}",
        Conclusion.BOUNDED_NULL: f"negligible{span}",
        Conclusion.BOUNDED: f"estimated{span}",
        Conclusion.MOVED_NONE: "moved nothing",
    }[factor.conclusion]
    if not factor.anchors or not factor.conclusion:
        return words
    # A row ends at the screen's edge, so it says first that it is an estimate, and how wide.
    how = words.removesuffix(span)
    return ", ".join(
        [
            f"estimated on {factor.anchors:,}{span.replace(',', ':', 1)}",
            *([how] if how != "estimated" else []),
        ]
    )


def hold_against_noise(factor: Factor, noise: JudgeNoiseEstimate | None) -> Factor:
    """Return the share of a judge's edits, or its service, as noise if it is no larger.

    The noise is the judge's own.
    """
    is_judged = factor.members in _JUDGED and not factor.anchors and factor.changed
    if not noise or not is_judged or not abs(factor.share) <= noise.reach:
        return factor
    claim = f"within {describe_noise(noise.reach)}"
    return replace(factor, noise=noise.reach, claim=claim)


def list_judge_notes(audit: Audit) -> Iterator[str]:
    """Yield what is assumed about judges besides the answer, and how far they move the change.

    Estimated shares and residuals within that range are named.
    """
    if audit.assumption and not describe_assumption(audit):
        yield (
            "assumed: the service behind the judges is the same in both runs, for it gives the "
            "same name, and no prompt was asked in both"
        )
    noise = audit.judge_noise
    if noise is None or not noise.reach:
        return
    measured: list[str] = []
    for ref, value in noise.measured.items():
        measured.append(f"{ref} has a standard deviation of {value * 100:.1f} points")
    reach = format_size(noise.reach)
    yield f"judges alone move this change by up to {reach} (95 %): {join_phrases(measured)}"
    shares = [(factor.name, factor.share) for factor in audit.factors if factor.anchors]
    shares.append(("what was not reproduced", audit.lines.not_reproduced.score))
    small = [(name, share) for name, share in shares if share and abs(share) <= noise.reach]
    if small:
        within = join_phrases([f"{name} ({format_points(share)})" for name, share in small])
        yield f"within the noise of the judges: {within}"
    if noise.unmeasured:
        yield (
            f"their noise was never measured (evalstore judge noise): {', '.join(noise.unmeasured)}"
        )
