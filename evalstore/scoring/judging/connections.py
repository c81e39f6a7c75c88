"""Connections to one endpoint, bounded by the exchange's deadline; sole user of `urllib3`."""

from __future__ import annotations

import json
import os
import queue
import socket
import ssl
import threading
from http import HTTPStatus
from http.client import IncompleteRead, RemoteDisconnected
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

import certifi
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool, PoolManager, ProxyManager
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import (
    HTTPError,
    LocationParseError,
    ProtocolError,
    ProxyError,
    ProxySchemeUnknown,
    SSLError,
)
from urllib3.exceptions import TimeoutError as SlowError
from urllib3.response import BaseHTTPResponse
from urllib3.util import Timeout, make_headers
from urllib3.util.connection import create_connection

from evalstore.scoring.judging.deadline import EXCHANGE

# Seconds to accept a connection; the model's answer may take longer.
_LONGEST_CONNECT = 10.0
_AUTHORITIES = "SSL_CERT_FILE"  # as other programs read it
_WORDS = {
    RemoteDisconnected: "it hung up without a response",
    IncompleteRead: "it hung up in the middle of a response",
}
Pools = PoolManager
Response = BaseHTTPResponse
TOO_SLOW = (SlowError, TimeoutError)


class UnreachableError(Exception):
    """Nothing accepts a connection at the endpoint, or at its proxy."""


UNREACHABLE = (UnreachableError, ProxyError, SSLError)
BROKEN = (UnreachableError, HTTPError, OSError, UnicodeError)


class _BoundSocket(socket.socket):
    """A socket that waits no longer than its thread's exchange may take.

    A socket's own timeout would start again with every piece that arrives.
    """

    def recv_into(self, *args: Any) -> int:
        self.settimeout(EXCHANGE.find_left())
        return super().recv_into(*args)

    def send(self, *args: Any) -> int:
        self.settimeout(EXCHANGE.find_left())
        return super().send(*args)

    def sendall(self, *args: Any) -> None:
        self.settimeout(EXCHANGE.find_left())
        super().sendall(*args)


class _BoundTlsSocket(_BoundSocket, ssl.SSLSocket):
    """The same, encrypted."""


class _BoundConnection(HTTPConnection):
    """A connection whose look-up of the host name is bounded, too."""

    def _new_conn(self) -> socket.socket:
        try:
            opened = self._open_socket()
        except TimeoutError:
            raise UnreachableError("timed out") from None
        except (OSError, UnicodeError) as error:
            raise UnreachableError(str(error)) from error
        bound = _BoundSocket(fileno=opened.detach())
        bound.settimeout(EXCHANGE.find_left(_LONGEST_CONNECT))  # for the handshake
        return bound

    def _open_socket(self) -> socket.socket:
        *others, last = _look_up(self._dns_host, self.port)
        for address in others:
            try:
                return self._connect_to(address)
            except OSError:  # refused, or no answer, as in a network that blocks IPv6
                continue
        return self._connect_to(last)

    def _connect_to(self, address: str) -> socket.socket:
        seconds = EXCHANGE.find_left(_LONGEST_CONNECT)
        return create_connection((address, self.port), seconds, socket_options=self.socket_options)


class _BoundTlsConnection(_BoundConnection, HTTPSConnection):
    """The same, encrypted."""


class _Pool(HTTPConnectionPool):
    ConnectionCls = _BoundConnection


class _TlsPool(HTTPSConnectionPool):
    ConnectionCls = _BoundTlsConnection


def open_pools(url: str, connections: int, headers: dict[str, str]) -> Pools:
    """Return a pool of up to `connections` to the host of `url`, through the environment's proxy.

    Raises `ValueError` for an unusable proxy, `OSError` for unreadable certificates.
    """
    given: dict[str, Any] = {
        "maxsize": connections,
        "headers": headers,
        "retries": False,
        "timeout": Timeout(connect=_LONGEST_CONNECT, read=None),
    }
    proxy = _find_proxy(url)
    if proxy or urlsplit(url).scheme == "https":  # reading the certificate authorities takes 30 ms
        given["ssl_context"] = _make_tls_context()
    manager = _make_proxy_manager(proxy, given) if proxy else PoolManager(**given)
    manager.pool_classes_by_scheme = {"http": _Pool, "https": _TlsPool}
    return manager


def send_request(pools: Pools, method: str, url: str, body: Any = None) -> Response:
    """Send a request, with JSON if there is a body; return the response before its body is read."""
    more: dict[str, Any] = {}
    if body is not None:
        written = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        more = {
            "body": written.encode(),
            "headers": {**pools.headers, "Content-Type": "application/json"},
        }
    response = pools.urlopen(
        method, url, redirect=False, preload_content=False, decode_content=False, **more
    )
    if response.status < HTTPStatus.OK:  # http.client waits for the final response only after a 100
        response.close()
        raise ProtocolError(f"it answers with status {response.status} alone")
    return response


def describe_break(error: Exception) -> str:
    """Return why there was no response, in the words of the system or the endpoint."""
    causes = [one for one in error.args if isinstance(one, Exception)]
    cause = causes[-1] if causes else error
    return next((said for kind, said in _WORDS.items() if isinstance(cause, kind)), str(cause))


def _make_tls_context() -> ssl.SSLContext:
    named = os.environ.get(_AUTHORITIES)
    context = ssl.create_default_context(cafile=named or certifi.where())
    context.sslsocket_class = _BoundTlsSocket
    return context


def _find_proxy(url: str) -> str | None:
    """Return the proxy that the environment names for a URL, by the usual variables."""
    parts, proxies = urlsplit(url), getproxies()
    if proxy_bypass(parts.netloc.rpartition("@")[2]):
        return None
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    return proxy if proxy is None or "://" in proxy else f"http://{proxy}"


def _make_proxy_manager(proxy: str, given: dict[str, Any]) -> ProxyManager:
    # Quote no error: what urllib3 reads as the port may be part of a password.
    problem = "the URL of a proxy is not valid"
    try:
        parts = urlsplit(proxy)
        if parts.hostname and parts.port != 0:
            return ProxyManager(
                proxy,
                proxy_headers=_write_login(parts),
                proxy_ssl_context=given["ssl_context"],
                **given,
            )
    except ProxySchemeUnknown:
        problem = "a proxy must be http:// or https://"
    except (LocationParseError, ValueError):  # an impossible port or host name
        pass
    raise ValueError(problem)


def _write_login(proxy: SplitResult) -> dict[str, str] | None:
    if proxy.username is None:
        return None
    login = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return make_headers(proxy_basic_auth=login)


def _look_up(host: str, port: int) -> list[str]:
    """Return a host's addresses, at least one.

    Raises `OSError` if there is none, or none in time.
    """
    answers: queue.SimpleQueue[list[Any] | OSError | UnicodeError] = queue.SimpleQueue()

    def ask_system() -> None:
        try:
            answers.put(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except (OSError, UnicodeError) as error:
            answers.put(error)

    # A daemon, so that the program can end without waiting for it.
    threading.Thread(target=ask_system, daemon=True).start()
    try:
        answer = answers.get(timeout=EXCHANGE.find_left(_LONGEST_CONNECT))
    except queue.Empty:
        raise OSError(f"looking up the name {host} took too long") from None
    if isinstance(answer, Exception):
        raise answer
    return list(dict.fromkeys(str(entry[4][0]) for entry in answer))
