"""Renders the scores of runs under every release of an artifact, and where a score changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from evalstore.report.diff_words import sort_by_level, write_step
from evalstore.report.formats.markdown import escape_prose, format_code, format_table
from evalstore.report.json_values import select_json_keys, write_json_value
from evalstore.report.text_layout import (
    DAY,
    PAPER,
    Screen,
    format_columns,
    format_percent,
    join_blocks,
    join_names,
)
from evalstore.text import count_noun, make_excerpt, make_printable

if TYPE_CHECKING:
    from fractions import Fraction

    from evalstore.audits.score_history import ScoredRun, ScoreHistory
    from evalstore.audits.side_replay import RunTotals
    from evalstore.diff import DiffFinding


_NAMED = 3  # checks named in a sentence
_EDITS = 5  # of a release
_MARGIN = " " * 2


_GAP = 2
# The most of a screen's width, as a share, that names may take, and the least in characters.
_SHARE, _NAME, _LONG_NAME = 2, 32, 200
_MARK = "*"  # after the cell that the run recorded
_pick_score, _pick_pass_rate = attrgetter("score"), attrgetter("pass_rate")


def text(history: ScoreHistory, screen: Screen = PAPER) -> str:
    """Return a table of scores and one of pass rates.

    Runs are rows, and releases are columns.
    """
    blocks = [
        *_format_tables("score, points of 100", history, _pick_score, screen.width),
        *_format_tables("passes, of 100", history, _pick_pass_rate, screen.width),
    ]
    notes = screen.wrap(*_list_marks(history), *list_notes(history))
    steps = [line for step in _list_steps(history) for line in _format_step(step, screen)]
    parts = [history.name, *blocks, "\n".join(steps), "\n".join(notes)]
    return "\n\n".join(part for part in parts if part)


def markdown(history: ScoreHistory) -> str:
    """Return both tables for a pull request."""
    parts = [f"### evalstore history\n\n{format_code(history.name)}"]
    for title, pick in (("score", _pick_score), ("passes", _pick_pass_rate)):
        rows = [(_name_run(run), *_list_cells(run, history.versions, pick)) for run in history.runs]
        parts.append("\n".join(format_table((title, *history.versions), rows)))
    steps = list(map(_write_step_item, _list_steps(history)))
    notes = (*_list_marks(history), *list_notes(history))
    return join_blocks(*parts, steps, *map(escape_prose, notes))


def _write_step_item(step: _HistoryStep) -> str:
    edits = "; ".join(step.list_edits())
    return f"- {escape_prose(step.title)}: {escape_prose(edits)} ({format_code(step.command)})"


def html(history: ScoreHistory) -> str:
    """Return the same as a page: a row for each release, a bar for each run."""
    from evalstore.report.pages.history import write_page

    return write_page(history, [*list_notes(history)])


def document(history: ScoreHistory) -> dict[str, Any]:
    """Return the document that schema/output/history.schema.json describes."""
    return {
        "ref": history.name,
        "runs": [run.run for run in history.runs],
        "models": [run.model for run in history.runs],
        "versions": list(history.versions),
        "releases": [
            select_json_keys(one, "commit author date bump summary") for one in history.releases
        ],
        "edits": [[one.message for one in found] for found in history.findings],
        "cells": [write_json_value([cell.score for cell in run.cells]) for run in history.runs],
        "passes": [
            write_json_value([cell.pass_rate for cell in run.cells]) for run in history.runs
        ],
        "recorded": [run.recorded for run in history.runs],
        "unreleased": [run.unreleased for run in history.runs],
        "not_graded": [[cell.missing for cell in run.cells] for run in history.runs],
        "ungraded": [run.ungraded for run in history.runs],
        "coverage": write_json_value([run.coverage for run in history.runs]),
        "cell_coverage": write_json_value(
            [[cell.coverage for cell in run.cells] for run in history.runs]
        ),
        **select_json_keys(history, "calls notes"),
    }


class _HistoryStep(NamedTuple):
    """A release that changed something.

    It has who released it and when, what changed, and the command that shows its diff.
    """

    title: str
    findings: Sequence[DiffFinding]
    command: str

    def list_edits(self) -> list[str]:
        """Return the first edits in words, and how many more there are.

        Edits that need the higher bump come first.
        """
        words = [one.message for one in sort_by_level(self.findings)]
        more = len(words) - _EDITS
        return [*words[:_EDITS], *([f"{more:,} more"] if more > 0 else [])]


def _list_steps(history: ScoreHistory) -> Iterator[_HistoryStep]:
    pairs = zip(pairwise(history.releases), history.findings[1:], strict=True)
    for (old, new), findings in pairs:
        if findings:
            title = f"{new.version} by {new.author} {new.date[:DAY]}"
            command = f"evalstore diff {write_step(history.name, old.version, new.version)}"
            yield _HistoryStep(title, findings, command)


def _format_step(step: _HistoryStep, screen: Screen) -> list[str]:
    edits = map(make_printable, step.list_edits())
    return [
        *screen.wrap(make_printable(step.title)),
        *screen.wrap(*edits, lead=_MARGIN, inner=_MARGIN + "  "),
        f"{_MARGIN}{step.command}",
    ]


def _format_tables(
    title: str, history: ScoreHistory, pick: Callable[[RunTotals], Fraction | None], width: int
) -> Iterator[str]:
    """Yield tables no wider than the screen, each with as many releases as fit."""
    names = [
        title,
        *(_shorten_name(_name_run(run), max(_NAME, width // _SHARE)) for run in history.runs),
    ]
    cells = [
        [*map(make_printable, history.versions)],
        *(_list_cells(run, history.versions, pick) for run in history.runs),
    ]
    widths = [
        max(len(row[index]) for row in cells) + _GAP for index in range(len(history.versions))
    ]
    start, room = 0, width - max(map(len, names))
    while start < len(widths):
        end = start + 1
        while end < len(widths) and sum(widths[start : end + 1]) <= room:
            end += 1
        rows = [(name, *row[start:end]) for name, row in zip(names, cells, strict=True)]
        yield format_columns(rows, right=range(1, end - start + 1))
        start = end


def _list_cells(
    run: ScoredRun, versions: Sequence[str], pick: Callable[[RunTotals], Fraction | None]
) -> list[str]:
    marks = [_MARK if version == run.recorded else " " for version in versions]
    scores = [format_percent(pick(cell)) for cell in run.cells]
    if run.ungraded:
        scores = [f"({score})" for score in scores]
    return [score + mark for score, mark in zip(scores, marks, strict=True)]


def _name_run(run: ScoredRun) -> str:
    mark, lead = ", unreleased" if run.unreleased else "", "no score: " if run.ungraded else ""
    return make_excerpt(f"{lead}{run.model} ({run.run.rpartition('/')[2]}{mark})", _LONG_NAME)


def _shorten_name(name: str, limit: int) -> str:
    """Return a name with its middle left out: the names of a suite's runs differ at the end."""
    tail = limit // 2
    return name if len(name) <= limit else f"{name[: limit - tail - 1]}…{name[-tail:]}"


def _list_marks(history: ScoreHistory) -> list[str]:
    known = any(run.recorded for run in history.runs)
    return [f"{_MARK} the release that the run was graded with"] if known else []


def list_notes(history: ScoreHistory) -> Iterator[str]:
    """Yield what else a reader should know: what is missing, and what only today's grading has."""
    for run in history.runs:
        yield from _note_coverage(run)
        yield from _note_cells(run, history.versions)
        if run.ungraded:
            yield (
                f"{_name_run(run)}: {run.ungraded}; the numbers in parentheses are what the rest "
                "comes to"
            )
            continue
        cells = dict(zip(history.versions, run.cells, strict=True))
        if run.recorded:
            yield from _note_drift(run, cells.get(run.recorded))
        lacking = [version for version, cell in cells.items() if cell.missing]
        if lacking and not history.calls:
            yield f"{_name_run(run)} has outputs that {join_names(lacking, _NAMED)} cannot grade"
    if history.calls:
        calls = count_noun(history.calls, "judge call")
        yield f"{calls} would fill the cells with a dash: name an endpoint with --judge-url"
    yield from (f"note: {note}" for note in history.notes)


def _note_coverage(run: ScoredRun) -> Iterator[str]:
    """Yield that a run was recorded with fewer gradings than its rubrics ask for."""
    if run.coverage.graded < run.coverage.asked:
        names = join_names(map(make_excerpt, run.empty_checks), _NAMED)
        empty = f"; {names} had nothing to grade on any output" if names else ""
        yield f"{_name_run(run)} was recorded with {run.coverage}{empty}"


def _note_drift(run: ScoredRun, cell: RunTotals | None) -> Iterator[str]:
    """Yield that a run scores differently today under the release it was recorded with."""
    then = run.recorded_totals
    if not cell or cell.score is None:
        return
    if (cell.score, cell.pass_rate) != (then.score, then.pass_rate):
        yield (
            f"{_name_run(run)} recorded {format_percent(then.score)} under {run.recorded}, and "
            f"gets {format_percent(cell.score)} now"
        )


def _note_cells(run: ScoredRun, versions: Sequence[str]) -> Iterator[str]:
    """Yield the releases under which a run's mean has fewer gradings than its rubrics ask for."""
    partial = []
    for cell, version in zip(run.cells, versions, strict=True):
        if cell.score is not None and cell.coverage.graded < cell.coverage.asked:
            partial.append(f"{cell.coverage} under {version}")
    if partial:
        yield f"{_name_run(run)}: coverage is {join_names(partial, _NAMED)}"
