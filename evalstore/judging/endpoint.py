"""An OpenAI-compatible endpoint, asked one call at a time; sole user of `httpx`, imported when something is asked."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from decimal import Decimal
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from evalstore.errors import RefusedError, UsageError
from evalstore.judging.answer import read_answer
from evalstore.judging.trouble import LOCATION, FailureEffect, Trouble, trouble_of
from evalstore.model import Call, Reply
from evalstore.text import excerpt

if TYPE_CHECKING:
    import httpx

_LABEL = "[A-Za-z0-9_-]{1,63}"
_URL = re.compile(
    rf"https?://(?P<host>{_LABEL}(?:\.{_LABEL})*|\[[0-9A-Fa-f:.]+\])(?::[0-9]{{1,5}})?(?P<path>(?:/[\w.~%+-]*)*)",
    re.ASCII,
)
_NOISE = re.compile(r"^\[Errno -?[0-9]+\] | \(_ssl\.c:[0-9]+\)$|\.$")  # in words of the system and the client
_NETWORK_HINT = "look at EVALSTORE_JUDGE_URL, and at the proxies of the environment"
_ENVIRONMENT_HINT = "look at SSL_CERT_FILE and the proxies (HTTP_PROXY, HTTPS_PROXY, ALL_PROXY) of the environment"
_URL_HINT = "give http(s)://host[:port][/v1], without /chat/completions; the key goes into EVALSTORE_JUDGE_KEY"
_DAY = 86_400  # seconds; a system's clock takes no time of any length
_BOUNDS = {
    "timeout": (0.001, _DAY),
    "retries": (0, 10_000),
    "concurrency": (1, 256),
    "first_wait": (0, _DAY),
    "longest_wait": (0, _DAY),
    "patience": (1, 1_000_000_000),
}
SAMPLING = ("temperature", "top_p", "max_tokens", "seed")
_CONNECT = 10.0  # seconds to pick up; a model may take longer to answer
_LIMIT, _ERROR_LIMIT = 4 << 20, 1 << 14  # bytes of an answer; a judge's has a few thousand
# What is packed small unpacks to any size, so nothing is to come packed.
_HEADERS = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "evalstore"}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where judges' models are asked, and how patiently (in seconds); what makes no sense is a `UsageError`.

    A call is tried up to `retries` times more; the pauses double from `first_wait` to `longest_wait`, which is also the
    longest that the endpoint may ask for. When `patience` calls in a row have failed for good, no more are asked.
    """

    url: str
    key: str = field(default="", repr=False)
    timeout: float = 60
    retries: int = 5
    concurrency: int = 8
    first_wait: float = 1
    longest_wait: float = 60
    patience: int = 32

    def __post_init__(self) -> None:
        if not _can_ask_url(self.url):  # which is not shown, because keys are found in the oddest places
            raise UsageError("the URL of the judge's endpoint is none that can be asked", hint=_URL_HINT)
        if not re.fullmatch("[!-~]*", self.key):
            raise UsageError("the key of the judge's endpoint holds a space or an odd character; was it copied whole?")
        for name, (least, most) in _BOUNDS.items():
            if not least <= (value := getattr(self, name)) <= most:
                raise UsageError(f"the judge's endpoint has {name} {value}; it can be from {least:,} to {most:,}")

    @property
    def base(self) -> str:
        """The URL below which paths are asked; of a bare host it is /v1."""
        url = self.url.rstrip("/")
        return url if urlsplit(url).path else f"{url}/v1"


@dataclass(frozen=True, slots=True)
class _Response:
    """What an endpoint sent; `body` is cut where it passes its limit, `late` where it took too long."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    late: bool


@dataclass(slots=True)
class JudgeClient:
    """The connections to an endpoint, for any number of threads.

    `heard` is whether it has said anything at all so far, `answered` whether a model of it has replied.
    """

    endpoint: Endpoint
    has_response: bool = False
    has_reply: bool = False
    _client: httpx.Client | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def ask_once(self, call: Call) -> Reply | Trouble:
        """Ask once: one user message and exactly the parameters of the call's model; read what comes back."""
        if not call.model.get("id"):
            return Trouble(f"nobody says which model {call.judge} asks", FailureEffect.PASS, "set EVALSTORE_JUDGE_MODEL")
        client = self._open_client()
        import httpx

        parameters = {name: _to_plain_number(call.model[name]) for name in SAMPLING if name in call.model}
        message = {"role": "user", "content": call.prompt}
        body = {"model": call.model["id"], "messages": [message], **parameters}
        request = client.build_request("POST", f"{self.endpoint.base}/chat/completions", json=body)
        try:
            response = self._send_request(client, request)
        except (httpx.HTTPError, OSError, UnicodeError) as error:
            return self._describe_error(error)
        return self._read_response(response)

    def close(self) -> None:
        """Close the connections; nobody may be asking."""
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
            message = "judges are asked through httpx, which is not installed"
            raise RefusedError(message, hint="pip install 'evalstore[judge]'") from None
        key, many = self.endpoint.key, self.endpoint.concurrency
        try:  # of the environment it heeds what all programs do: proxies and certificates
            return httpx.Client(
                headers=_HEADERS | ({"Authorization": f"Bearer {key}"} if key else {}),
                cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),  # no answer changes what is sent next
                timeout=httpx.Timeout(self.endpoint.timeout, connect=min(_CONNECT, self.endpoint.timeout)),
                limits=httpx.Limits(max_connections=many, max_keepalive_connections=many),
                event_hooks={"response": [_move_location]},
            )
        except (ImportError, OSError, ValueError) as error:
            words = excerpt(self._hide_key(_NOISE.sub("", str(error))), 120)
            raise RefusedError(f"httpx does not start: {words}", hint=_ENVIRONMENT_HINT) from None

    def _send_request(self, client: httpx.Client, request: httpx.Request) -> _Response:
        with closing(client.send(request, stream=True)) as response:
            self.has_response = True
            late, end = False, time.monotonic() + self.endpoint.timeout
            limit = _LIMIT if response.is_success else _ERROR_LIMIT
            body = bytearray()
            for piece in response.iter_raw():  # as it comes, because an error page has any size and takes any time
                body += piece
                if (late := time.monotonic() > end) or len(body) > limit:
                    break
            headers = {name.lower(): self._hide_key(value) for name, value in response.headers.items()}
            return _Response(response.status_code, headers, bytes(body), late)

    def _read_response(self, response: _Response) -> Reply | Trouble:
        if response.status // 100 != 2:  # noqa: PLR2004  # success
            return trouble_of(
                response.status, response.headers, self._hide_key(response.body.decode("utf-8", "replace"))
            )
        if len(response.body) > _LIMIT:
            return Trouble(f"the endpoint answers more than {_LIMIT:,} bytes", FailureEffect.PASS)
        if response.late:
            return self._make_timeout_failure()
        result = read_answer(response.body)
        if isinstance(result, Trouble):  # which quotes the body, so it is read again without the key
            return read_answer(self._hide_key(response.body.decode("utf-8", "replace")).encode("utf-8"))
        self.has_reply = True
        return result

    def _describe_error(self, error: Exception) -> Trouble:
        import httpx

        is_unreachable = isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
        if isinstance(error, httpx.TimeoutException) and not is_unreachable:
            return self._make_timeout_failure()
        what = "cannot be reached" if is_unreachable else "breaks the connection"
        words = excerpt(self._hide_key(_NOISE.sub("", str(error))), 120)
        return Trouble(f"the endpoint {what}{': ' if words else ''}{words}", FailureEffect.AGAIN, _NETWORK_HINT)

    def _make_timeout_failure(self) -> Trouble:
        limit = f"{self.endpoint.timeout:g} second{'' if self.endpoint.timeout == 1 else 's'}"
        return Trouble(f"the endpoint does not answer within {limit}", FailureEffect.AGAIN, "give it more (--judge-timeout)")

    def _hide_key(self, text: str) -> str:
        return text.replace(self.endpoint.key, "[key]") if self.endpoint.key else text


def _move_location(response: httpx.Response) -> None:
    """Hide where a redirect leads from httpx, which parses it, and fails at an odd one, though none is followed."""
    if (place := response.headers.pop("location", None)) is not None:
        response.headers[LOCATION] = place


def _can_ask_url(url: str) -> bool:
    match = _URL.fullmatch(url)
    if match is None or match["path"].rstrip("/").endswith("/completions"):
        return False
    try:
        host = match["host"].strip("[]")
        if not re.search("[A-Za-z]", host.rpartition(".")[2]) or ":" in host:
            ip_address(host)
        return urlsplit(url).port != 0
    except ValueError:
        return False


def _to_plain_number(value: Any) -> Any:
    return float(value) if isinstance(value, Decimal) else value
