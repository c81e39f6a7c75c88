"""Writes the waterfall of an audit for its page: what moved score and passes, in numbers and in bars."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from evalstore.audits import Audit, LineEffect
from evalstore.audits.wording import format_points
from evalstore.report.html_page import Markup, make_element
from evalstore.report.text_layout import count_noun, format_percent

_WIDTH, _HEIGHT = 200, 16  # of a bar's view box
_HEAD = ("", "score", "", "passes", "", "95 % interval", "moved", "")
_LINES = (
    ("question mix", "mix"),
    ("no answer", "no_answer"),
    ("judge errors", "judge_errors"),
    ("not reproduced", "not_reproduced"),
)


@dataclass(frozen=True, slots=True)
class WaterfallStep:
    """One row of the waterfall: a player, several, or a line, and what it adds to score and pass rate."""

    label: str
    effect: LineEffect
    span: str = ""
    moved: str = ""
    claim: str = ""


def list_steps(audit: Audit) -> Iterator[WaterfallStep]:
    """Yield the steps that lead from A's score to B's: factors that changed, then lines that are not 0."""
    for factor in audit.factors:
        if factor.changed or factor.share or factor.passes:
            span = f"{format_points(factor.ci[0])} to {format_points(factor.ci[1])}" if factor.ci else ""
            moved = f"{factor.moved:,} of {audit.common:,}"
            yield WaterfallStep(factor.label, LineEffect(factor.share, factor.passes), span, moved, factor.claim)
    lines = audit.lines
    counts = {
        "mix": count_noun(sum(map(len, (lines.questions.added, lines.questions.removed))), "question"),
        "no_answer": count_noun(len(lines.silent_a) + len(lines.silent_b), "question"),
        "judge_errors": count_noun(len(lines.errors), "question"),
        "not_reproduced": count_noun(len(audit.drift), "result"),
    }
    for label, name in _LINES:
        effect = getattr(lines, name)
        if effect != LineEffect():
            claim = f"{format_points(lines.no_answer_as_zero.score)} if they count 0" if name == "no_answer" else ""
            yield WaterfallStep(label, effect, "", counts[name], claim)


def format_waterfall(audit: Audit) -> Markup:
    """Return the waterfall as a table with a bar for score and passes in each row."""
    steps = [*list_steps(audit)]
    scores = _list_levels(audit.a.score, [step.effect.score for step in steps])
    passes = _list_levels(audit.a.passes, [step.effect.passes for step in steps])
    rows = [_format_total("A", audit.a.score, audit.a.passes, scores, passes, audit.a.model)]
    for number, step in enumerate(steps):
        cells = (
            make_element("th", step.label, scope="row"),
            format_share(step.effect.score, "score"),
            _format_bar(scores, number),
            format_share(step.effect.passes, "passes"),
            _format_bar(passes, number),
            make_element("td", step.span, class_="n", data_name="95 % interval"),
            make_element("td", step.moved, class_="n", data_name="moved"),
            make_element("td", step.claim, class_="words"),
        )
        rows.append(make_element("tr", *cells))
    rows.append(_format_total("B", audit.b.score, audit.b.passes, scores, passes, audit.b.model))
    head = make_element(
        "thead", make_element("tr", *(make_element("th", word, scope="col" if word else "") for word in _HEAD))
    )
    ends = [f"{name} from {_span(levels)}" for name, levels in (("score", scores), ("passes", passes))]
    caption = f"In points of a hundred; a bar shows what a row adds. The bars' scales: {', '.join(ends)}."
    return make_element("table", make_element("caption", caption), head, *rows, class_="stack")


def format_share(share: Fraction, name: str) -> Markup:
    """Return a table cell with points and their sign."""
    side = "up" if share > 0 else "down" if share < 0 else ""
    return make_element("td", format_points(share), class_=f"n {side}".strip(), data_name=name)


def _list_levels(start: Fraction, shares: Sequence[Fraction]) -> list[Fraction]:
    levels = [start]
    for share in shares:
        levels.append(levels[-1] + share)
    return levels


def _span(levels: Sequence[Fraction]) -> str:
    return f"{format_percent(min(levels))} to {format_percent(max(levels))}"


def _place(level: Fraction, levels: Sequence[Fraction]) -> float:
    """Return where a level is on the bars, with room for a mark at both ends; all levels alike are in the middle."""
    low, high = min(levels), max(levels)
    part = Fraction(1, 2) if low == high else (level - low) / (high - low)
    return float(4 + part * (_WIDTH - 8))


def _format_bar(levels: Sequence[Fraction], number: int) -> Markup:
    before, after = _place(levels[number], levels), _place(levels[number + 1], levels)
    share = levels[number + 1] - levels[number]
    shape = make_element(
        "rect",
        x=f"{min(before, after):.2f}",
        y="3",
        width=f"{max(abs(after - before), 1):.2f}",
        height="10",
        class_="fall-up" if share > 0 else "fall-down" if share < 0 else "level",
    )
    return _frame_bar(f"from {format_percent(levels[number])} to {format_percent(levels[number + 1])}", before, shape)


def _format_total(  # noqa: PLR0913, PLR0917  # one row
    name: str, score: Fraction, passes: Fraction, scores: list[Fraction], rates: list[Fraction], model: str
) -> Markup:
    cells = [make_element("th", name, scope="row")]
    for word, value, levels in (("score", score, scores), ("passes", passes, rates)):
        cells.append(make_element("td", format_percent(value), class_="n", data_name=word))
        place = _place(value, levels)
        mark = make_element("rect", x=f"{place - 2:.2f}", y="1", width="4", height="14", class_="total")
        cells.append(_frame_bar(format_percent(value), place, mark))
    return make_element("tr", *cells, make_element("td", model, colspan="3", data_name="model"))


def _frame_bar(label: str, place: float, shape: Markup) -> Markup:
    at = f"{place:.2f}"
    level = make_element("line", x1=at, x2=at, y1="0", y2=str(_HEIGHT), class_="level")
    view = f"0 0 {_WIDTH} {_HEIGHT}"
    svg = Markup(
        f'<svg viewBox="{view}" preserveAspectRatio="none" role="img" aria-label="{label}">{level}{shape}</svg>'
    )
    return make_element("td", svg, class_="bar")
