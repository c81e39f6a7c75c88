"""Writes the history of an artifact as a page: the same outputs under each of its releases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from evalstore.audits.score_history import ScoredRun, ScoreHistory
from evalstore.report.pages.html import Markup, join_markup, make_element, make_page
from evalstore.report.pages.tables import format_cell, format_head, format_items, format_row, format_table
from evalstore.report.pages.timeline import CAPTION, format_timeline
from evalstore.report.text_layout import count_noun, format_percent, join_names
from evalstore.text import make_excerpt

_ABREAST = 3  # runs in one table
_NAME = 24
_FEW = 3


def write_page(history: ScoreHistory, notes: Sequence[str]) -> str:
    """Return the page; `notes` are what else a reader should know."""
    parts = [_format_part(history, start) for start in range(0, len(history.runs), _ABREAST)]
    return make_page(
        f"History: {history.name}",
        make_element("h1", f"{history.name}, release by release"),
        make_element("p", _write_sentence(history), class_="answer"),
        _format_runs(history),
        make_element("h2", "Releases"),
        *parts,
        join_markup(make_element("h2", "What else to know"), format_items(notes)) if notes else Markup(),
    )


def _write_sentence(history: ScoreHistory) -> str:
    releases = count_noun(len(history.releases), "release")
    if len(history.runs) > _FEW:
        return f"The outputs of {len(history.runs):,} runs under {releases}."
    ranges = join_names(f"{run.model} {_describe_range(run)}" for run in history.runs)
    return f"Under {releases} the same outputs get: {ranges}."


def _describe_range(run: ScoredRun) -> str:
    scores = [cell.score for cell in run.cells if cell.score is not None]
    if not scores:
        return "no score"
    low, high = (format_percent(end) for end in (min(scores), max(scores)))
    some = "" if len(scores) == len(run.cells) else f" under {len(scores):,} of them"
    return f"{low}{some}" if low == high else f"{low} to {high}{some}"


def _format_runs(history: ScoreHistory) -> Markup:
    rows = [
        format_row(
            format_head(run.model),
            format_cell("run", make_element("code", run.run)),
            format_cell("graded with", run.recorded or "no release of it"),
            format_cell("score then", format_percent(run.recorded_totals.score), is_number=True),
            format_cell("passes", format_percent(run.recorded_totals.pass_rate), is_number=True),
        )
        for run in history.runs
    ]
    return format_table(("model", "run", "graded with", "score then", "passes"), rows, numbers=("score then", "passes"))


def _format_part(history: ScoreHistory, start: int) -> Markup:
    part = replace(history, runs=history.runs[start : start + _ABREAST])
    models = [run.model for run in history.runs]
    names = [_name_run(run, is_alone=models.count(run.model) == 1) for run in part.runs]
    return format_timeline(part, names, CAPTION if not start else "")


def _name_run(run: ScoredRun, *, is_alone: bool) -> str:
    file = run.run.rpartition("/")[2]
    return make_excerpt(run.model if is_alone else f"{run.model} ({file})", _NAME)
