"""Rows of a long table: all of them in one test, or every n-th in the short suite."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

Hold = Callable[..., None]


def each(rows: Iterable[Any], *, name: Callable[[Any], str] = repr) -> Callable[[Hold], Callable[[], None]]:
    """Call a function of one argument for every row; the test fails with all rows that fail, each by its name.

    A test of pytest takes about six milliseconds, whatever it holds.
    """
    table = list(rows)
    assert table, "a table without rows holds nothing"

    def decorate(hold: Hold) -> Callable[[], None]:
        def run() -> None:
            failures = []
            for row in table:
                try:
                    hold(row)
                except Exception as error:
                    error.add_note(f"row: {name(row)}")
                    failures.append(error)
            if failures:
                raise ExceptionGroup(f"{len(failures)} of {len(table)} rows", failures)

        run.__name__, run.__doc__, run.__module__ = hold.__name__, hold.__doc__, hold.__module__
        return run

    return decorate


def thin(rows: Iterable[Any], every: int) -> list[Any]:
    """Return parameters of which the first and every n-th after it are in the short suite, all in `make fuzz`."""
    return [mark_slow(row) if place % every else row for place, row in enumerate(rows)]


def mark_slow(row: Any) -> Any:
    """Return a row of parameters for the long forms alone."""
    return pytest.param(*(row if isinstance(row, tuple) else (row,)), marks=pytest.mark.slow)
