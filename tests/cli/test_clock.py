"""The moment that runs and validations are dated with."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from evalstore.cli.context import read_clock


def test_a_build_that_can_be_repeated_says_when_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    assert read_clock() == datetime(1970, 1, 2, tzinfo=UTC)


@pytest.mark.parametrize("said", ["", "now", "-1", "1.5", " 1", "\u0663", "9" * 11, "9" * 5000])
def test_what_is_no_moment_is_not_taken_for_one(said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", said)
    before = datetime.now(UTC)
    assert before <= read_clock() <= datetime.now(UTC)
