"""The time that the exchange of a call may take as a whole, whatever it waits for."""

from __future__ import annotations

import math
import threading
import time


class ExchangeDeadline(threading.local):
    """The end of this thread's exchange, in seconds of the monotonic clock, if there is one."""

    end = math.inf

    def start(self, seconds: float) -> None:
        """Begin an exchange of this thread."""
        self.end = time.monotonic() + seconds

    @property
    def is_over(self) -> bool:
        """Whether the time is up."""
        return time.monotonic() > self.end

    def find_left(self, most: float | None = None) -> float | None:
        """Return the seconds left, at most `most`; None without an end.

        Raises `TimeoutError` when the time is up.
        """
        if math.isinf(self.end):
            return most
        left = self.end - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        return left if most is None else min(left, most)


# Connections are shared by threads, and an exchange is of one thread: so it is found by its thread.
EXCHANGE = ExchangeDeadline()
