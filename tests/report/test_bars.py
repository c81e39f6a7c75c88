"""The whisker of a bar leads to both ends of its interval, and one that is cut at 0 or 100 looks cut."""

from __future__ import annotations

from fractions import Fraction

from evalstore.report.pages.bars import BarScale, Drawing, draw_step

SCALE = BarScale(Fraction(0), Fraction(1))


def list_whisker(*ends: str) -> list[tuple[float, float | None, int]]:
    drawn: Drawing = draw_step(Fraction(1, 2), Fraction(3, 4), SCALE, ends=[*map(Fraction, ends)])
    return [(one.x, one.width, one.height) for one in drawn.shapes if one.look == "whisker"]


def test_a_whole_whisker_has_two_caps() -> None:
    line, *caps = list_whisker("0.25", "0.75")
    assert line[2] == 2
    assert [height for _, _, height in caps] == [10, 10]


def test_an_end_beyond_the_scale_is_dashed_and_has_no_cap() -> None:
    line, *ends = list_whisker("0.25", "1.2")
    assert [height for _, _, height in ends] == [10, 2, 2]
    places = sorted(x for x, _, height in ends if height == 2)
    assert line[0] + (line[1] or 0) < places[0] < places[1] < SCALE.find_place(Fraction(1))
