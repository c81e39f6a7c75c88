"""Why a call got no answer, and what follows from it: pure tables over what an endpoint said."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from evalstore.text import excerpt


class FailureEffect(StrEnum):
    """What a trouble means for the other calls."""

    STOP = "stop"  # they would all end the same way
    STOP_IF_FIRST = "doubt"  # so would they, unless the endpoint has answered before: then it minds this prompt
    PASS = "pass"  # they are not concerned
    AGAIN = "again"  # this one may go well in a moment


@dataclass(frozen=True, slots=True)
class Trouble:
    """A call without an answer: one clause, what follows, and the seconds that the endpoint asks to wait."""

    problem: str
    then: FailureEffect
    hint: str | None = None
    wait: float | None = None


LOCATION = "x-location"  # the header in which the client leaves where a redirect leads

_KEY = "look at EVALSTORE_JUDGE_KEY"
_URL = "look at EVALSTORE_JUDGE_URL, which often ends in /v1"
_NAMES = "look at EVALSTORE_JUDGE_MODEL and EVALSTORE_JUDGE_URL, which often ends in /v1"
_STATUS = {  # what an endpoint answers -> what it means, what follows, what to do
    400: ("refuses the request", FailureEffect.PASS, "look at the model's parameters and at the length of the prompt"),
    401: ("refuses the key", FailureEffect.STOP, _KEY),
    402: ("wants to be paid first", FailureEffect.STOP, "look at the account behind the key"),
    403: ("does not allow this", FailureEffect.STOP_IF_FIRST, _KEY),
    404: ("knows no such model or path", FailureEffect.STOP, _NAMES),
    405: ("takes no questions here", FailureEffect.STOP, _URL),
    408: ("waited too long for the request", FailureEffect.AGAIN, None),
    409: ("is in a conflict", FailureEffect.AGAIN, None),
    413: ("finds the prompt too long", FailureEffect.PASS, None),
    425: ("is not ready", FailureEffect.AGAIN, None),
    429: ("is asked too often", FailureEffect.AGAIN, "ask fewer at once"),
}
_REFUSES = ("refuses the request", FailureEffect.PASS, None)
_FAILS = ("fails", FailureEffect.AGAIN, None)
_SPENT = ("has no quota left for this account", FailureEffect.STOP, "look at the account behind the key")


def trouble_of(status: int, headers: Mapping[str, str], body: str) -> Trouble:
    """Read an answer that is none: its status, its headers (names in lower case) and the beginning of its body."""
    if status // 100 == 3:  # noqa: PLR2004  # redirects
        place = excerpt(headers.get(LOCATION, "nowhere"), 100)
        problem = f"the endpoint sends on to {place}, where the key does not follow"
        return Trouble(problem, FailureEffect.STOP, "if that is the endpoint, give its URL")
    meaning = _FAILS if status >= 500 else _STATUS.get(status, _REFUSES)  # noqa: PLR2004  # server errors
    error = _error(body)
    if "insufficient_quota" in {error.get("code"), error.get("type")}:
        meaning = _SPENT
    said, then, hint = meaning
    words = _message(error, body)
    problem = f"the endpoint {said} ({status}{': ' if words else ''}{words})"
    return Trouble(problem, then, hint, wait_of(headers))


def wait_of(headers: Mapping[str, str]) -> float | None:
    """Return the seconds of Retry-After; a date is counted from the answer's own, so no clock need agree with it."""
    asked = headers.get("retry-after", "")
    for read in (float, lambda text: _date(text) - _date(headers["date"])):
        seconds = _tried(read, asked)
        if seconds is not None and 0 <= seconds < float("inf"):
            return seconds
    return None


def _tried(read: Callable[[str], float], text: str) -> float | None:
    try:
        return read(text)
    except (KeyError, TypeError, ValueError, OverflowError):
        return None


def _date(text: str) -> float:
    from email.utils import parsedate_to_datetime

    return parsedate_to_datetime(text).timestamp()


def _error(body: str) -> Mapping[str, Any]:
    """Return the `error` object that most endpoints answer, or what comes nearest to it."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    error = found.get("error", found) if isinstance(found, dict) else {}
    return error if isinstance(error, dict) else {"message": error}


def _message(error: Mapping[str, Any], body: str) -> str:
    said = next((error[name] for name in ("message", "detail") if isinstance(error.get(name), str)), body)
    return excerpt(" ".join(said.split()), 120)
