"""Writes the history of an artifact as a page: the same outputs under each of its releases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from evalstore.audits.score_history import ScoredRun, ScoreHistory
from evalstore.audits.side_replay import RunTotals
from evalstore.diff import DiffFinding
from evalstore.model.outcome import Coverage
from evalstore.report.diff_words import sort_by_level, write_step
from evalstore.report.pages.bars import draw_bar
from evalstore.report.pages.diff import prepare_finding
from evalstore.report.pages.html import render_page
from evalstore.report.pages.run_chart import ChartRun, draw_runs, read_releases
from evalstore.report.text_layout import DAY, format_percent, join_names
from evalstore.store.listing import ReleaseSummary
from evalstore.text import count_noun, make_excerpt

CAPTION = (
    "The same outputs under each release, all else as in the run, in points of a hundred. Below "
    "a bar: the step from the release before, and the share that passes."
)
_ABREAST = 3  # runs in one table
_NAME = 24
_FEW = 3
_EDITS = 20  # of a release


def prepare_timeline(
    history: ScoreHistory, names: Sequence[str], *, names_edits: bool = False
) -> dict[str, Any]:
    """Return the rows of all releases, oldest first.

    `names` are the headings of the runs' columns. With `names_edits`, a row says what its release
    changed, with links to the diff below.
    """
    runs = list(zip(history.runs, names, strict=True))

    def prepare(place: int, release: ReleaseSummary) -> dict[str, Any]:
        edits = [one.message for one in _list_edits(history, place)] if names_edits else []
        version = str(release.version)
        return {
            "key": f"d{place}",
            "version": release.version,
            "day": release.date[:DAY],
            "author": release.author,
            "edits": edits,
            "cells": [_prepare_cell(run, place, name, version) for run, name in runs],
        }

    rows = [prepare(place, release) for place, release in enumerate(history.releases)]
    edits = ("what changed",) if names_edits else ()
    cells = (word for name in names for word in (name, ""))
    head = ("release", "released", "released by", *edits, *cells)
    return {"head": head, "names": names, "rows": rows, "names_edits": names_edits}


def _list_edits(history: ScoreHistory, place: int) -> list[DiffFinding]:
    return sort_by_level(history.findings[place])[:_EDITS]


def _prepare_step(history: ScoreHistory, place: int) -> dict[str, Any]:
    """Return what one release changed.

    It has each edit with its values, and the command that shows them all.
    """
    old, new = history.releases[place - 1], history.releases[place]
    return {
        "key": f"d{place}",
        "version": new.version,
        "people": f"{new.author}, {new.date[:DAY]}",
        "edits": [
            prepare_finding(one, history.files, new.commit) for one in _list_edits(history, place)
        ],
        "more": max(0, len(history.findings[place]) - _EDITS),
        "command": write_step(history.name, old.version, new.version),
    }


def _prepare_cell(run: ScoredRun, place: int, name: str, version: str) -> dict[str, Any]:
    totals = run.cells[place]
    is_recorded = version == run.recorded
    before = run.cells[place - 1].score if place else None
    return {
        "name": name,
        "score": totals.score,
        "pass_rate": totals.pass_rate,
        "bar": None if totals.score is None else draw_bar(totals.score, is_strong=is_recorded),
        "step": None if totals.score is None or before is None else totals.score - before,
        "is_recorded": is_recorded,
        "coverage": _describe_coverage(totals.coverage),
        "gap": _describe_gap(totals),
    }


def _describe_coverage(coverage: Coverage) -> str:
    """Return how many gradings were made, if some were not; empty if all were."""
    return str(coverage) if coverage.graded < coverage.asked else ""


def _describe_gap(totals: RunTotals) -> str:
    count = count_noun(totals.missing, "output")
    return f"{count} cannot be graded under it" if totals.missing else "nothing has a score"


def write_page(history: ScoreHistory, notes: Sequence[str]) -> str:
    """Return the page; `notes` are what else a reader should know."""
    models = [run.model for run in history.runs]
    names = [_name_run(run, is_alone=models.count(run.model) == 1) for run in history.runs]
    timelines: list[dict[str, Any]] = []
    for start in range(0, len(history.runs), _ABREAST):
        abreast = slice(start, start + _ABREAST)
        part = replace(history, runs=history.runs[abreast])
        timelines.append(prepare_timeline(part, names[abreast], names_edits=not start))
    steps = [place for place, found in enumerate(history.findings) if place and found]
    return render_page(
        "history",
        title=f"History: {history.name}",
        history=history,
        sentence=_write_sentence(history),
        timelines=timelines,
        steps=[_prepare_step(history, place) for place in steps],
        runs=_draw_runs(history),
        caption=CAPTION,
        notes=notes,
    )


def _draw_runs(history: ScoreHistory) -> dict[str, Any] | None:
    """Return the picture of the recorded scores over time.

    It has a line for each model, and the releases.
    """
    releases = read_releases((one.date, str(one.version), one.author) for one in history.releases)
    return draw_runs(_list_chart_runs(history), releases)


def _list_chart_runs(history: ScoreHistory) -> Iterator[ChartRun]:
    for run in history.runs:
        score = run.recorded_totals.score
        if run.time and score is not None and not run.ungraded:
            name = f"{run.model} ({run.run.rpartition('/')[2]})"
            yield ChartRun(run.time, run.model, score, name)


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


def _name_run(run: ScoredRun, *, is_alone: bool) -> str:
    file = run.run.rpartition("/")[2]
    mark = " (unreleased)" if run.unreleased else ""
    return make_excerpt(run.model if is_alone else f"{run.model} ({file})", _NAME) + mark
