"""Finds the places of a store's runs in its picture of scores over time, with releases."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor
from typing import Any, NamedTuple

from evalstore.audits.wording.points import format_points
from evalstore.report.text_layout import format_percent, join_names
from evalstore.text import count_noun, make_excerpt

_MOST_RUNS = 40  # the newest: more points would not make a picture
_LEFT, _RIGHT = 7, 97  # percent of the width
_HEIGHT, _TOP, _BOTTOM = 230, 56, 200  # pixels
_ROOM = 8  # percent of the height that the score above a point needs
_NAMES, _NAME = 2, 28
_LOOKS = 4  # of lines


class ChartRun(NamedTuple):
    """One run: when it was made, its line, its score, its name, and its page, if any."""

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
        """What was released, or how many releases there were."""
        names = [one.name for one in self.releases]
        return join_names(names) if len(names) <= _NAMES else count_noun(len(names), "release")

    @property
    def people(self) -> str:
        """Who released it."""
        names = dict.fromkeys(one.author for one in self.releases)
        return join_names(names) if len(names) <= _NAMES else f"{len(names)} people"


def read_releases(facts: Iterable[tuple[str, str, str]]) -> list[ChartRelease]:
    """Return releases by the date of their tag, with name and author.

    Those without a valid date are left out.
    """
    found: list[ChartRelease] = []
    for date, name, author in facts:
        with suppress(ValueError, OverflowError):
            time = datetime.fromisoformat(date)
            time = (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
            found.append(ChartRelease(time, name, author))
    return found


def draw_runs(runs: Iterable[ChartRun], releases: Iterable[ChartRelease]) -> dict[str, Any] | None:
    """Return the lines, points and marks of the picture.

    They are in percent of its width and pixels of its height. None for fewer than two runs, which
    make no line.
    """
    ordered = sorted(runs, key=lambda run: run.time)[-_MOST_RUNS:]
    if not ordered[1:]:
        return None
    gaps = _find_gaps(ordered, releases)
    scores = [run.score for run in ordered]
    low, high = _find_levels(scores)
    levels = (low, (low + high) / 2, high)
    points = _draw_points(ordered, low, high)
    series = list(dict.fromkeys(run.series for run in ordered))
    return {
        "height": _HEIGHT,
        "bottom": _BOTTOM,
        "left": _LEFT,
        "right": _RIGHT,
        "levels": [(_find_height(one, low, high), format_percent(one, 0)) for one in levels],
        "lines": [*_draw_lines(points, series)],
        "points": points,
        "ends": _list_ends(points, series) if series[1:] else [],
        "marks": [*_mark_gaps(gaps, len(ordered))],
        "steps": [*_list_steps(ordered, gaps)],
        "days": [points[0], points[-1]],
        "label": f"{count_noun(len(ordered), 'run')} from {points[0]['day']} to "
        f"{points[-1]['day']}, scores from {format_percent(min(scores))} to "
        f"{format_percent(max(scores))}",
    }


def _draw_points(runs: Sequence[ChartRun], low: Fraction, high: Fraction) -> list[dict[str, Any]]:
    """Return a point for each run, with its score if there is room."""
    has_room = _ROOM * len(runs) < _RIGHT

    def draw(number: int, run: ChartRun) -> dict[str, Any]:
        return {
            "run": run,
            "x": _place(number, len(runs)),
            "y": _find_height(run.score, low, high),
            "score": format_percent(run.score) if has_room else "",
            "day": f"{run.time:%Y-%m-%d}",
            "name": make_excerpt(run.name, _NAME),
        }

    return [draw(number, run) for number, run in enumerate(runs, 1)]


def _draw_lines(
    points: Sequence[dict[str, Any]], series: Sequence[str]
) -> Iterator[dict[str, Any]]:
    for number, name in enumerate(series):
        yield from _join_points(points, name, number % _LOOKS)


def _mark_gaps(gaps: dict[int, ChartGap], count: int) -> Iterator[dict[str, Any]]:
    """Yield a mark for the releases between two runs, alternating between two rows."""
    for number, (place, gap) in enumerate(gaps.items()):
        if place:
            yield {
                "x": _place(place + 0.5, count),
                "name": make_excerpt(gap.name, _NAME),
                "people": make_excerpt(gap.people, _NAME),
                "row": number % 2,
            }


def _find_gaps(runs: Sequence[ChartRun], releases: Iterable[ChartRelease]) -> dict[int, ChartGap]:
    """Return releases by how many of the runs are older, in order of time."""
    found = defaultdict[int, list[ChartRelease]](list)
    for one in sorted(releases, key=lambda release: release.time):
        found[sum(run.time < one.time for run in runs)].append(one)
    return {place: ChartGap(found[place]) for place in sorted(found)}


def _find_levels(scores: Sequence[Fraction]) -> tuple[Fraction, Fraction]:
    """Return the tenths around the scores, at least a tenth apart."""
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
    for old, new in pairwise(own):
        ends = {"x1": old["x"], "y1": old["y"], "x2": new["x"], "y2": new["y"]}
        yield {**ends, "look": f"s{look}"}


def _list_ends(points: Sequence[dict[str, Any]], series: Sequence[str]) -> list[dict[str, Any]]:
    """Return the last point of each line, where its name goes."""
    last = {point["run"].series: point for point in points}
    return [{**last[name], "series": make_excerpt(name, _NAME), "look": f"s{place % _LOOKS}"}
            for place, name in enumerate(series)]  # fmt: skip


def _list_steps(runs: Sequence[ChartRun], gaps: dict[int, ChartGap]) -> Iterable[dict[str, Any]]:
    """Yield each run with its step from the one before it on its line.

    The releases between the two come with it. The first run of a line has no step, and gets what
    was released since the run before it on any line.
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
