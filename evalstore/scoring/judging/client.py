"""Sends single calls to an OpenAI-compatible endpoint, each with a limit on its time."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import date
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from evalstore.about import suggest_install
from evalstore.errors import RefusedError
from evalstore.files import CHUNK
from evalstore.model import JudgeCall, JudgeReply
from evalstore.scoring.judging.deadline import EXCHANGE
from evalstore.scoring.judging.endpoint import Endpoint
from evalstore.scoring.judging.request import build_body
from evalstore.scoring.judging.response import (
    CallFailure,
    FailureEffect,
    read_completion,
    read_date,
    read_failure,
    read_shutdown_dates,
)
from evalstore.scoring.judging.secret_mask import SecretMask
from evalstore.text import hide_url_secrets, make_excerpt

if TYPE_CHECKING:
    from evalstore.scoring.judging.connections import Pools, Response

_BODY_LIMIT, _ERROR_LIMIT = 4 << 20, 1 << 14  # bytes; a judge's reply has a few thousand
_SUCCESS = 2  # the first digit of the status
_LIST_SECONDS = 10.0  # for the list of models, which nothing depends on
# A compressed body can expand to any size, so the client asks for none.
_HEADERS = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "evalstore"}
_NOISE = re.compile(r"^\[Errno -?[0-9]+\] | \(_ssl\.c:[0-9]+\)$|\.$")  # in system messages
_KEY_HINT = "none was given: set EVALSTORE_JUDGE_KEY"
_NETWORK_HINT = "check EVALSTORE_JUDGE_URL and the proxy settings of the environment"
_ENVIRONMENT_HINT = (
    "look at SSL_CERT_FILE and the proxies (HTTP_PROXY, HTTPS_PROXY, ALL_PROXY) of the environment"
)


@dataclass(frozen=True, slots=True)
class _Response:
    """One response of an endpoint.

    `body` is cut at its limit; `late`: it took longer than the timeout.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    late: bool


@dataclass(slots=True)
class JudgeClient:
    """A pool of connections to one endpoint, shared by any number of threads.

    `has_response` becomes true with the first response of any status, `has_reply` with the first
    reply of a model.
    """

    endpoint: Endpoint
    has_response: bool = False
    has_reply: bool = False
    _pools: Pools | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _mask: SecretMask = field(init=False)

    def __post_init__(self) -> None:
        self._mask = SecretMask(self.endpoint.key)

    def ask_once(self, call: JudgeCall) -> JudgeReply | CallFailure:
        """Send a call once, with exactly its model's parameters, and read the response."""
        if not call.model.get("id"):
            return CallFailure(
                f"no model is set for {call.judge}", FailureEffect.SKIP, "set EVALSTORE_JUDGE_MODEL"
            )
        response = self._exchange(
            "POST", self.endpoint.chat_url, self.endpoint.timeout, build_body(call)
        )
        return (
            self._describe_error(response)
            if isinstance(response, Exception)
            else self._read_response(response)
        )

    def find_shutdown_dates(self) -> Mapping[str, date]:
        """Return the days on which models are switched off, by id, if the endpoint lists them."""
        response = self._exchange(
            "GET", self.endpoint.models_url, min(self.endpoint.timeout, _LIST_SECONDS)
        )
        if isinstance(response, Exception):  # many endpoints have no such list
            return {}
        is_whole = (
            response.status == HTTPStatus.OK
            and not response.late
            and len(response.body) <= _BODY_LIMIT
        )
        return read_shutdown_dates(response.body) if is_whole else {}

    def close(self) -> None:
        """Close the connections; no thread may be asking any more."""
        if self._pools is not None:
            self._pools.clear()

    def _open_pools(self) -> Pools:
        with self._lock:
            self._pools = self._pools or self._make_pools()
            return self._pools

    def _make_pools(self) -> Pools:
        try:
            from evalstore.scoring.judging.connections import open_pools
        except ImportError:
            message = "asking judges needs urllib3 and certifi, which are not installed"
            raise RefusedError(message, hint=suggest_install("judge")) from None
        try:
            return open_pools(
                self.endpoint.base, self.endpoint.concurrency, _HEADERS | self.endpoint.headers
            )
        except (OSError, ValueError) as error:
            raise RefusedError(
                f"no judge can be asked: {self._word(str(error))}", hint=_ENVIRONMENT_HINT
            ) from None

    def _exchange(
        self, method: str, url: str, seconds: float, body: Any = None
    ) -> _Response | Exception:
        """Send a request once, and read its response within `seconds`, or return why not."""
        pools = self._open_pools()
        from evalstore.scoring.judging.connections import BROKEN, send_request

        EXCHANGE.start(seconds)
        try:
            with closing(send_request(pools, method, url, body)) as response:
                self.has_response = True
                return self._read_body(response)
        except BROKEN as error:
            return error

    def _read_body(self, response: Response) -> _Response:
        from evalstore.scoring.judging.connections import TOO_SLOW

        limit = _BODY_LIMIT if response.status // 100 == _SUCCESS else _ERROR_LIMIT
        body, late = bytearray(), False
        try:
            # Read in pieces: a body may be endless.
            for piece in response.stream(CHUNK, decode_content=False):
                body += piece
                if (late := EXCHANGE.is_over) or len(body) > limit:
                    break
        except TOO_SLOW:
            late = True
        headers = {name.lower(): self._mask.hide(value) for name, value in response.headers.items()}
        return _Response(response.status, headers, bytes(body), late)

    def _read_response(self, response: _Response) -> JudgeReply | CallFailure:
        # An endpoint may echo the key. What cannot be decoded stays as it is, and is not JSON.
        text = response.body.decode("utf-8", "surrogateescape")
        if response.status // 100 != _SUCCESS:
            failure = read_failure(
                response.status, response.headers, _to_text(self._mask.hide(text))
            )
            is_keyless = response.status == HTTPStatus.UNAUTHORIZED and not self.endpoint.key
            return replace(failure, hint=_KEY_HINT) if is_keyless else failure
        if len(response.body) > _BODY_LIMIT:
            return CallFailure(
                f"the endpoint answers with more than {_BODY_LIMIT:,} bytes", FailureEffect.SKIP
            )
        if response.late:
            return self._make_timeout_failure()
        result = read_completion(_to_bytes(self._mask.hide_in_reply(text)))
        if isinstance(result, CallFailure):
            # A failure quotes the body, so here even a very short key is removed before reading.
            return read_completion(_to_bytes(self._mask.hide(text)))
        self.has_reply = True
        # Hide the key again: joined parts of a text may contain it, and so may a text that is
        # itself escaped JSON.
        hide = self._mask.hide_in_reply
        text, served, finish = map(hide, (result.text, result.served, result.finish))
        return replace(
            result, text=text, served=served, finish=finish, at=read_date(response.headers)
        )

    def _describe_error(self, error: Exception) -> CallFailure:
        from evalstore.scoring.judging.connections import TOO_SLOW, UNREACHABLE, describe_break

        if isinstance(error, TOO_SLOW):
            return self._make_timeout_failure()
        problem = "cannot be reached" if isinstance(error, UNREACHABLE) else "breaks the connection"
        words = self._word(describe_break(error))
        return CallFailure(
            f"the endpoint {problem}{': ' if words else ''}{words}",
            FailureEffect.RETRY,
            _NETWORK_HINT,
        )

    def _word(self, text: str) -> str:
        return make_excerpt(hide_url_secrets(self._mask.hide(_NOISE.sub("", text))), 120)

    def _make_timeout_failure(self) -> CallFailure:
        limit = f"{self.endpoint.timeout:g} second{'' if self.endpoint.timeout == 1 else 's'}"
        return CallFailure(
            f"the endpoint did not answer within {limit}",
            FailureEffect.RETRY,
            "allow more time: --judge-timeout",
        )


def _to_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _to_text(text: str) -> str:
    return _to_bytes(text).decode("utf-8", "replace").replace("\0", "")
