"""Prepares the waterfall of an audit: what moved score and passes, in numbers and in bars."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any

from evalstore.audits import Audit, Factor, LineEffect
from evalstore.audits.values import LINE_LABELS
from evalstore.audits.wording import format_points
from evalstore.report.pages.bars import BarScale, Drawing, draw_mark, draw_step
from evalstore.report.text_layout import count_noun
from evalstore.statistics import Conclusion


@dataclass(frozen=True, slots=True)
class WaterfallStep:
    """One row of the waterfall: a player, several, or a line, and what it adds to score and pass rate."""

    label: str
    effect: LineEffect
    span: str = ""
    moved: str = ""
    claim: str = ""
    is_open: bool = False


def prepare_waterfall(audit: Audit) -> dict[str, Any]:
    """Return the steps with a bar for score and passes, the marks of both runs, and a caption with the scales."""
    steps = [*_list_steps(audit)]
    effects = [step.effect for step in steps]
    a, b = (audit.a.score, audit.a.passes), (audit.b.score, audit.b.passes)
    levels = (
        [*accumulate((effect.score for effect in effects), initial=audit.a.score)],
        [*accumulate((effect.passes for effect in effects), initial=audit.a.passes)],
    )
    scales = [*map(BarScale.from_values, levels)]
    has_open = any(step.is_open and step.effect != LineEffect() for step in steps)
    outline = " An outline: this data does not resolve whether it would be there again." if has_open else ""
    caption = (
        f"In points of a hundred; a bar shows what a row adds, score on a scale from {scales[0]}, passes from "
        f"{scales[1]}.{outline}"
    )
    return {
        "a": [*map(draw_mark, a, scales)],
        "b": [*map(draw_mark, b, scales)],
        "steps": [(step, _draw_steps(levels, number, scales, step)) for number, step in enumerate(steps)],
        "caption": caption,
    }


def _draw_steps(
    levels: Sequence[Sequence[Fraction]], number: int, scales: Sequence[BarScale], step: WaterfallStep
) -> list[Drawing]:
    return [
        draw_step(found[number], found[number + 1], scale, is_open=step.is_open)
        for found, scale in zip(levels, scales, strict=True)
    ]


def is_resolved(factor: Factor) -> bool:
    """Whether a factor's share is one that its table calls exact or significant."""
    return factor.conclusion in {None, Conclusion.SIGNIFICANT}


def _list_steps(audit: Audit) -> Iterator[WaterfallStep]:
    """Yield the steps that lead from A's score to B's: factors that changed, then lines that are not 0."""
    for factor in audit.factors:
        if factor.changed or factor.share or factor.passes:
            span = f"{format_points(factor.ci[0])} to {format_points(factor.ci[1])}" if factor.ci else ""
            moved = f"{factor.moved:,} of {audit.common:,}"
            effect = LineEffect(factor.share, factor.passes)
            yield WaterfallStep(factor.label, effect, span, moved, factor.claim, not is_resolved(factor))
    lines = audit.lines
    counts = {
        "mix": count_noun(sum(map(len, (lines.questions.added, lines.questions.removed))), "question"),
        "no_answer": count_noun(len(lines.silent_a) + len(lines.silent_b), "question"),
        "judge_errors": count_noun(len(lines.errors), "question"),
        "not_reproduced": count_noun(len(audit.drift), "result"),
    }
    for name, effect in lines.told.items():
        claim = f"{format_points(lines.no_answer_as_zero.score)} if they count 0" if name == "no_answer" else ""
        yield WaterfallStep(LINE_LABELS[name], effect, "", counts[name], claim)
