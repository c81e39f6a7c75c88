"""Ends an exchange with an endpoint at a deadline; a timeout of httpx is for one read, and bytes that drip meet it.

httpx reports its connections through the `trace` extension of a request; each read and write is given what is left of
the time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import httpcore

_PIECE = 1 << 16  # bytes written at a time


class ExchangeDeadline(threading.local):
    """The end of the exchange that a thread is having, in seconds of the monotonic clock.

    Connections are shared by threads, and an exchange is of one thread.
    """

    end = 0.0

    def start(self, seconds: float) -> None:
        """Begin an exchange of this thread."""
        self.end = time.monotonic() + seconds

    @property
    def is_over(self) -> bool:
        """Whether the time is up."""
        return time.monotonic() > self.end

    def limit(self, timeout: float | None) -> float | None:
        """Return the timeout of one read or write; 0 when the time is up."""
        left = max(0.0, self.end - time.monotonic())
        return left if timeout is None else min(timeout, left)

    def trace(self, _: str, info: Mapping[str, Any]) -> None:
        """Bound the stream of a connection that was just opened (the `trace` extension of httpx)."""
        import httpcore

        if isinstance(stream := info.get("return_value"), httpcore.NetworkStream):
            _bound_stream(stream, self)


def _bound_stream(stream: httpcore.NetworkStream, deadline: ExchangeDeadline) -> None:
    import httpcore

    read, write = stream.read, stream.write

    def read_in_time(max_bytes: int, timeout: float | None = None) -> bytes:
        # What has arrived already is read without waiting: an endless head would meet any timeout.
        if not (limit := deadline.limit(timeout)):
            raise httpcore.ReadTimeout
        return read(max_bytes, limit)

    def write_in_time(buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), _PIECE):
            if not (limit := deadline.limit(timeout)):
                raise httpcore.WriteTimeout
            write(buffer[start : start + _PIECE], limit)

    stream.read, stream.write = read_in_time, write_in_time  # type: ignore[method-assign]
