"""One test over all rows of a long table, where a test for each row would cost more than what it holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

Hold = Callable[..., None]


def each(rows: Iterable[Any], *, name: Callable[[Any], str] = repr) -> Callable[[Hold], Callable[[], None]]:
    """Call a function of one argument for every row; the test fails with all rows that fail, each by its name."""
    table = list(rows)

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

        assert table, "a table without rows holds nothing"
        run.__name__, run.__doc__, run.__module__ = hold.__name__, hold.__doc__, hold.__module__
        return run

    return decorate
