"""Writes an audit that graded nothing as a page: the ends between which each share is proved to be."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import chain
from typing import TYPE_CHECKING

from evalstore.report.pages.html import BarScale, draw_range, render_page
from evalstore.report.static_words import list_facts, list_rows, write_answer, write_sentence

if TYPE_CHECKING:
    from evalstore.audits.shapley import ShareBounds
    from evalstore.audits.static_audit import StaticAudit


def write_page(audit: StaticAudit, conditions: Sequence[str]) -> str:
    """Return the page; `conditions` are the answers to conditions in words."""
    known = {factor.player.label: (factor.score, factor.passes) for factor in audit.factors}
    scales = [_find_scale([ends[channel] for ends in known.values()]) for channel in (0, 1)]
    bars = {
        name: [draw_range(*bounds, scale) for bounds, scale in zip(ends, scales, strict=True)]
        for name, ends in known.items()
    }
    return render_page(
        "static",
        title=f"Audit of records: {audit.a.model} to {audit.b.model}",
        audit=audit,
        sentence=write_sentence(audit),
        answer=write_answer(audit),
        conditions=conditions,
        rows=[(row, bars.get(row[0])) for row in list_rows(audit)],
        facts=[*list_facts(audit)],
    )


def _find_scale(bounds: Sequence[ShareBounds]) -> BarScale:
    return BarScale.from_values([Fraction(0), *chain.from_iterable(bounds)])
