"""Finds where the runs of a store are in its picture: a line of scores in order of time, with releases between them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor
from typing import Any, NamedTuple

from evalstore.audits.wording import format_points
from evalstore.report.text_layout import format_percent, join_names
from evalstore.text import count_noun, make_excerpt

_MOST_RUNS = 40  # the newest: more points are no picture
_LEFT, _RIGHT = 7, 97  # percent of the width
_HEIGHT, _TOP, _BOTTOM = 230, 56, 200  # pixels
_ROOM = 8  # percent that the score above a point needs
_NAMES, _NAME = 2, 28
_LOOKS = 4  # of lines


class ChartRun(NamedTuple):
    """One run: when it was made, the line it belongs to, its score, its name, and the path of its page, if any."""

    time: datetime
    series: str
    score: Fraction
    name: str
    path: str = ""


class ChartRelease(NamedTuple):
    """One release: when, what, and by whom."""

    time: datetime
    name: str
    author: str


class ChartGap(NamedTuple):
    """The releases after one run and before the next."""

    releases: Sequence[ChartRelease]

    @property
    def name(self) -> str:
        """What was released, or how much."""
        names = [one.name for one in self.releases]
        return join_names(names) if len(names) <= _NAMES else count_noun(len(names), "release")

    @property
    def people(self) -> str:
        """Who released it."""
        names = dict.fromkeys(one.author for one in self.releases)
        return join_names(names) if len(names) <= _NAMES else f"{len(names)} people"


def read_releases(facts: Iterable[tuple[str, str, str]]) -> list[ChartRelease]:
    """Return releases by the date of their tag, their name and who made them; without those whose date is not one."""
    found: list[ChartRelease] = []
    for date, name, author in facts:
        with suppress(ValueError, OverflowError):
            time = datetime.fromisoformat(date)
            time = (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
            found.append(ChartRelease(time, name, author))
    return found


def draw_runs(runs: Iterable[ChartRun], releases: Iterable[ChartRelease]) -> dict[str, Any] | None:
    """Return the lines, points and marks of the picture, in percent of its width and pixels of its height.

    None where there are fewer than two runs, which make no line.
    """
    ordered = sorted(runs, key=lambda run: run.time)[-_MOST_RUNS:]
    if not ordered[1:]:
        return None
    gaps = _find_gaps(ordered, releases)
    low, high = _find_levels([run.score for run in ordered])
    places = [_place(number + 1, len(ordered)) for number in range(len(ordered))]
    heights = [_find_height(run.score, low, high) for run in ordered]
    points = [
        {
            "run": run,
            "x": place,
            "y": height,
            "score": format_percent(run.score) if _ROOM * len(ordered) < _RIGHT else "",
            "day": f"{run.time:%Y-%m-%d}",
            "name": make_excerpt(run.name, _NAME),
        }
        for run, place, height in zip(ordered, places, heights, strict=True)
    ]
    series = list(dict.fromkeys(run.series for run in ordered))
    return {
        "height": _HEIGHT,
        "bottom": _BOTTOM,
        "left": _LEFT,
        "right": _RIGHT,
        "levels": [(_find_height(one, low, high), format_percent(one, 0)) for one in (low, (low + high) / 2, high)],
        "lines": [line for number, name in enumerate(series) for line in _join_points(points, name, number % _LOOKS)],
        "points": points,
        "ends": _list_ends(points, series) if series[1:] else [],
        "marks": [
            {"x": _place(place + 0.5, len(ordered)), "name": make_excerpt(gap.name, _NAME),
             "people": make_excerpt(gap.people, _NAME), "row": number % 2}
            for number, (place, gap) in enumerate(gaps.items()) if place
        ],
        "steps": [*_list_steps(ordered, gaps)],
        "days": [points[0], points[-1]],
        "label": f"{count_noun(len(ordered), 'run')} from {points[0]['day']} to {points[-1]['day']}, scores from "
        f"{format_percent(min(run.score for run in ordered))} to {format_percent(max(run.score for run in ordered))}",
    }  # fmt: skip


def _find_gaps(runs: Sequence[ChartRun], releases: Iterable[ChartRelease]) -> dict[int, ChartGap]:
    """Return releases by how many of the runs are older, in order of time."""
    found = defaultdict[int, list[ChartRelease]](list)
    for one in sorted(releases, key=lambda release: release.time):
        found[sum(run.time < one.time for run in runs)].append(one)
    return {place: ChartGap(found[place]) for place in sorted(found)}


def _find_levels(scores: Sequence[Fraction]) -> tuple[Fraction, Fraction]:
    """Return tenths around the scores, a tenth apart at least."""
    low, high = Fraction(floor(min(scores) * 10), 10), Fraction(ceil(max(scores) * 10), 10)
    if low < high:
        return low, high
    return (low, low + Fraction(1, 10)) if low < 1 else (low - Fraction(1, 10), low)


def _find_height(score: Fraction, low: Fraction, high: Fraction) -> float:
    return round(float(_BOTTOM - (score - low) / (high - low) * (_BOTTOM - _TOP)), 1)


def _place(number: float, count: int) -> float:
    return round(_LEFT + (_RIGHT - _LEFT) * number / (count + 1), 2)


def _join_points(
    points: Sequence[dict[str, Any]], name: str, look: int
) -> Iterable[dict[str, Any]]:
    own = [point for point in points if point["run"].series == name]
    return [
        {"x1": old["x"], "y1": old["y"], "x2": new["x"], "y2": new["y"], "look": f"s{look}"}
        for old, new in pairwise(own)
    ]


def _list_ends(points: Sequence[dict[str, Any]], series: Sequence[str]) -> list[dict[str, Any]]:
    """Return the last point of each line, where its name is."""
    last = {point["run"].series: point for point in points}
    return [{**last[name], "series": make_excerpt(name, _NAME), "look": f"s{place % _LOOKS}"}
            for place, name in enumerate(series)]  # fmt: skip


def _list_steps(runs: Sequence[ChartRun], gaps: dict[int, ChartGap]) -> Iterable[dict[str, Any]]:
    """Yield each run with its step from the one before it on its line, and what was released between the two.

    The first of a line has no step, and what was released since the run before it, of any line.
    """
    before: dict[str, int] = {}
    for place, run in enumerate(runs):
        old = before.get(run.series)
        start = max(place, 1) if old is None else old + 1
        between = [
            one for gap in range(start, place + 1) if gap in gaps for one in gaps[gap].releases
        ]
        yield {
            "run": run,
            "day": f"{run.time:%Y-%m-%d}",
            "step": None if old is None else run.score - runs[old].score,
            "change": "" if old is None else format_points(run.score - runs[old].score),
            "released": [f"{one.name}, {one.time:%Y-%m-%d}, by {one.author}" for one in between],
        }
        before[run.series] = place
