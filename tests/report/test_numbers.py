"""Numbers that people read: what is rounded never says that something is all, or nothing."""

from __future__ import annotations

from fractions import Fraction

import pytest

from evalstore.report.text_layout import format_percent


@pytest.mark.parametrize(
    ("share", "shown", "short"),
    [
        ("0", "0.00", "0"),
        ("1", "100.00", "100"),
        ("1/1000000", "0.01", "1"),
        ("999999/1000000", "99.99", "99"),
        ("-1/100", "-1.00", "-1"),
        ("1/3", "33.33", "33"),
        ("19999/20000", "99.99", "99"),
    ],
)
def test_only_all_is_shown_as_all_and_only_nothing_as_nothing(share: str, shown: str, short: str) -> None:
    assert (format_percent(Fraction(share)), format_percent(Fraction(share), 0)) == (shown, short)
