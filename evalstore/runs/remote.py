"""Opens outputs and runs at a user's URL, as temporary copies; sole user of fsspec.

The server is not trusted, so bytes and seconds are limited.
"""

from __future__ import annotations

import errno
import os
import queue
import re
import shutil
import threading
import time
import weakref
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, NamedTuple
from urllib.parse import quote

from evalstore.about import suggest_install
from evalstore.errors import EvalstoreError, LoadError, Place, RefusedError, UsageError
from evalstore.files import BLOCK
from evalstore.text import hide_url_secrets, make_excerpt

# Protocols whose URL names one file. Other protocols of fsspec read more addresses from a file's
# content, or run code.
PROTOCOLS = ("s3", "gs", "gcs", "az", "abfs", "hf", "http", "https", "memory")
_HTTP = ("http://", "https://")
_COPY = "copy the file yourself and name the copy"
_MOST_WAITING = 8  # received pieces that are not written yet
_BLANK = re.compile(r"[\s\x00-\x20\x7f]")
_URL = re.compile(r"([a-z][a-z0-9+.-]*)://(.+)", re.DOTALL)
# Wraps the iteration over the pieces of a file (a progress bar).
Watch = Callable[[Iterable[bytes]], Iterable[bytes]]


class UrlBudget(NamedTuple):
    """The limits for a file at a URL: bytes, seconds, and seconds in which no byte arrives."""

    size: int = 4 << 30
    seconds: float = 900
    silence: float = 30


class _CopyFolder:
    """A temporary folder for copies, removed when no path into it is left; and its limits."""

    def __init__(self, budget: UrlBudget, watch: Watch) -> None:
        self.path = Path(mkdtemp(prefix="evalstore-"))
        self.budget, self.watch = budget, watch
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


class RemoteFile(type(Path())):  # type: ignore[misc]  # the class of paths on this system
    """A file at a URL, copied into a temporary folder when it is first opened.

    It is shown and recorded as its URL without secrets: a password, and a query, which may be
    signed. `with_name` is another file in the same remote folder; joining it to a folder
    (`folder / file`) changes nothing, as for an absolute path.
    """

    _url: str
    _folder: _CopyFolder

    @classmethod
    def from_url(cls, url: str, folder: _CopyFolder) -> RemoteFile:
        """Return the file at a URL, without requesting it yet.

        Raises `UsageError` if it is not a file's URL.
        """
        # A space would end the URL where it is shown, and urllib quotes the rest in its error.
        url = _BLANK.sub(lambda blank: quote(blank[0]), url) if url.startswith(_HTTP) else url
        match = _URL.fullmatch(_strip_query(url))
        if match is None or match[1] not in PROTOCOLS or "::" in url or match[2].endswith("/"):
            known = ", ".join(f"{name}://" for name in PROTOCOLS)
            shown = make_excerpt(hide_url_secrets(url), 80)
            raise UsageError(f"'{shown}' is not a supported URL", hint=f"known: {known}")
        path = cls(match[2])
        path._url, path._folder = url, folder  # its own
        return path

    def with_name(self, name: str) -> RemoteFile:
        """Return the file of that name in the same remote folder."""
        return self.from_url(f"{_strip_query(self._url).rpartition('/')[0]}/{name}", self._folder)

    def __str__(self) -> str:
        return hide_url_secrets(str(getattr(self, "_url", "") or super().__str__()))

    def __rtruediv__(self, folder: Any) -> RemoteFile:
        return self

    def __fspath__(self) -> str:
        if not hasattr(self, "_url"):
            return str(super().__str__())
        local = self._folder.path / self.name
        if not local.exists():
            _copy_file(self._url, local, self._folder)
        return str(local)


def _strip_query(url: str) -> str:
    """Return a URL without query and fragment, which are not part of a file's name."""
    return re.split("[?#]", url, maxsplit=1)[0] if url.startswith(_HTTP) else url


def locate_file(name: Path | str, budget: UrlBudget | None = None, watch: Watch = iter) -> Path:
    """Return the file that the user named: a path, or a URL that takes at most `budget`."""
    if not isinstance(name, str) or not _URL.fullmatch(name):
        return Path(name)
    return RemoteFile.from_url(name, _CopyFolder(budget or UrlBudget(), watch))


def _copy_file(url: str, target: Path, folder: _CopyFolder) -> None:
    """Copy the file at a URL.

    Raises `FileNotFoundError` if nothing is there, `LoadError` if it cannot be read.
    """
    unfinished = target.with_name(f".{target.name}")
    try:
        with unfinished.open("wb") as copy:
            copy.writelines(folder.watch(_receive_pieces(url, folder.budget)))
    except (EvalstoreError, FileNotFoundError):
        raise
    except ModuleNotFoundError as error:
        if error.name == "fsspec":
            raise RefusedError(
                "a URL needs fsspec, which is not installed", hint=suggest_install("remote")
            ) from None
        raise _build_error(url, error) from None
    # The errors of different file systems have no common class.
    except Exception as error:  # noqa: BLE001
        raise _build_error(url, error) from None
    unfinished.rename(target)


def _receive_pieces(url: str, budget: UrlBudget) -> Iterator[bytes]:
    """Yield the bytes at a URL; raises `LoadError` if too many, too late, or cut off."""
    # A file system may block, so it runs in a separate thread, which is abandoned when the time is
    # over.
    pieces, is_over = queue.Queue[bytes | Exception](_MOST_WAITING), threading.Event()
    threading.Thread(target=_send_pieces, args=(url, budget, pieces, is_over), daemon=True).start()
    size, end, place = 0, time.monotonic() + budget.seconds, Place(hide_url_secrets(url))
    try:
        while True:
            left = end - time.monotonic()
            try:
                piece = pieces.get(timeout=max(0.0, min(left, budget.silence)))
            except queue.Empty:
                piece = b""
                if left > budget.silence:
                    raise LoadError(
                        f"sends nothing for {budget.silence:g} seconds", place=place
                    ) from None
                left = 0
            if left <= 0:
                hint = f"{_COPY}, or allow more: EVALSTORE_URL_SECONDS"
                raise LoadError(
                    f"takes longer than {budget.seconds:g} seconds", place=place, hint=hint
                )
            if isinstance(piece, Exception):
                raise piece
            if not piece:
                return
            size += len(piece)
            if size > budget.size:
                hint = f"{_COPY}, or allow more: EVALSTORE_URL_BYTES"
                raise LoadError(f"is larger than {budget.size:,} bytes", place=place, hint=hint)
            yield piece
    finally:
        is_over.set()


def _send_pieces(
    url: str, budget: UrlBudget, pieces: queue.Queue[bytes | Exception], is_over: threading.Event
) -> None:
    """Put a URL's bytes into a queue, then empty bytes, or the error.

    Ends soon after `is_over` is set.
    """

    def put(piece: bytes | Exception) -> bool:
        while not is_over.is_set():
            with suppress(queue.Full):
                pieces.put(piece, timeout=0.2)
                return True
        return False

    try:
        with closing(_open_pieces(url, budget)) as source:
            if all(map(put, source)):
                put(b"")
    # The waiting thread raises it.
    except Exception as error:  # noqa: BLE001
        put(error)


def _open_pieces(url: str, budget: UrlBudget) -> Generator[bytes, None, None]:
    if url.startswith(_HTTP):
        from evalstore.runs.http_source import iterate_http

        yield from iterate_http(url, budget.silence)
        return
    system, path = import_module("fsspec.core").url_to_fs(url)
    try:
        with system.open(path, "rb") as source:
            yield from iter(partial(source.read, BLOCK), b"")
    except FileNotFoundError:
        raise FileNotFoundError(
            errno.ENOENT, os.strerror(errno.ENOENT), hide_url_secrets(url)
        ) from None


def _build_error(url: str, error: Exception) -> LoadError:
    reason = (
        make_excerpt(hide_url_secrets(" ".join(str(error).split())), 200) or type(error).__name__
    )
    return LoadError(f"cannot be read: {reason}", place=Place(hide_url_secrets(url)))
