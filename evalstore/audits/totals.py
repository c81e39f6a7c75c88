"""Sums single questions up: the factors over the common questions, and the effect of the other questions; pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from evalstore.audits.attribution import Attribution
from evalstore.audits.question_grid import CommonQuestion
from evalstore.audits.values import Cause, EditSource, Factor, FactorName, Flips, Mix, QuestionShare
from evalstore.audits.wording import choose_claim, is_sampled
from evalstore.model import Verdict
from evalstore.runs import GradedRow
from evalstore.statistics import compute_mcnemar_p, estimate_change

_WORST = 5
Rows = Mapping[str, GradedRow]
Separable = Sequence[tuple[CommonQuestion, Attribution]]


@dataclass(slots=True)
class _RunningSum:
    share: Fraction = field(default_factory=Fraction)
    error: float = 0.0
    moved: int = 0


def compute_mean(scores: Iterable[Fraction | None]) -> Fraction:
    """Return the exact mean of the scores that are not None; there is at least one."""
    found = [score for score in scores if score is not None]
    return sum(found, Fraction(0)) / len(found)


def sum_factors(commons: Separable, groups: Sequence[str | None]) -> tuple[Factor, ...]:
    """Return the factors over all separable questions, in the order of the report."""
    return tuple(_sum_factor(index, name, commons, groups) for index, name in enumerate(FactorName))


def sum_mix(a: Rows, b: Rows, both: Sequence[str], compared: Sequence[str]) -> Mix:
    """Return the effect of questions that are not compared: scored in one run only, or in both but inseparable."""
    scored = [{id_: row.score for id_, row in side.items() if row.score is not None} for side in (a, b)]
    old, new = scored
    mean_a, mean_b = compute_mean(old[id_] for id_ in both), compute_mean(new[id_] for id_ in both)
    # The three parts telescope: their sum is the change of the means minus that of the compared questions.
    kept = set(compared)
    return Mix(
        added=compute_mean(new.values()) - mean_b,
        removed=mean_a - compute_mean(old.values()),
        not_separable=mean_b - mean_a - compute_mean(new[id_] - old[id_] for id_ in compared),
        added_ids=tuple(id_ for id_ in new if id_ not in old),
        removed_ids=tuple(id_ for id_ in old if id_ not in new),
        not_separable_ids=tuple(id_ for id_ in both if id_ not in kept),
    )


def find_flips(a: Rows, b: Rows, ids: Sequence[str]) -> Flips:
    """Return which recorded verdicts flipped; `p` only where outputs differ: a replay is no sample."""
    turned = [(id_, a[id_].verdict, b[id_].verdict) for id_ in ids]
    worse = tuple(id_ for id_, old, new in turned if (old, new) == (Verdict.PASS, Verdict.FAIL))
    better = tuple(id_ for id_, old, new in turned if (old, new) == (Verdict.FAIL, Verdict.PASS))
    sampled = any(a[id_].output_digest != b[id_].output_digest for id_ in ids)
    return Flips(worse, better, compute_mcnemar_p(len(worse), len(better)) if sampled else None)


def _sum_factor(index: int, name: FactorName, commons: Separable, groups: Sequence[str | None]) -> Factor:
    shares = [found.shares[index] for _, found in commons]
    ends = [
        compute_mean(found.first[index] for _, found in commons),
        compute_mean(found.last[index] for _, found in commons),
    ]
    changed = sum(any(common.levels[index]) for common, _ in commons)
    estimate = estimate_change(shares, groups) if changed else None
    moved = [QuestionShare(common.id, share) for (common, _), share in zip(commons, shares, strict=True) if share]
    return Factor(
        name=name,
        share=compute_mean(shares),
        order=(min(ends), max(ends)),
        ci=estimate.mean.interval if estimate and estimate.mean else None,
        p=estimate.p if estimate and is_sampled(name) else None,
        changed=changed,
        moved=len(moved),
        claim=choose_claim(name, estimate),
        causes=_sum_causes(index, commons),
        worst=tuple(sorted(moved, key=lambda question: (-abs(question.share), question.id))[:_WORST]),
    )


def _sum_causes(index: int, commons: Separable) -> tuple[Cause, ...]:
    sums: dict[EditSource, _RunningSum] = {}
    for common, found in commons:
        for sources, steps in zip(common.sources[index], found.edits[index], strict=True):
            for source, step in zip(sources, steps, strict=True):
                total = sums.setdefault(source, _RunningSum())
                total.share += step.share
                # All questions sample the same orders, so their errors can add up instead of cancelling out.
                total.error += step.error
                total.moved += bool(step.share)
        # Findings that move nothing (metadata, reordering) belong to the rubric, the first factor.
        if index == 0:
            for source in common.silent:
                sums.setdefault(source, _RunningSum())
    size = len(commons)
    causes = (Cause(source, total.share / size, total.moved, total.error / size) for source, total in sums.items())
    return tuple(sorted(causes, key=lambda cause: -abs(cause.share)))
