"""How a command is told who answers its judges: the options, the environment, the plan, and the progress bar."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from evalstore.cli.context import Settings

if TYPE_CHECKING:
    from evalstore.judging import Judges, Plan
    from evalstore.model import Reply

_F = TypeVar("_F", bound=Callable[..., Any])

_OPTIONS = (
    click.option(
        "--judge-url",
        envvar="EVALSTORE_JUDGE_URL",
        show_envvar=True,
        metavar="URL",
        help="OpenAI-compatible endpoint that answers the judges. Without one, kept replies are all there is.",
    ),
    click.option(
        "--judge-key",
        envvar="EVALSTORE_JUDGE_KEY",
        show_envvar=True,
        metavar="KEY",
        help="Its key; better in the environment, because others can see a command line.",
    ),
    click.option(
        "--judge-model",
        envvar="EVALSTORE_JUDGE_MODEL",
        show_envvar=True,
        metavar="NAME",
        help="Model for judges that name none.",
    ),
    click.option(
        "--judge-timeout",
        type=click.FloatRange(min=0, min_open=True),
        default=60,
        show_default=True,
        metavar="SECONDS",
        help="Time for one answer.",
    ),
    click.option(
        "--judge-retries",
        type=click.IntRange(min=0),
        default=5,
        show_default=True,
        metavar="N",
        help="Further tries of a call that failed.",
    ),
    click.option(
        "--judge-jobs",
        type=click.IntRange(1, 256),
        default=8,
        show_default=True,
        metavar="N",
        help="Calls at one time.",
    ),
    click.option("--max-calls", type=click.IntRange(min=0), metavar="N", help="Refuse before more calls than these."),
    click.option(
        "--cache",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Where replies are kept; else in the repository's git directory.",
    ),
    click.option("--offline", is_flag=True, help="Ask nobody: kept replies only."),
)
_OWN = ("judge_url", "judge_key", "judge_model", "judge_timeout", "judge_retries", "judge_jobs", "max_calls", "cache")


def judge_options(function: _F) -> _F:
    """Add the options that say who answers judges; the command gets them as one value `judges`."""

    @wraps(function)
    def wrapped(settings: Settings, *args: Any, offline: bool, **given: Any) -> Any:
        own = {name: given.pop(name) for name in _OWN}
        return function(settings, *args, judges=_judges(settings, offline=offline, **own), **given)

    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped  # type: ignore[return-value]  # the wrapper takes other keywords


def _judges(settings: Settings, *, offline: bool, **given: Any) -> Judges:
    from evalstore.judging import Endpoint, Judges

    endpoint = None
    if given["judge_url"] and not offline:
        endpoint = Endpoint(
            url=given["judge_url"],
            key=given["judge_key"] or "",
            timeout=given["judge_timeout"],
            retries=given["judge_retries"],
            concurrency=given["judge_jobs"],
        )
    cache = given["cache"]
    return Judges(
        endpoint=endpoint,
        model={"id": given["judge_model"]} if given["judge_model"] else {},
        cache=settings.path / cache if cache else None,
        max_calls=given["max_calls"],
        progress=lambda plan: _progress(settings, plan),
    )


@contextmanager
def _progress(settings: Settings, plan: Plan) -> Iterator[Callable[[Reply], None]]:
    """Say the plan, then draw a bar where there is a terminal to draw on."""
    from evalstore.report.plan import text

    for line in text(plan).splitlines():
        settings.say(line)
    if settings.quiet or not sys.stderr.isatty():
        yield lambda _: None
        return
    bar: AbstractContextManager[Any] = click.progressbar(length=plan.calls, label="judging", file=sys.stderr)
    with bar as drawn:
        yield lambda _: drawn.update(1)
