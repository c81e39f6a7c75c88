"""Writes an audit as one HTML page that loads nothing and needs no script: the sentence, what moved, who, and where."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import accumulate, chain
from typing import Any

from evalstore.audits import Audit, Cause, Factor, LineEffect, Origin
from evalstore.audits.claims import describe_certainty
from evalstore.audits.conditions import AuditReport
from evalstore.audits.wording import format_points, write_answer
from evalstore.report.blame import describe_origin
from evalstore.report.pages.diff import prepare_edit
from evalstore.report.pages.history import CAPTION, prepare_timeline
from evalstore.report.pages.html import BarScale, Drawing, draw_mark, draw_step, read_style, render_page
from evalstore.report.pages.moved import filter_moved
from evalstore.statistics import Conclusion, Interval
from evalstore.text import count_noun, make_excerpt


@dataclass(frozen=True, slots=True)
class WaterfallStep:
    """One row of the waterfall: a player, several, or a line, and what it adds to score and pass rate."""

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
    steps = sorted(_list_steps(audit), key=lambda step: (-abs(step.effect.score), -abs(step.effect.passes)))
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
            (step, _draw_steps([found[number : number + 2] for found in levels], scales, step, whiskers[number]))
            for number, step in enumerate(steps)
        ],
        "caption": caption,
    }


def _draw_steps(
    levels: Sequence[Sequence[Fraction]], scales: Sequence[BarScale], step: WaterfallStep, ends: Sequence[Fraction]
) -> list[Drawing]:
    """Draw the bar of the score, which alone has an interval, and that of the passes."""
    return [
        draw_step(start, end, scale, is_open=step.is_open, ends=found)
        for (start, end), scale, found in zip(levels, scales, (ends, ()), strict=True)
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
            is_open = not is_resolved(factor)
            claim = describe_certainty(replace(factor, ci=None))  # the interval has a column of its own
            yield WaterfallStep(factor.label, effect, span, moved, claim, is_open, factor.ci)
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
    report: AuditReport,
    *,
    conditions: Sequence[str],
    slices: Sequence[Sequence[str]],
    facts: Sequence[str],
    links: Mapping[str, str] | None = None,
) -> str:
    """Return the page.

    `conditions` are the answers to conditions in words, `slices` the rows of the table of slices with its head first,
    `facts` what else is to be said. `links` lead to the pages of steps between two releases, by `write_step`.
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
        answer=write_answer(audit),
        conditions=conditions,
        waterfall=prepare_waterfall(audit),
        edits=_prepare_edits(audit, edits[:_MOST_EDITS], links or {}),
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
    sources = [cause.source for cause in edits[:_MOST_EDITS]]
    moved = filter_moved(audit, sources, max(_BUDGET - rest, _LEAST_BUDGET))
    return render(moved=moved, rules=moved.rules if moved else "")


def _list_moving_edits(audit: Audit) -> list[Cause]:
    """Return the edits that moved a score or a verdict, those that moved most first."""
    causes = (
        cause for factor in audit.factors for cause in factor.causes if cause.share or cause.passes or cause.moved
    )
    return sorted(causes, key=lambda cause: -abs(cause.share))


def _prepare_edits(audit: Audit, edits: Sequence[Cause], links: Mapping[str, str]) -> list[dict[str, Any]]:
    resolved = {cause.source for factor in audit.factors if is_resolved(factor) for cause in factor.causes}
    return [
        {
            "cause": cause,
            "is_open": cause.source not in resolved,
            "step": _describe_step(cause.source.origin),
            "people": describe_origin(cause.source.origin),
            "diff": {**prepare_edit(cause.source, links), "key": f"d{number}"},
        }
        for number, cause in enumerate(edits)
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
