"""The deadline of one call's exchange: the limit on all its waiting together."""

from __future__ import annotations

import math
import threading
import time


class ExchangeDeadline(threading.local):
    """The end of this thread's exchange by the monotonic clock, if it has one."""

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


# Threads share connections, but each exchange belongs to one thread, so its end is kept by thread.
EXCHANGE = ExchangeDeadline()
