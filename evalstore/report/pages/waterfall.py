"""Draws the parts of a moved score as steps from the old score to the new one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate, chain
from typing import Any

from evalstore.audits import Audit, Factor, LineEffect
from evalstore.audits.claims import describe_certainty
from evalstore.audits.wording import describe_shown, format_points
from evalstore.report.pages.bars import BarScale, Drawing, draw_mark, draw_step
from evalstore.statistics import Conclusion, Interval
from evalstore.text import count_noun


@dataclass(frozen=True, slots=True)
class WaterfallStep:
    """One row of the waterfall: a factor, several, or a line, and what it adds to score and pass rate."""

    label: str
    effect: LineEffect
    span: str = ""
    moved: str = ""
    claim: str = ""
    is_open: bool = False
    interval: Interval | None = None

    def find_ends(self, level: Fraction) -> tuple[Fraction, ...]:
        """Return where the interval of its share ends, from a level on; no score is beyond 0 and 1."""
        ends = (level + Fraction(end) for end in self.interval or ())
        return tuple(min(max(end, Fraction(0)), Fraction(1)) for end in ends)


def prepare_waterfall(audit: Audit) -> dict[str, Any]:
    """Return the steps with a bar for score and passes, the marks of both runs, and a caption with the scales."""
    steps = sorted(
        _list_steps(audit), key=lambda step: (-abs(step.effect.score), -abs(step.effect.passes))
    )
    effects = [step.effect for step in steps]
    a, b = (audit.a.score, audit.a.passes), (audit.b.score, audit.b.passes)
    levels = (
        [*accumulate((effect.score for effect in effects), initial=audit.a.score)],
        [*accumulate((effect.passes for effect in effects), initial=audit.a.passes)],
    )
    whiskers = [step.find_ends(level) for step, level in zip(steps, levels[0], strict=False)]
    scales = [BarScale.from_values(chain(levels[0], *whiskers)), BarScale.from_values(levels[1])]
    has_open = any(step.is_open and step.effect != LineEffect() for step in steps)
    outline = " An outline: this could be chance." if has_open else ""
    outline += " A whisker: the 95 % interval." if any(whiskers) else ""
    caption = (
        f"In points of a hundred; a bar shows what a row adds, score on a scale from {scales[0]}, passes from "
        f"{scales[1]}.{outline}"
    )
    return {
        "a": [*map(draw_mark, a, scales)],
        "b": [*map(draw_mark, b, scales)],
        "steps": [
            (
                step,
                _draw_steps(
                    [found[number : number + 2] for found in levels], scales, step, whiskers[number]
                ),
            )
            for number, step in enumerate(steps)
        ],
        "caption": caption,
    }


def _draw_steps(
    levels: Sequence[Sequence[Fraction]],
    scales: Sequence[BarScale],
    step: WaterfallStep,
    ends: Sequence[Fraction],
) -> list[Drawing]:
    """Draw the bar of the score, which alone has an interval, and that of the passes."""
    return [
        draw_step(start, end, scale, is_open=step.is_open, ends=found)
        for (start, end), scale, found in zip(levels, scales, (ends, ()), strict=True)
    ]


def is_resolved(factor: Factor) -> bool:
    """Whether a factor's share is one that its table calls exact or more than chance, and no noise of a judge."""
    is_shown = factor.conclusion in {None, Conclusion.SIGNIFICANT}
    is_shown |= bool(describe_shown(factor.verdicts, factor.typical))
    return is_shown and factor.noise is None


def _list_steps(audit: Audit) -> Iterator[WaterfallStep]:
    """Yield the steps that lead from A's score to B's: factors that changed, then lines that are not 0."""
    for factor in audit.factors:
        if factor.changed or factor.share or factor.passes:
            span = (
                f"{format_points(factor.ci[0])} to {format_points(factor.ci[1])}"
                if factor.ci
                else ""
            )
            moved = f"{factor.moved:,} of {audit.common:,}"
            effect = LineEffect(factor.share, factor.passes)
            is_open = not is_resolved(factor)
            claim = describe_certainty(
                replace(factor, ci=None)
            )  # the interval has a column of its own
            yield WaterfallStep(factor.label, effect, span, moved, claim, is_open, factor.ci)
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
        yield WaterfallStep(lines.labels[name], effect, "", counts[name], claim)
