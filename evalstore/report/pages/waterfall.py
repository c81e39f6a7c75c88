"""Writes the waterfall of an audit for its page: what moved score and passes, in numbers and in bars."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from evalstore.audits import Audit, Factor, LineEffect
from evalstore.audits.values import LINE_LABELS
from evalstore.audits.wording import format_points
from evalstore.report.pages.bars import BarScale, draw_mark, draw_step
from evalstore.report.pages.html import Markup, make_element
from evalstore.report.pages.tables import format_cell, format_head, format_number, format_row, format_table
from evalstore.report.text_layout import count_noun
from evalstore.statistics import Conclusion

_HEAD = ("", "score", "", "passes", "", "95 % interval", "moved", "what it tells")
_NUMBERS = ("score", "passes", "95 % interval", "moved")


@dataclass(frozen=True, slots=True)
class WaterfallStep:
    """One row of the waterfall: a player, several, or a line, and what it adds to score and pass rate."""

    label: str
    effect: LineEffect
    span: str = ""
    moved: str = ""
    claim: str = ""
    is_open: bool = False


def format_waterfall(audit: Audit) -> Markup:
    """Return the waterfall as a table with a bar for score and passes in each row."""
    steps = [*_list_steps(audit)]
    scores = _list_levels(audit.a.score, [step.effect.score for step in steps])
    passes = _list_levels(audit.a.passes, [step.effect.passes for step in steps])
    scales = BarScale.from_values(scores), BarScale.from_values(passes)
    rows = [_format_total("A", audit.a.score, audit.a.passes, scales, audit.a.model)]
    for number, step in enumerate(steps):
        score, rate = (
            draw_step(levels[number], levels[number + 1], scale, is_open=step.is_open)
            for levels, scale in zip((scores, passes), scales, strict=True)
        )
        cells = (
            format_head(step.label),
            format_share("score", step.effect.score, is_open=step.is_open),
            format_cell("", score, class_="bar"),
            format_share("passes", step.effect.passes, is_open=step.is_open),
            format_cell("", rate, class_="bar"),
            format_cell("95 % interval", step.span, is_number=True),
            format_cell("moved", step.moved, is_number=True),
            format_cell("", step.claim, class_="words"),
        )
        rows.append(format_row(*cells))
    rows.append(_format_total("B", audit.b.score, audit.b.passes, scales, audit.b.model))
    outline = " An outline: this data does not resolve whether it would be there again." if _has_open(steps) else ""
    caption = (
        f"In points of a hundred; a bar shows what a row adds, score on a scale from {scales[0]}, passes from "
        f"{scales[1]}.{outline}"
    )
    return format_table(_HEAD, rows, caption, numbers=_NUMBERS)


def format_share(name: str, share: Fraction, *, is_open: bool = False) -> Markup:
    """Return a cell with points and their sign, coloured unless it is open whether they would be there again."""
    side = "" if is_open or not share else "up" if share > 0 else "down"
    return format_cell(name, format_points(share), is_number=True, class_=side)


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


def _has_open(steps: Sequence[WaterfallStep]) -> bool:
    return any(step.is_open and step.effect != LineEffect() for step in steps)


def _list_levels(start: Fraction, shares: Sequence[Fraction]) -> list[Fraction]:
    levels = [start]
    for share in shares:
        levels.append(levels[-1] + share)
    return levels


def _format_total(
    name: str, score: Fraction, passes: Fraction, scales: tuple[BarScale, BarScale], model: str
) -> Markup:
    return format_row(
        format_head(name),
        format_number("score", score),
        format_cell("", draw_mark(score, scales[0]), class_="bar"),
        format_number("passes", passes),
        format_cell("", draw_mark(passes, scales[1]), class_="bar"),
        make_element("td", model, colspan="3", data_name="model"),
    )
