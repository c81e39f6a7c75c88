"""Asks an OpenAI-compatible endpoint one call at a time; sole user of `httpx`, imported when something is asked."""

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
from evalstore.model import JudgeCall, JudgeReply
from evalstore.scoring.judging.deadline import ExchangeDeadline
from evalstore.scoring.judging.endpoint import Endpoint
from evalstore.scoring.judging.request import build_body
from evalstore.scoring.judging.response import (
    LOCATION,
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
    import httpx

_BODY_LIMIT, _ERROR_LIMIT = 4 << 20, 1 << 14  # bytes; a reply of a judge has a few thousand
_LIST_SECONDS = 10.0  # for the list of models, which nothing depends on
# A compressed body can expand to any size, so the client asks for none.
_HEADERS = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "evalstore"}
_NOISE = re.compile(
    r"^\[Errno -?[0-9]+\] | \(_ssl\.c:[0-9]+\)$|\.$"
)  # in messages of the system and of httpx
_KEY_HINT = "none was given: set EVALSTORE_JUDGE_KEY"
_NETWORK_HINT = "check EVALSTORE_JUDGE_URL and the proxy settings of the environment"
_ENVIRONMENT_HINT = (
    "look at SSL_CERT_FILE and the proxies (HTTP_PROXY, HTTPS_PROXY, ALL_PROXY) of the environment"
)


@dataclass(frozen=True, slots=True)
class _Response:
    """One response of an endpoint; `body` is cut at its limit, and `late` says that it took longer than the timeout."""

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
    _client: httpx.Client | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _deadline: ExchangeDeadline = field(default_factory=ExchangeDeadline)
    _mask: SecretMask = field(init=False)

    def __post_init__(self) -> None:
        self._mask = SecretMask(self.endpoint.key)

    def ask_once(self, call: JudgeCall) -> JudgeReply | CallFailure:
        """Send a call once, as a user message with exactly the parameters of the call's model; read the response."""
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
        """Return the days on which models are switched off, by id, where the endpoint's list of models has them."""
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
        if self._client is not None:
            self._client.close()

    def _open_client(self) -> httpx.Client:
        with self._lock:
            self._client = self._client or self._make_client()
            return self._client

    def _make_client(self) -> httpx.Client:
        from http.cookiejar import CookieJar, DefaultCookiePolicy

        try:
            import httpx
        except ImportError:
            message = "asking judges needs httpx, which is not installed"
            raise RefusedError(message, hint=suggest_install("judge")) from None
        connections = self.endpoint.concurrency
        # httpx reads the environment that all programs read: HTTP_PROXY and the like, NO_PROXY,
        # SSL_CERT_FILE.
        try:
            return httpx.Client(
                headers=_HEADERS | self.endpoint.headers,
                cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),  # keeps none
                # A model may take longer to answer, but not the endpoint to accept a connection.
                timeout=httpx.Timeout(
                    self.endpoint.timeout, connect=min(10.0, self.endpoint.timeout)
                ),
                limits=httpx.Limits(
                    max_connections=connections, max_keepalive_connections=connections
                ),
                event_hooks={"response": [_move_location]},
            )
        except (ImportError, OSError, ValueError) as error:
            words = make_excerpt(hide_url_secrets(self._mask.hide(_NOISE.sub("", str(error)))), 120)
        except (
            httpx.InvalidURL
        ):  # it quotes what it takes for the port, which may be a part of a password
            words = "the URL of a proxy is not valid"
        raise RefusedError(f"httpx does not start: {words}", hint=_ENVIRONMENT_HINT)

    def _exchange(
        self, method: str, url: str, seconds: float, body: Any = None
    ) -> _Response | Exception:
        """Send a request once, and read its response within `seconds`; or return why there is none."""
        client = self._open_client()
        import httpx

        request = client.build_request(
            method, url, json=body, extensions={"trace": self._deadline.trace}
        )
        self._deadline.start(seconds)
        try:
            return self._send_request(client, request)
        except (httpx.HTTPError, httpx.InvalidURL, OSError, UnicodeError) as error:
            return error

    def _send_request(self, client: httpx.Client, request: httpx.Request) -> _Response:
        with closing(client.send(request, stream=True)) as response:
            self.has_response = True
            late = False
            limit = _BODY_LIMIT if response.is_success else _ERROR_LIMIT
            body = bytearray()
            # Read piece by piece: a body may be endless.
            for piece in response.iter_raw():
                body += piece
                if (late := self._deadline.is_over) or len(body) > limit:
                    break
            headers = {
                name.lower(): self._mask.hide(value) for name, value in response.headers.items()
            }
            return _Response(response.status_code, headers, bytes(body), late)

    def _read_response(self, response: _Response) -> JudgeReply | CallFailure:
        # An endpoint may echo the key. What cannot be decoded stays as it is, and is not JSON.
        text = response.body.decode("utf-8", "surrogateescape")
        if response.status // 100 != 2:  # noqa: PLR2004  # success
            failure = read_failure(
                response.status, response.headers, _to_text(self._mask.hide(text))
            )
            is_keyless = response.status == HTTPStatus.UNAUTHORIZED and not self.endpoint.key
            return replace(failure, hint=_KEY_HINT) if is_keyless else failure
        if len(response.body) > _BODY_LIMIT:
            return CallFailure(
                f"the endpoint answers more than {_BODY_LIMIT:,} bytes", FailureEffect.SKIP
            )
        if response.late:
            return self._make_timeout_failure()
        result = read_completion(_to_bytes(self._mask.hide_in_reply(text)))
        if isinstance(result, CallFailure):
            # A failure quotes the body: read it again without the shortest of keys.
            return read_completion(_to_bytes(self._mask.hide(text)))
        self.has_reply = True
        # Once more: parts of a text may make a key together, and a text may be JSON with escapes of
        # its own.
        hide = self._mask.hide_in_reply
        text, served, finish = map(hide, (result.text, result.served, result.finish))
        return replace(
            result, text=text, served=served, finish=finish, at=read_date(response.headers)
        )

    def _describe_error(self, error: Exception) -> CallFailure:
        import httpx

        is_unreachable = isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
        if isinstance(error, httpx.TimeoutException) and not is_unreachable:
            return self._make_timeout_failure()
        problem = "cannot be reached" if is_unreachable else "breaks the connection"
        words = make_excerpt(hide_url_secrets(self._mask.hide(_NOISE.sub("", str(error)))), 120)
        return CallFailure(
            f"the endpoint {problem}{': ' if words else ''}{words}",
            FailureEffect.RETRY,
            _NETWORK_HINT,
        )

    def _make_timeout_failure(self) -> CallFailure:
        limit = f"{self.endpoint.timeout:g} second{'' if self.endpoint.timeout == 1 else 's'}"
        return CallFailure(
            f"the endpoint did not answer within {limit}",
            FailureEffect.RETRY,
            "allow more time: --judge-timeout",
        )


def _move_location(response: httpx.Response) -> None:
    """Rename the header of a redirect: httpx parses its URL, and raises at an odd one, although it follows none."""
    if (location := response.headers.pop("location", None)) is not None:
        response.headers[LOCATION] = location


def _to_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _to_text(text: str) -> str:
    return _to_bytes(text).decode("utf-8", "replace").replace("\0", "")
