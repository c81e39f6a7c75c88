"""The picture of runs over time: where runs, steps, releases and people are."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from fractions import Fraction

import pytest

from evalstore.report.pages.run_chart import ChartRelease, ChartRun, draw_runs, read_releases

DAY = datetime(2026, 9, 1, tzinfo=UTC)


def run(day: int, score: str, series: str = "d") -> ChartRun:
    return ChartRun(DAY + timedelta(day), series, Fraction(score), f"run {day}")


def release(day: int, name: str, author: str = "Bob") -> ChartRelease:
    return ChartRelease(DAY + timedelta(day), name, author)


def test_runs_are_a_line_in_order_of_time_with_releases_between() -> None:
    releases = [release(0, "0.9.0"), release(3, "2.0.0"), release(4, "2.0.1", "Cyd"), release(8, "3.0.0")]
    drawn = draw_runs([run(5, "0.6"), run(2, "0.8"), run(7, "0.7")], releases)
    assert drawn
    assert [point["day"] for point in drawn["points"]] == ["2026-09-03", "2026-09-06", "2026-09-08"]
    xs, ys = ([point[name] for point in drawn["points"]] for name in "xy")
    assert xs == sorted(xs)
    assert ys[1] > ys[2] > ys[0]  # the lowest score is the furthest down
    assert [(line["x1"], line["x2"]) for line in drawn["lines"]] == [(xs[0], xs[1]), (xs[1], xs[2])]
    # What was there before the first run is no mark.
    assert [(one["name"], one["people"]) for one in drawn["marks"]] == [
        ("2.0.0 and 2.0.1", "Bob and Cyd"),
        ("3.0.0", "Bob"),
    ]
    assert xs[0] < drawn["marks"][0]["x"] < xs[1] < xs[2] < drawn["marks"][1]["x"]
    assert [(one["change"], one["released"]) for one in drawn["steps"]] == [
        ("", []),
        ("-20.00", ["2.0.0, 2026-09-04, by Bob", "2.0.1, 2026-09-05, by Cyd"]),
        ("+10.00", []),
    ]


def test_each_dataset_has_a_line_and_its_own_steps() -> None:
    drawn = draw_runs([run(1, "0.5", "x"), run(2, "0.9", "y"), run(5, "0.6", "x")], [release(3, "z"), release(0, "a")])
    assert drawn
    assert [line["look"] for line in drawn["lines"]] == ["s0"]
    assert [(one["series"], one["look"]) for one in drawn["ends"]] == [("x", "s0"), ("y", "s1")]
    assert [one["change"] for one in drawn["steps"]] == ["", "", "+10.00"]
    assert drawn["steps"][2]["released"] == ["z, 2026-09-04, by Bob"]


@pytest.mark.parametrize("scores", [["1", "1"], ["0", "0"], ["0.5", "0.5"], ["0.333", "0.667"], ["0", "1"]])
def test_every_point_is_within_the_picture(scores: list[str]) -> None:
    drawn = draw_runs([run(day, score) for day, score in enumerate(scores)], [])
    assert drawn
    assert all(40 <= point["y"] <= drawn["bottom"] for point in drawn["points"])
    levels = [y for y, _ in drawn["levels"]]
    assert levels == sorted(levels, reverse=True)
    assert len(set(levels)) == 3


def test_one_run_is_no_line_and_many_are_the_newest() -> None:
    assert draw_runs([run(1, "1")], [release(2, "2.0.0")]) is None
    drawn = draw_runs([run(day, "0.5") for day in range(100)], [release(50, f"{n}.0.0") for n in range(9)])
    assert drawn
    assert (len(drawn["points"]), {point["score"] for point in drawn["points"]}) == (40, {""})
    several = draw_runs([run(1, "0.5"), run(9, "0.5")], [release(5, f"{n}.0.0") for n in range(9)])
    assert several
    assert [one["name"] for one in several["marks"]] == ["9 releases"]
    crowd = draw_runs([run(1, "0.5"), run(9, "0.5")], [release(5, "1.0.0", name) for name in ("A", "B", "C")])
    assert crowd
    assert [one["people"] for one in crowd["marks"]] == ["3 people"]


def test_the_time_of_a_tag_is_in_utc() -> None:
    dates = ["2026-09-02T01:30:00+02:00", "2026-09-02T01:30:00", "no date", "0001-01-01T00:00:00+02:00"]
    found = read_releases((date, "1.0.0", "Bob") for date in dates)
    assert [one.time for one in found] == [
        datetime(2026, 9, 1, 23, 30, tzinfo=UTC),
        datetime(2026, 9, 2, 1, 30, tzinfo=UTC),
    ]


def test_models_are_not_joined_and_the_first_run_of_one_has_what_was_released_before_it() -> None:
    drawn = draw_runs([run(1, "0.8", "a"), run(3, "0.6", "b"), run(4, "0.7", "b")], [release(2, "2.0.0")])
    assert drawn
    assert len(drawn["lines"]) == 1
    assert [one["change"] for one in drawn["steps"]] == ["", "", "+10.00"]
    assert [len(one["released"]) for one in drawn["steps"]] == [0, 1, 0]
