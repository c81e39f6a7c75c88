"""Texts that wait on the disk until somebody reads them, so that memory holds none of them; no other file is made."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from tempfile import TemporaryFile
from weakref import finalize


class TextSpool:
    """A file without a name, which is gone with the last of its texts."""

    def __init__(self) -> None:
        self._file = TemporaryFile()  # noqa: SIM115  # as long as a text of it can be asked for
        finalize(self, self._file.close)

    def put(self, text: str) -> Callable[[], str]:
        """Put a text away, and return how it is got back."""
        start = self._file.seek(0, os.SEEK_END)
        return partial(self._get, start, self._file.write(text.encode("utf-8", "surrogateescape")))

    def _get(self, start: int, size: int) -> str:
        self._file.seek(start)
        return self._file.read(size).decode("utf-8", "surrogateescape")
