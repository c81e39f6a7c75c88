"""The endpoint of the judges' models, with its timeouts, retries and limits."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from ipaddress import ip_address
from urllib.parse import urlsplit

from evalstore.arguments import require_arguments
from evalstore.errors import UsageError

_LABEL = "[A-Za-z0-9_-]{1,63}"
_URL = re.compile(
    rf"https?://(?P<host>{_LABEL}(?:\.{_LABEL})*|"
    rf"\[[0-9A-Fa-f:.]+\])(?::[0-9]{{1,5}})?(?P<path>(?:/[\w.~%+-]*)*)"
    r"(?:\?api-version=[\w.-]+)?",
    re.ASCII,
)
_URL_HINT = (
    "give http(s)://host[:port][/v1][?api-version=…], without /chat/completions; the key goes into "
    "EVALSTORE_JUDGE_KEY"
)
_DAY = 86_400  # seconds: the longest wait allowed, as system calls refuse very long ones
_BOUNDS = {
    "timeout": (0.001, _DAY),
    "retries": (0, 10_000),
    "concurrency": (1, 256),
    "first_wait": (0, _DAY),
    "longest_wait": (0, _DAY),
    "patience": (1, 1_000_000_000),
}
_SECONDS = ("timeout", "first_wait", "longest_wait")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where judges' models are asked, with its timeouts, retries and limits.

    Attributes:
        url: An OpenAI-compatible endpoint, such as `http://host:8000/v1`.
        key: Its key.
        timeout: Seconds to wait for one answer before the call is tried again.
        retries: How often a failed call is tried again.
        concurrency: How many calls are made at the same time.
        first_wait: Seconds before the second try; each further pause is twice as long.
        longest_wait: The longest pause in seconds, even if the endpoint asks for more.
        patience: The number of failed calls in a row after which no more are made.

    Raises:
        UsageError: A value is out of bounds, or the URL or the key is not valid.

    Examples:
        >>> Endpoint("http://localhost:8000", timeout=120).base
        'http://localhost:8000/v1'
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
        given = {name: getattr(self, name) for name in Endpoint.__annotations__}
        require_arguments(Endpoint, given)
        # No message shows the URL, because people put keys into it.
        if not _can_ask_url(self.url):
            raise UsageError("the URL of the judge's endpoint is not valid", hint=_URL_HINT)
        if not re.fullmatch("[!-~]*", self.key):
            raise UsageError(
                "the key of the judge's endpoint contains a space or an odd character; did "
                "you copy all of it?"
            )
        for name, (least, most) in _BOUNDS.items():
            if not least <= (value := getattr(self, name)) <= most:
                raise UsageError(
                    f"the judge's endpoint has {name} {value}; it can be from {least:,} to {most:,}"
                )
            # Sockets and locks take no other number for a time, such as NumPy's.
            if name in _SECONDS and not isinstance(value, int | float):
                object.__setattr__(self, name, float(value))

    @property
    def base(self) -> str:
        """The URL that paths are appended to; for a bare host it ends in /v1."""
        url = self.url.partition("?")[0].rstrip("/")
        return url if urlsplit(url).path else f"{url}/v1"

    @property
    def chat_url(self) -> str:
        """The URL for chat completions, with the API version that Azure requires."""
        return self._build_url("chat/completions")

    @property
    def models_url(self) -> str:
        """The URL that lists the models."""
        return self._build_url("models")

    @property
    def headers(self) -> dict[str, str]:
        """The headers that carry the key; Azure reads it from a different header."""
        azure = {"api-key": self.key} if "?" in self.url else {}
        return {"Authorization": f"Bearer {self.key}", **azure} if self.key else {}

    def _build_url(self, path: str) -> str:
        _, mark, query = self.url.partition("?")
        return f"{self.base}/{path}{mark}{query}"


def _can_ask_url(url: str) -> bool:
    """Whether a URL is plain: http(s), host, port, path and Azure's `api-version`; no user."""
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
