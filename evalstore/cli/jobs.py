"""The option of commands that can work in several processes at one time."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import click

from evalstore.cli.context import CommandSettings

_F = TypeVar("_F", bound=Callable[..., Any])
MOST_JOBS = 1024


def add_jobs_option(function: _F) -> _F:
    """Add --jobs to a command, which gets it as a value `jobs`."""

    @wraps(function)
    def run_with_jobs(settings: CommandSettings, *args: Any, jobs: int | None, **options: Any) -> Any:
        from evalstore.workers import JobOptions

        def warn(line: str) -> None:
            settings.print_message(f"warning: {line}")

        return function(settings, *args, jobs=JobOptions(jobs, warn), **options)

    return click.option(  # type: ignore[return-value]  # the wrapper takes other keywords
        "--jobs",
        type=click.IntRange(1, MOST_JOBS),
        metavar="N",
        help="Processes at one time; by default every core for a large input, else one. The answer is the same.",
    )(run_with_jobs)
