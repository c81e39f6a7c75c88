"""Reads the response of a call: a reply, or a failure with its effect on other calls; pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any

from evalstore.model import JudgeReply
from evalstore.text import hide_url_secrets, make_excerpt

REFUSAL_FINISH = "refusal"  # the `finish` of a reply in which the model refuses
_MAY_BE_EMPTY = {
    "length",
    "content_filter",
    REFUSAL_FINISH,
}  # such a reply is complete without a text
# Seconds; an endpoint that asks to wait longer has an hourly or daily limit.
LONGEST_REQUESTED_WAIT = 600
_MOST_COST = 1 << 40  # of one answer, in whatever unit
_KEY_HINT = "look at EVALSTORE_JUDGE_KEY"
_URL_HINT = "look at EVALSTORE_JUDGE_URL, which often ends in /v1"
_NAMES_HINT = "look at EVALSTORE_JUDGE_MODEL and EVALSTORE_JUDGE_URL, which often ends in /v1"


class FailureEffect(StrEnum):
    """What a failed call says about the calls after it."""

    STOP_ALL = "stop"  # every call would fail in the same way
    # Before the first reply, every call would fail; after it, only this prompt is refused.
    STOP_IF_FIRST = "doubt"
    SKIP = "pass"  # only this call fails
    RETRY = "again"  # this call may succeed in a moment


@dataclass(frozen=True, slots=True)
class CallFailure:
    """A call without a reply: the problem in one clause, its effect, and the wait in seconds."""

    problem: str
    effect: FailureEffect
    hint: str | None = None
    wait: float | None = None


_STATUS_MEANINGS = {  # status -> meaning, effect, hint
    400: (
        "refuses the request",
        FailureEffect.SKIP,
        "check the model's parameters and the length of the prompt",
    ),
    401: ("refuses the key", FailureEffect.STOP_ALL, _KEY_HINT),
    402: ("requires payment", FailureEffect.STOP_ALL, "check the account behind the key"),
    403: ("does not allow this", FailureEffect.STOP_IF_FIRST, _KEY_HINT),
    404: ("knows no such model or path", FailureEffect.STOP_ALL, _NAMES_HINT),
    405: ("does not accept requests at this address", FailureEffect.STOP_ALL, _URL_HINT),
    408: ("waited too long for the request", FailureEffect.RETRY, None),
    409: ("is in a conflict", FailureEffect.RETRY, None),
    413: ("finds the prompt too long", FailureEffect.SKIP, None),
    425: ("is not ready", FailureEffect.RETRY, None),
    429: ("received too many requests", FailureEffect.RETRY, "send fewer at once"),
}
_OTHER_REFUSAL = ("refuses the request", FailureEffect.SKIP, None)
_SERVER_ERROR = ("fails", FailureEffect.RETRY, None)
_NO_QUOTA = (
    "has no quota left for this account",
    FailureEffect.STOP_ALL,
    "check the account behind the key",
)


def read_completion(body: bytes) -> JudgeReply | CallFailure:
    """Return the reply in a chat completion; any other body is a failure to be retried."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return _make_body_failure("JSON", body)
    try:
        return _read_reply(document, document["choices"][0])
    except (AttributeError, IndexError, KeyError, TypeError):
        return _make_body_failure("a chat completion", body)


def _read_reply(document: Any, choice: Any) -> JudgeReply | CallFailure:
    message, finish = choice["message"], _read_name(choice.get("finish_reason"))
    text, refusal = _read_content(message.get("content")), message.get("refusal")
    # Arguments of tool calls are replies too; if there are several, or text beside them, the
    # reader of the reply finds the answer.
    if arguments := _list_arguments(message):
        text = "\n".join([text, *arguments] if text else arguments)
    # A refusal is a reply: asking again now would cost as much and give the same. The next job
    # asks again.
    if not text and isinstance(refusal, str) and refusal:
        text, finish = refusal, REFUSAL_FINISH
    if text is None and finish not in _MAY_BE_EMPTY:
        return CallFailure("the endpoint's answer has no text", FailureEffect.RETRY)
    usage = document.get("usage")
    return JudgeReply(
        text=_replace_half_characters(text or ""),
        served=_read_name(document.get("model")),
        finish=finish,
        prompt_tokens=_read_count(usage, "prompt_tokens"),
        completion_tokens=_read_count(usage, "completion_tokens"),
        cost=_read_cost(usage),
    )


def _read_count(usage: Any, name: str) -> int | None:
    count = usage.get(name) if isinstance(usage, dict) else None
    return count if type(count) is int and 0 <= count <= 1 << 40 else None


def _read_cost(usage: Any) -> Decimal | None:
    """Return the cost of an answer if the endpoint says it, as OpenRouter does; else None."""
    cost = usage.get("cost") if isinstance(usage, dict) else None
    if isinstance(cost, bool) or not isinstance(cost, int | float):
        return None
    return Decimal(str(cost)) if 0 <= cost <= _MOST_COST else None


def _read_content(content: Any) -> str | None:
    """Return a message's text; some endpoints send it in parts, between parts with thoughts."""
    if isinstance(content, list):
        parts = [part["text"] for part in content if part.get("type") == "text"]
        content = "".join(parts) if parts else None
    if content is None or isinstance(content, str):
        return content
    raise TypeError


def _list_arguments(message: Any) -> list[str]:
    """Return a message's tool arguments as JSON; some endpoints send a mapping."""
    calls = message.get("tool_calls") or []
    functions = [call.get("function") for call in calls] or [message.get("function_call")]
    arguments = [function.get("arguments") for function in functions if function]
    return [one if isinstance(one, str) else json.dumps(one) for one in arguments if one]


def _read_name(value: Any) -> str:
    return _replace_half_characters(value[:200]) if isinstance(value, str) else ""


def _replace_half_characters(text: str) -> str:
    """Replace half a surrogate pair, left where a reply was cut: UTF-8 cannot encode it."""
    return (
        text
        if text.isascii()
        else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    )


def _make_body_failure(expected: str, body: bytes) -> CallFailure:
    shown = make_excerpt(" ".join(body[:500].decode("utf-8", "replace").split()), 80)
    return CallFailure(
        f"the endpoint does not answer with {expected}: {shown}"
        if shown
        else "the endpoint answers nothing",
        FailureEffect.RETRY,
    )


def read_failure(status: int, headers: Mapping[str, str], body: str) -> CallFailure:
    """Return the failure that an unsuccessful response means; `body` is its beginning.

    The names of `headers` are in lower case.
    """
    if status // 100 == 3:  # noqa: PLR2004  # redirects
        location = make_excerpt(hide_url_secrets(headers.get("location", "nowhere")), 100)
        problem = f"the endpoint redirects to {location}, and evalstore does not send the key there"
        return CallFailure(
            problem, FailureEffect.STOP_ALL, "if that is the right endpoint, use its URL"
        )
    is_server_error = status >= 500  # noqa: PLR2004
    refusal = _STATUS_MEANINGS.get(status, _OTHER_REFUSAL)
    meaning = _SERVER_ERROR if is_server_error else refusal
    # Some endpoints send 429, which usually passes, for an empty account, which does not.
    error = _find_error_object(body)
    if "insufficient_quota" in {error.get("code"), error.get("type")}:
        meaning = _NO_QUOTA
    summary, effect, hint = meaning
    message = _find_error_message(error, body)
    problem = f"the endpoint {summary} ({status}{': ' if message else ''}{message})"
    wait = read_retry_after(headers)
    # No call can succeed before that, so stop.
    if effect is FailureEffect.RETRY and wait is not None and wait > LONGEST_REQUESTED_WAIT:
        problem += f", and asks to wait {_describe_wait(wait)}"
        return CallFailure(
            problem, FailureEffect.STOP_ALL, "run the same command again after that", wait
        )
    return CallFailure(problem, effect, hint, wait)


def _describe_wait(seconds: float) -> str:
    hours = min(seconds, 1e8) / 3600  # some endpoints send absurd numbers
    if hours < 1:
        return f"{seconds / 60:.0f} minutes"
    return f"{hours:,.0f} hour{'' if round(hours) == 1 else 's'}"


def read_retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds of Retry-After (RFC 9110, 10.2.3), or None.

    A date is compared with the Date of the same response, so that this machine's clock does not
    matter.
    """
    header = headers.get("retry-after", "")
    for read in (float, lambda text: _parse_date(text) - _parse_date(headers["date"])):
        seconds = _try_parse(read, header)
        if seconds is not None and 0 <= seconds < float("inf"):
            return seconds
    return None


def read_date(headers: Mapping[str, str]) -> str:
    """Return the Date of a response in ISO 8601, UTC; empty if it has none."""
    seconds = _try_parse(_parse_date, headers.get("date", ""))
    return (
        ""
        if seconds is None
        else datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")
    )


def _try_parse(read: Callable[[str], float], text: str) -> float | None:
    try:
        return read(text)
    except (KeyError, TypeError, ValueError, OverflowError):
        return None


def _parse_date(text: str) -> float:
    from email.utils import parsedate_to_datetime

    return parsedate_to_datetime(text).timestamp()


def _find_error_object(body: str) -> Mapping[str, Any]:
    """Return the `error` object in a body, or the nearest thing to it."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    error = document.get("error", document) if isinstance(document, dict) else {}
    return error if isinstance(error, dict) else {"message": error}


def _find_error_message(error: Mapping[str, Any], body: str) -> str:
    message = next(
        (error[name] for name in ("message", "detail") if isinstance(error.get(name), str)), body
    )
    return make_excerpt(" ".join(message.split()), 120)


def read_shutdown_dates(body: bytes) -> dict[str, date]:
    """Return the `shutdown_date` of each model in an endpoint's list, by its id.

    It is a day or a time in ISO 8601, or seconds since 1970.
    """
    try:
        models = json.loads(body)["data"]
    except (KeyError, RecursionError, TypeError, ValueError):
        return {}
    known = (
        [model for model in models if isinstance(model, dict)] if isinstance(models, list) else []
    )
    days = ((model.get("id"), _read_day(model.get("shutdown_date"))) for model in known)
    return {id_: day for id_, day in days if isinstance(id_, str) and day}


def _read_day(value: Any) -> date | None:
    try:
        if isinstance(value, str):
            return date.fromisoformat(value[:10])
        return datetime.fromtimestamp(value, UTC).date() if type(value) in {int, float} else None
    except (OSError, OverflowError, ValueError):
        return None
