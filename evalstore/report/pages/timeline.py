"""Prepares timelines: a row for each release of an artifact, and the score of the same outputs under it as a bar."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evalstore.audits.score_history import ScoredRun, ScoreHistory
from evalstore.audits.side_replay import RunTotals
from evalstore.report.pages.bars import draw_bar
from evalstore.report.text_layout import count_noun

CAPTION = (
    "The same outputs under each release, all else as in the run, in points of a hundred. Below a bar: the step from "
    "the release before, and the share that passes."
)
_DAY = 10  # characters of an ISO date


def prepare_timeline(history: ScoreHistory, names: Sequence[str]) -> dict[str, Any]:
    """Return the rows of all releases, the oldest first; `names` are the heads of the runs' columns."""
    rows = [
        {
            "version": release.version,
            "day": release.date[:_DAY],
            "author": release.author,
            "cells": [
                _prepare_cell(run, place, name, str(release.version))
                for run, name in zip(history.runs, names, strict=True)
            ],
        }
        for place, release in enumerate(history.releases)
    ]
    head = ("release", "released", "released by", *(word for name in names for word in (name, "")))
    return {"head": head, "names": names, "rows": rows}


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
        "gap": _describe_gap(totals),
    }


def _describe_gap(totals: RunTotals) -> str:
    count = count_noun(totals.missing, "output")
    return f"{count} cannot be graded under it" if totals.missing else "nothing has a score"
