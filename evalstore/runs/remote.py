"""Opens outputs and runs behind a URL that the user typed, as copies in a temporary folder; sole user of fsspec."""

from __future__ import annotations

import errno
import os
import re
import shutil
import weakref
from importlib import import_module
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from evalstore.about import suggest_install
from evalstore.errors import LoadError, Place, RefusedError, UsageError
from evalstore.files import BLOCK
from evalstore.text import make_excerpt

# Protocols that name a file by itself: others of fsspec read further addresses from a file's content, or run code.
PROTOCOLS = ("s3", "gs", "gcs", "az", "abfs", "hf", "http", "https", "memory")
_URL = re.compile(r"([a-z][a-z0-9+.-]*)://(.+)", re.DOTALL)


class _CopyFolder:
    """A temporary folder that is removed with the last path into it."""

    def __init__(self) -> None:
        self.path = Path(mkdtemp(prefix="evalstore-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


class RemoteFile(type(Path())):  # type: ignore[misc]  # the class of paths on this system
    """A file behind a URL: shown as its URL, and copied into a temporary folder when it is first opened.

    A name beside it (`with_name`) is a file in the same remote folder; a folder before it changes nothing.
    """

    _url: str
    _folder: _CopyFolder

    @classmethod
    def from_url(cls, url: str, folder: _CopyFolder | None = None) -> RemoteFile:
        """Return the file behind a URL, which is not asked for yet; `UsageError` for what is not a URL of a file."""
        match = _URL.fullmatch(url)
        if match is None or match[1] not in PROTOCOLS or "::" in url or url.endswith("/"):
            known = ", ".join(f"{name}://" for name in PROTOCOLS)
            raise UsageError(f"'{make_excerpt(url, 80)}' is not a supported URL", hint=f"known: {known}")
        path = cls(match[2])
        path._url, path._folder = url, folder or _CopyFolder()  # its own
        return path

    def with_name(self, name: str) -> RemoteFile:
        """Return the file of that name in the same remote folder."""
        return self.from_url(f"{self._url.rpartition('/')[0]}/{name}", self._folder)

    def __str__(self) -> str:
        return str(getattr(self, "_url", "") or super().__str__())

    def __rtruediv__(self, folder: Any) -> RemoteFile:
        return self

    def __fspath__(self) -> str:
        if not hasattr(self, "_url"):
            return str(super().__str__())
        local = self._folder.path / self.name
        if not local.exists():
            _copy_file(self._url, local)
        return str(local)


def locate_file(name: Path | str) -> Path:
    """Return the file that the user named: a path, or behind a URL."""
    return RemoteFile.from_url(name) if isinstance(name, str) and _URL.fullmatch(name) else Path(name)


def _copy_file(url: str, target: Path) -> None:
    """Copy what a URL names; `FileNotFoundError` where nothing is there, `LoadError` where it cannot be read."""
    try:
        system, path = import_module("fsspec.core").url_to_fs(url)
        partial = target.with_name(f".{target.name}")
        with system.open(path, "rb") as source, partial.open("wb") as copy:
            shutil.copyfileobj(source, copy, BLOCK)
    except ModuleNotFoundError as error:
        if error.name == "fsspec":
            raise RefusedError("a URL needs fsspec, which is not installed", hint=suggest_install("remote")) from None
        raise _build_error(url, error) from None
    except FileNotFoundError:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), url) from None
    # Each file system has errors of its own, which no class has in common.
    except Exception as error:  # noqa: BLE001
        raise _build_error(url, error) from None
    partial.rename(target)


def _build_error(url: str, error: Exception) -> LoadError:
    reason = make_excerpt(" ".join(str(error).split()), 200) or type(error).__name__
    return LoadError(f"cannot be read: {reason}", place=Place(url))
