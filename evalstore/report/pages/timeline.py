"""Writes a timeline: a row for each release of an artifact, and the score of the same outputs under it as a bar."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from evalstore.audits.rulers import RunTotals
from evalstore.audits.score_history import ScoredRun, ScoreHistory
from evalstore.audits.wording import format_points
from evalstore.report.pages.bars import draw_bar
from evalstore.report.pages.html import Markup, make_element
from evalstore.report.pages.tables import format_cell, format_row, format_table
from evalstore.report.text_layout import count_noun, format_percent

CAPTION = (
    "The same outputs under each release, all else as in the run, in points of a hundred. Below a bar: the step from "
    "the release before, and the share that passes."
)
_DAY = 10  # characters of an ISO date


def format_timeline(history: ScoreHistory, names: Sequence[str], caption: str) -> Markup:
    """Return the table of all releases, the oldest first; `names` are the heads of the runs' columns."""
    rows = [
        format_row(
            make_element("th", str(release.version), scope="row"),
            format_cell("released", release.date[:_DAY], class_="day"),
            format_cell("released by", release.author),
            *(
                cell
                for run, name in zip(history.runs, names, strict=True)
                for cell in _format_cells(run, place, name, str(release.version))
            ),
        )
        for place, release in enumerate(history.releases)
    ]
    head = ("release", "released", "released by", *(word for name in names for word in (name, "")))
    return format_table(head, rows, caption, numbers=names)


def _format_cells(run: ScoredRun, place: int, name: str, version: str) -> Iterator[Markup]:
    totals = run.cells[place]
    yield format_cell(name, format_percent(totals.score), is_number=True)
    if totals.score is None:
        yield format_cell("", *_describe_gap(totals), class_="bar")
        return
    is_recorded = version == run.recorded
    before = run.cells[place - 1].score if place else None
    below = [
        *_describe_step(before, totals.score),
        make_element("span", f"{format_percent(totals.pass_rate)} pass"),
        *([make_element("span", "the run\u2019s own")] if is_recorded else []),
    ]
    line = make_element("span", Markup(" \u00b7 ".join(below)), class_="below")
    yield format_cell("", draw_bar(totals.score, is_strong=is_recorded), line, class_="bar")


def _describe_step(before: Fraction | None, score: Fraction) -> Iterator[Markup]:
    if before is not None and before != score:
        yield make_element("span", format_points(score - before), class_="up" if score > before else "down")


def _describe_gap(totals: RunTotals) -> Iterator[Markup]:
    count = count_noun(totals.missing, "output")
    words = f"{count} cannot be graded under it" if totals.missing else "nothing has a score"
    yield make_element("span", words, class_="below")
