"""Options of commands that call judges: the endpoint, the cache and limits; with the plan and the progress bar."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from evalstore.cli.context import CommandSettings
from evalstore.cli.param_types import NumberRange
from evalstore.cli.streams import can_show_bars
from evalstore.errors import EvalstoreError, ExitCode

if TYPE_CHECKING:
    from evalstore.api import CallPlan, Judges
    from evalstore.model import JudgeReply

_F = TypeVar("_F", bound=Callable[..., Any])
_JUDGE_PARAMETERS = (
    "judge_url",
    "judge_key",
    "judge_model",
    "judge_timeout",
    "judge_retries",
    "judge_jobs",
    "max_calls",
    "cache",
)


class JudgeOption(click.Option):
    """An option about the endpoint or the cache of judges, which --help lists apart."""

    section = "Judges"


class StoppedError(EvalstoreError):
    """The user interrupted the judge calls."""

    exit_code = ExitCode.INTERRUPTED


_option = partial(click.option, cls=JudgeOption)
_OPTIONS = (
    _option(
        "--judge-url",
        envvar="EVALSTORE_JUDGE_URL",
        show_envvar=True,
        metavar="URL",
        help="OpenAI-compatible endpoint that answers, as http://host:8000/v1. Without one: kept replies only.",
    ),
    _option(
        "--judge-key",
        envvar="EVALSTORE_JUDGE_KEY",
        show_envvar=True,
        metavar="KEY",
        help="Its key; better in the environment, for others can see a command line.",
    ),
    _option(
        "--judge-model",
        envvar="EVALSTORE_JUDGE_MODEL",
        show_envvar=True,
        metavar="NAME",
        help="Model for judges that name none, and whose checks name none.",
    ),
    _option(
        "--judge-timeout",
        type=NumberRange(min=0, min_open=True),
        default=60,
        show_default=True,
        metavar="SECONDS",
        help="Time for one answer, until it is tried again.",
    ),
    _option(
        "--judge-retries",
        type=click.IntRange(min=0),
        default=5,
        show_default=True,
        metavar="N",
        help="Further tries of a call that failed and may go well.",
    ),
    _option(
        "--judge-jobs",
        type=click.IntRange(1, 256),
        default=8,
        show_default=True,
        metavar="N",
        help="Calls at one time.",
    ),
    _option(
        "--max-calls",
        type=click.IntRange(min=0),
        metavar="N",
        help="Make none where more than N are needed.",
    ),
    _option(
        "--cache",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Where replies are kept, and found again; else in the repository's git directory.",
    ),
    _option(
        "--fresh",
        is_flag=True,
        help="Ask again what replies are kept for; the new ones are kept as well.",
    ),
    _option(
        "--offline",
        is_flag=True,
        help="Ask nobody, whatever the environment says: kept replies only, and no error where a check cannot grade.",
    ),
)


def add_judge_options(function: _F) -> _F:
    """Add the options about judges to a command, which gets them as one value `judges`."""

    @wraps(function)
    def run_with_judges(
        settings: CommandSettings, *args: Any, offline: bool, fresh: bool, **options: Any
    ) -> Any:
        values = {name: options.pop(name) for name in _JUDGE_PARAMETERS}
        return function(
            settings,
            *args,
            judges=_make_judges(settings, offline=offline, fresh=fresh, **values),
            **options,
        )

    for option in reversed(_OPTIONS):
        run_with_judges = option(run_with_judges)
    return run_with_judges  # type: ignore[return-value]  # the wrapper takes other keywords


def _make_judges(
    settings: CommandSettings, *, offline: bool, fresh: bool, **options: Any
) -> Judges:
    from evalstore.api import Judges
    from evalstore.cli.progress import make_stream_watch

    endpoint = None
    if options["judge_url"] and not offline:
        from evalstore.api import Endpoint

        endpoint = Endpoint(
            url=options["judge_url"],
            key=options["judge_key"] or "",
            timeout=options["judge_timeout"],
            retries=options["judge_retries"],
            concurrency=options["judge_jobs"],
        )
    cache = options["cache"]
    return Judges(
        endpoint=endpoint,
        model={"id": options["judge_model"]} if options["judge_model"] else {},
        cache=settings.path / cache if cache else None,
        fresh=fresh,
        offline=offline,
        max_calls=options["max_calls"],
        progress=lambda plan: _show_progress(settings, plan),
        watch=make_stream_watch("grading", quiet=settings.quiet, fewest=2),
    )


@contextmanager
def _show_progress(
    settings: CommandSettings, plan: CallPlan
) -> Iterator[Callable[[JudgeReply], None]]:
    """Print the plan of calls, then draw a progress bar on a terminal; Ctrl-C raises `StoppedError` with the count."""
    from evalstore.report.judge import text_plan

    for line in text_plan(plan).splitlines():
        settings.print_message(line)
    done = failed = 0

    def count_reply(reply: JudgeReply) -> None:
        nonlocal done, failed
        done, failed = done + 1, failed + bool(reply.problem)
        bar.update(1, failed)

    try:
        with _make_bar(settings, plan.calls) as bar:
            yield count_reply
    except KeyboardInterrupt:
        message = f"replies that came: {done - failed:,} of {plan.calls:,}; they are kept"
        raise StoppedError(
            "interrupted", hint=f"{message}, and the same command asks for the rest"
        ) from None


def _make_bar(settings: CommandSettings, calls: int) -> AbstractContextManager[Any]:
    from evalstore.cli.progress import open_bar

    bar: AbstractContextManager[Any] = open_bar(
        calls,
        "judging",
        lambda failed: f"failed: {failed:,}" if failed else None,
        sys.stderr if can_show_bars(quiet=settings.quiet) else io.StringIO(),
    )
    return bar
