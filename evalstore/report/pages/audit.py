"""Writes an audit as one HTML page that loads nothing and needs no script: the sentence, what moved, who, and where."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import accumulate
from typing import Any

from evalstore.audits import Audit, Cause, Factor, LineEffect, Origin
from evalstore.audits.conditions import AuditReport
from evalstore.audits.wording import format_points
from evalstore.report.blame import describe_origin
from evalstore.report.pages.history import CAPTION, prepare_timeline
from evalstore.report.pages.html import BarScale, Drawing, draw_mark, draw_step, read_style, render_page
from evalstore.report.pages.moved import MovedList, filter_moved
from evalstore.report.text_layout import count_noun
from evalstore.statistics import Conclusion
from evalstore.text import make_excerpt


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
    outline = " An outline: this could be chance." if has_open else ""
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
        yield WaterfallStep(lines.labels[name], effect, "", counts[name], claim)


_MOST_EDITS = 100
# Bytes for all that has a length, outputs and what was asked left aside: a page stays below 300 kB beside them.
_BUDGET, _LEAST_BUDGET = 250_000, 50_000
_NAME = 24


def write_page(
    report: AuditReport, *, conditions: Sequence[str], slices: Sequence[Sequence[str]], facts: Sequence[str]
) -> str:
    """Return the page.

    `conditions` are the answers to conditions in words, `slices` the rows of the table of slices with its head first,
    `facts` what else is to be said.
    """
    audit = report.audit
    edits = _list_moving_edits(audit)
    timelines = report.timelines
    names = [make_excerpt(f"{side} {run.model}", _NAME) for side, run in (("A", audit.a), ("B", audit.b))]
    render = partial(
        render_page,
        "audit",
        title=f"Audit: {audit.a.model} to {audit.b.model}",
        audit=audit,
        conditions=conditions,
        waterfall=prepare_waterfall(audit),
        edits=_prepare_edits(audit, edits[:_MOST_EDITS]),
        edit_notes=[*_note_edits(audit, edits)],
        timelines=[(one.name, prepare_timeline(one, names)) for one in timelines.histories] if timelines else [],
        timeline_notes=timelines.notes if timelines else [],
        caption=CAPTION,
        slice_head=slices[0],
        slices=slices[1:],
        lines=[*_list_lines(audit)],
        facts=facts,
    )
    rest = len(render(moved=None).encode()) - len(read_style("style"))
    sources = tuple(cause.source for cause in edits[:_MOST_EDITS])
    moved = filter_moved(MovedList(audit.moved, audit.moved_count, sources), max(_BUDGET - rest, _LEAST_BUDGET))
    return render(moved=moved, rules=moved.rules if moved else "")


def _list_moving_edits(audit: Audit) -> list[Cause]:
    """Return the edits that moved a score or a verdict, those that moved most first."""
    causes = (
        cause for factor in audit.factors for cause in factor.causes if cause.share or cause.passes or cause.moved
    )
    return sorted(causes, key=lambda cause: -abs(cause.share))


def _prepare_edits(audit: Audit, edits: Sequence[Cause]) -> list[dict[str, Any]]:
    resolved = {cause.source for factor in audit.factors if is_resolved(factor) for cause in factor.causes}
    return [
        {
            "cause": cause,
            "is_open": cause.source not in resolved,
            "step": _describe_step(cause.source.origin),
            "people": describe_origin(cause.source.origin),
        }
        for cause in edits
    ]


def _note_edits(audit: Audit, edits: Sequence[Cause]) -> Iterator[str]:
    silent = sum(len(factor.causes) for factor in audit.factors) - len(edits)
    if len(edits) > _MOST_EDITS:
        yield f"{count_noun(len(edits) - _MOST_EDITS, 'more edit')} moved less."
    if silent:
        yield f"{count_noun(silent, 'other edit' if edits else 'edit')} moved nothing."


def _describe_step(origin: Origin) -> str:
    return f"{origin.ref + ' ' if origin.ref else ''}{origin.old} \u2192 {origin.new}"


def _list_lines(audit: Audit) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield the questions behind the lines, which no player moved, and what was not reproduced."""
    lines = audit.lines
    lists = (
        ("added to the dataset", lines.questions.added),
        ("removed from the dataset", lines.questions.removed),
        ("with nothing to grade in one run", lines.questions.ungraded),
        ("without an answer in A", lines.silent_a),
        ("without an answer in B", lines.silent_b),
        ("that one run could not grade", lines.errors),
    )
    yield from ((f"Questions {title}", ids) for title, ids in lists if ids)
    if lines.failed_checks:
        yield (
            "Checks that failed",
            [
                f"{failed.check} failed in {failed.run} on {count_noun(failed.questions, 'question')}: {failed.error}"
                for failed in lines.failed_checks
            ],
        )
    if audit.drift:
        lost = [f"{drift.run} {drift.id}: {drift.what}" for drift in audit.drift]
        yield "Recorded results that were not reproduced", lost
