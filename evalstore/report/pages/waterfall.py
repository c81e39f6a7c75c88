"""Draws the parts of a moved score as steps from the old score to the new one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate, chain
from typing import Any

from evalstore.audits import Audit, Factor, LineEffect
from evalstore.audits.claims import describe_certainty
from evalstore.audits.wording.factors import describe_shown
from evalstore.audits.wording.points import format_points
from evalstore.report.pages.bars import BarScale, Drawing, draw_mark, draw_step, limit_share
from evalstore.statistics import Conclusion, Interval
from evalstore.text import count_noun


@dataclass(frozen=True, slots=True)
class WaterfallStep:
    """One row of the waterfall, and what it adds to score and pass rate.

    It is a factor, several factors, or a line.
    """

    label: str
    effect: LineEffect
    moved: str = ""
    claim: str = ""
    is_open: bool = False
    intervals: tuple[Interval | None, Interval | None] = (None, None)

    @property
    def spans(self) -> list[str]:
        """The intervals of its shares of score and passes in words; empty if there is none."""
        return [" to ".join(map(format_points, ends or ())) for ends in self.intervals]

    def find_ends(self, levels: Sequence[Fraction]) -> list[tuple[Fraction, ...]]:
        """Return the ends of its shares' intervals, from the levels of score and passes."""
        pairs = zip(levels, self.intervals, strict=True)
        return [tuple(level + Fraction(end) for end in ends or ()) for level, ends in pairs]


def prepare_waterfall(audit: Audit) -> dict[str, Any]:
    """Return the steps with bars for score and passes, the marks of both runs, and a caption."""
    steps = sorted(
        _list_steps(audit), key=lambda step: (-abs(step.effect.score), -abs(step.effect.passes))
    )
    effects = [step.effect for step in steps]
    a, b = (audit.a.score, audit.a.passes), (audit.b.score, audit.b.passes)
    levels = (
        [*accumulate((effect.score for effect in effects), initial=audit.a.score)],
        [*accumulate((effect.passes for effect in effects), initial=audit.a.passes)],
    )
    whiskers = [step.find_ends(found) for step, *found in zip(steps, *levels, strict=False)]
    scales = [_find_scale(levels[at], [ends[at] for ends in whiskers]) for at in (0, 1)]
    has_open = any(step.is_open and step.effect != LineEffect() for step in steps)
    outline = " An outline: this could be chance." if has_open else ""
    drawn = [end for ends in whiskers for end in chain(*ends)]
    outline += " A whisker: the 95 % interval." if drawn else ""
    if any(end != limit_share(end) for end in drawn):
        outline += " One that ends in dashes continues beyond 0 or 100."
    caption = (
        "In points of a hundred; a bar shows what a row adds, score on a scale from "
        f"{scales[0]}, passes from {scales[1]}.{outline}"
    )
    drawings: list[list[Drawing]] = []
    for number, step in enumerate(steps):
        spans = [found[number : number + 2] for found in levels]
        drawings.append([*_draw_steps(spans, scales, step, whiskers[number])])
    return {
        "a": [*map(draw_mark, a, scales)],
        "b": [*map(draw_mark, b, scales)],
        "steps": list(zip(steps, drawings, strict=True)),
        "caption": caption,
    }


def _find_scale(levels: Iterable[Fraction], ends: Iterable[Sequence[Fraction]]) -> BarScale:
    """Return a scale with room for all levels and for the ends of all whiskers."""
    return BarScale.from_values(chain(levels, map(limit_share, chain.from_iterable(ends))))


def _draw_steps(
    levels: Sequence[Sequence[Fraction]],
    scales: Sequence[BarScale],
    step: WaterfallStep,
    ends: Sequence[Sequence[Fraction]],
) -> Iterator[Drawing]:
    """Draw the bar of the score, and that of the pass rate."""
    for (start, end), scale, found in zip(levels, scales, ends, strict=True):
        yield draw_step(start, end, scale, is_open=step.is_open, ends=found)


def is_resolved(factor: Factor) -> bool:
    """Whether a factor's share is more than chance.

    It is exact, or more than chance by its table and more than a judge's noise.
    """
    is_shown = factor.conclusion in {None, Conclusion.SIGNIFICANT}
    is_shown |= bool(describe_shown(factor.verdicts, factor.typical))
    return is_shown and factor.noise is None


def _list_steps(audit: Audit) -> Iterator[WaterfallStep]:
    """Yield the steps that lead from A's score to B's.

    They are the factors that changed, then the lines that are not 0.
    """
    for factor in audit.factors:
        if factor.changed or factor.share or factor.passes:
            moved = f"{factor.moved:,} of {audit.common:,}"
            effect = LineEffect(factor.share, factor.passes)
            is_open = not is_resolved(factor)
            # The interval has a separate column.
            claim = describe_certainty(replace(factor, ci=None))
            # What is exact on these questions is not an estimate.
            intervals = (factor.ci, factor.ci_passes) if factor.conclusion else (None, None)
            yield WaterfallStep(factor.label, effect, moved, claim, is_open, intervals)
    lines = audit.lines
    counts = {
        "mix": count_noun(
            sum(map(len, (lines.questions.added, lines.questions.removed))), "question"
        ),
        "no_answer": count_noun(len(lines.silent_a) + len(lines.silent_b), "question"),
        "nothing_to_grade": count_noun(len(lines.emptied), "question"),
        "judge_errors": count_noun(len(lines.errors), "question"),
        "not_reproduced": count_noun(len(audit.drift), "result"),
    }
    for name, effect in lines.told.items():
        claim = (
            f"{format_points(lines.no_answer_as_zero.score)} if they count 0"
            if name == "no_answer"
            else ""
        )
        yield WaterfallStep(lines.labels[name], effect, counts[name], claim)
