"""Bounds the whole exchange of a call in time, the look-up of its host included."""

from __future__ import annotations

import queue
import socket
import threading
import time
from typing import TYPE_CHECKING, Any

from evalstore.files import CHUNK

if TYPE_CHECKING:
    import httpcore


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

    def trace(self, event: str, info: dict[str, Any]) -> None:
        """Look up a host that is about to be connected to, or bound a stream that was just opened.

        This is the `trace` extension of httpx; `info` are the arguments of the connection, or its
        stream.
        """
        import httpcore

        if event.endswith("connect_tcp.started"):
            limit = self.limit(info.get("timeout"))
            info["host"] = _look_up(
                info["host"], info["port"], self.end if limit is None else time.monotonic() + limit
            )
        elif isinstance(stream := info.get("return_value"), httpcore.NetworkStream):
            _bound_stream(stream, self)


def _look_up(host: str, port: int, end: float) -> str:
    """Return the address of a host that can be connected to; raises as httpcore does where there is none in time."""
    import httpcore

    answers: queue.SimpleQueue[list[Any] | OSError | UnicodeError] = queue.SimpleQueue()

    def ask_system() -> None:
        try:
            answers.put(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except (OSError, UnicodeError) as error:
            answers.put(error)

    # Nobody waits for this thread when the program ends.
    threading.Thread(target=ask_system, daemon=True).start()
    try:
        answer = answers.get(timeout=max(0.0, end - time.monotonic()))
    except queue.Empty:
        raise httpcore.ConnectTimeout(f"looking up the name {host} took too long") from None
    if isinstance(answer, Exception):
        raise httpcore.ConnectError(str(answer)) from answer
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in answer))
    return next((one for one in addresses[:-1] if _accepts(one, port, end)), addresses[-1])


def _accepts(address: str, port: int, end: float) -> bool:
    """Whether one of several addresses of a host can be connected to."""
    try:
        # 0 would be no waiting at all, and a refusal of every address.
        socket.create_connection((address, port), max(0.001, end - time.monotonic())).close()
    except OSError:
        return False
    return True


def _bound_stream(stream: httpcore.NetworkStream, deadline: ExchangeDeadline) -> None:
    import httpcore

    read, write = stream.read, stream.write

    def read_in_time(max_bytes: int, timeout: float | None = None) -> bytes:
        # What has arrived already is read without waiting: an endless head would meet any timeout.
        if not (limit := deadline.limit(timeout)):
            raise httpcore.ReadTimeout
        return read(max_bytes, limit)

    def write_in_time(buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), CHUNK):
            if not (limit := deadline.limit(timeout)):
                raise httpcore.WriteTimeout
            write(buffer[start : start + CHUNK], limit)

    stream.read, stream.write = read_in_time, write_in_time  # type: ignore[method-assign]
