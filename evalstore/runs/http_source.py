"""Reads the content of an http(s) URL in pieces; sole user of `urllib.request`."""

from __future__ import annotations

import errno
import os
from base64 import b64encode
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPMessage, InvalidURL
from typing import IO, Any
from urllib.error import HTTPError, URLError
from urllib.parse import unquote, urlsplit
from urllib.request import (
    HTTPDefaultErrorHandler,
    HTTPErrorProcessor,
    HTTPHandler,
    HTTPRedirectHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
)

from evalstore.errors import LoadError, Place
from evalstore.files import BLOCK
from evalstore.text import hide_url_secrets, make_excerpt

_NOT_FOUND = frozenset({404, 410})


class _HostRedirects(HTTPRedirectHandler):
    """Follows a redirect only to the same host and port, or from http to https on that host."""

    def redirect_request(  # noqa: PLR0913, PLR0917  # the arguments of the standard library
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> Request | None:
        """Return the next request; raises `LoadError` for a host that the user did not name."""
        # The standard library would read the whole body of a redirect, of any size.
        fp.close()
        old, new = urlsplit(req.full_url), urlsplit(newurl)
        if (old.scheme, old.netloc) != (new.scheme, new.netloc) and (
            (new.scheme, new.port, old.port) != ("https", None, None)
            or old.hostname != new.hostname
        ):
            host = hide_url_secrets(f"{new.scheme}://{new.netloc}")
            raise LoadError(
                f"redirects to another host: {make_excerpt(host, 80)}",
                place=Place(hide_url_secrets(req.full_url)),
                hint="name the URL that it leads to, if you trust it",
            )
        return super().redirect_request(req, fp, code, msg, headers, newurl)


# The standard library's handlers, except those for files and FTP.
_HANDLERS = (
    ProxyHandler,
    HTTPHandler,
    HTTPSHandler,
    HTTPDefaultErrorHandler,
    HTTPErrorProcessor,
    _HostRedirects,
)


def iterate_http(url: str, seconds: float) -> Iterator[bytes]:
    """Yield the bytes of a URL as they arrive, waiting at most `seconds` for the next ones.

    Raises `FileNotFoundError` if nothing is there, `LoadError` or `OSError` if it cannot be read.
    """
    opener, shown = OpenerDirector(), hide_url_secrets(url)
    for make_handler in _HANDLERS:
        opener.add_handler(make_handler())
    try:
        with closing(opener.open(_make_request(url), timeout=seconds)) as response:
            while piece := response.read1(BLOCK):
                yield piece
            if response.length:
                raise LoadError(
                    f"ends {response.length:,} bytes before the length it said", place=Place(shown)
                )
    except HTTPError as error:
        with error:
            if error.code in _NOT_FOUND:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), shown) from None
            raise OSError(f"the server answers {error.code} {error.reason}") from None
    except TimeoutError:
        raise LoadError(f"sends nothing for {seconds:g} seconds", place=Place(shown)) from None
    except InvalidURL:  # it quotes what looks like the port, which may be part of a password
        raise OSError("its URL, or that of a proxy, is not valid") from None
    except URLError as error:
        # The system's words, without its number: "Connection refused".
        raise OSError(getattr(error.reason, "strerror", None) or str(error.reason)) from None


def _make_request(url: str) -> Request:
    # A compressed answer could expand to any size.
    headers = {"Accept-Encoding": "identity", "User-Agent": "evalstore"}
    request: Any = Request(url, headers=headers)  # noqa: S310  # http(s)
    parts = urlsplit(url)
    if parts.username is not None:
        plain = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
        request.full_url = plain
        key = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        request.add_unredirected_header(
            "Authorization", f"Basic {b64encode(key.encode()).decode('ascii')}"
        )
    return request  # type: ignore[no-any-return]
