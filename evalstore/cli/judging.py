"""Settings of commands that call judges: options, environment and evalstore.yaml.

It also shows the plan of calls and their progress.
"""

from __future__ import annotations

import io
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from decimal import Decimal
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

import click

from evalstore.cli.context import CommandSettings
from evalstore.cli.option_sections import JudgeOption
from evalstore.cli.param_types import NumberRange
from evalstore.cli.streams import can_show_bars
from evalstore.errors import EvalstoreError, ExitCode, LoadError
from evalstore.files import MIDDLE_FILE, read_below
from evalstore.places import SETTINGS_FILE
from evalstore.text import find_nearest, hide_url_secrets

if TYPE_CHECKING:
    from evalstore.api import CallPlan, Judges
    from evalstore.documents import Document
    from evalstore.model import JudgeReply

_F = TypeVar("_F", bound=Callable[..., Any])
_HOSTS = "EVALSTORE_JUDGE_HOSTS"
_HINT = "evalstore explain settings.judge"
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
_TIMEOUT, _COUNT, _JOBS = (
    NumberRange(min=0, min_open=True),
    click.IntRange(min=0),
    click.IntRange(1, 256),
)
# What evalstore.yaml may say under `judge` -> the option that overrides it, and its type there.
_IN_FILE: Mapping[str, tuple[str, tuple[type, ...], str]] = {
    "url": ("judge_url", (str,), "a text"),
    "model": ("judge_model", (str,), "a text"),
    "timeout": ("judge_timeout", (int, float, Decimal), "a number"),
    "retries": ("judge_retries", (int,), "a whole number"),
    "jobs": ("judge_jobs", (int,), "a whole number"),
    "max_calls": ("max_calls", (int,), "a whole number"),
}


class StoppedError(EvalstoreError):
    """The user interrupted the judge calls."""

    exit_code = ExitCode.INTERRUPTED


def _add_setting(name: str, **attributes: Any) -> Callable[[_F], _F]:
    """Return a decorator that adds an option whose value may come from the environment."""
    word = name.removeprefix("judge-").replace("-", "_").upper()
    return click.option(
        f"--{name}", cls=JudgeOption, envvar=f"EVALSTORE_JUDGE_{word}", **attributes
    )


_OPTIONS = (
    _add_setting("judge-url", metavar="URL"),
    _add_setting("judge-key", metavar="KEY"),
    _add_setting("judge-model", metavar="NAME"),
    _add_setting("judge-timeout", type=_TIMEOUT, metavar="SECONDS"),
    _add_setting("judge-retries", type=_COUNT, metavar="N"),
    _add_setting("judge-jobs", type=_JOBS, metavar="N"),
    _add_setting("max-calls", type=_COUNT, metavar="N"),
    _add_setting("cache", type=click.Path(path_type=Path), metavar="FILE"),
    click.option("--fresh", cls=JudgeOption, is_flag=True),
    click.option("--offline", cls=JudgeOption, is_flag=True),
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
    from evalstore.api import Endpoint, Judges
    from evalstore.cli.progress import make_stream_watch

    options = _add_settings_of_store(settings, options, asks=not offline)
    limits = {"timeout": "judge_timeout", "retries": "judge_retries", "concurrency": "judge_jobs"}
    endpoint = None
    if options["judge_url"] and not offline:
        given = {key: options[name] for key, name in limits.items() if options[name] is not None}
        endpoint = Endpoint(url=options["judge_url"], key=options["judge_key"] or "", **given)
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


def _add_settings_of_store(
    settings: CommandSettings, options: Mapping[str, Any], *, asks: bool
) -> dict[str, Any]:
    """Return the options, with those nobody gave filled in from `judge` of evalstore.yaml.

    An unknown key there is reported as `validate` reports it.
    """
    found = dict(options)
    document = _find_settings(settings)
    for key in _list_unknown(document):
        near = find_nearest(key, _IN_FILE)
        hint = f" (did you mean `{near}`?)" if near else ""
        place = document.locate(("judge", key), of_key=True)
        settings.print_message(f"warning: {place}: nothing reads `judge.{key}`{hint}")
    for key, value in _select_judge_settings(document).items():
        name = _IN_FILE[key][0]
        if found[name] is None and (key != "url" or _may_ask(settings, value, asks=asks)):
            found[name] = float(value) if isinstance(value, Decimal) else value
    return found


def read_judge_settings(settings: CommandSettings) -> Mapping[str, Any]:
    """Return what evalstore.yaml says under `judge`.

    Raises `LoadError`, with its place, for a value of the wrong type.
    """
    return _select_judge_settings(_find_settings(settings))


def _find_settings(settings: CommandSettings) -> Document:
    """Return the content of the store's evalstore.yaml; empty if there is none."""
    from evalstore.store.locate import find_enclosing_store, resolve_folder
    from evalstore.store.root_settings import parse_settings

    try:
        root = find_enclosing_store(resolve_folder(settings.path))
        data = read_below(root, SETTINGS_FILE, MIDDLE_FILE) if root else b""
    except EvalstoreError:  # the command itself reports what is wrong with its store
        data = b""
    return parse_settings(data, SETTINGS_FILE)


def _list_unknown(document: Document) -> list[str]:
    judge = (document.value or {}).get("judge")
    keys = map(str, judge) if isinstance(judge, dict) else ()
    return [key for key in keys if key not in _IN_FILE and not key.startswith("x_")]


def _select_judge_settings(document: Document) -> Mapping[str, Any]:
    judge = (document.value or {}).get("judge") or {}
    if not isinstance(judge, dict):
        raise LoadError("`judge` is not a mapping", place=document.locate(("judge",)), hint=_HINT)
    for key, value in judge.items():
        _, types, word = _IN_FILE.get(key, ("", (), ""))
        if types and (isinstance(value, bool) or not isinstance(value, types)):
            place = document.locate(("judge", key))
            raise LoadError(f"`judge.{key}` is not {word}", place=place, hint=_HINT)
    return {key: value for key, value in judge.items() if key in _IN_FILE}


def _may_ask(settings: CommandSettings, url: str, *, asks: bool) -> bool:
    """Whether an address in evalstore.yaml may be asked.

    Strangers write files, so the environment must agree.
    """
    host = urlsplit(url).netloc.rpartition("@")[2]
    allowed = os.environ.get(_HOSTS, "").replace(",", " ").split()
    if host and not {host, host.partition(":")[0]}.isdisjoint(allowed):
        return True
    if asks:
        settings.print_message(
            f"note: {hide_url_secrets(url)} of evalstore.yaml is not asked; to allow it: "
            f"export {_HOSTS}={shlex.quote(host)}"
        )
    return False


@contextmanager
def _show_progress(
    settings: CommandSettings, plan: CallPlan
) -> Iterator[Callable[[JudgeReply], None]]:
    """Print the plan of calls, then draw progress; Ctrl-C raises `StoppedError` with a count."""
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
