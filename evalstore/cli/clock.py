"""The moment that a file is dated with: now, or for a build that can be repeated what SOURCE_DATE_EPOCH says."""

from __future__ import annotations

import os
from datetime import UTC, datetime

_SECONDS = 10  # digits: a moment before the year 2287


def read_clock() -> datetime:
    """Return the moment that a run or a validation is dated with; not for what expires, which asks the clock itself."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    if epoch.isascii() and epoch.isdigit() and len(epoch) <= _SECONDS:
        return datetime.fromtimestamp(int(epoch), UTC)
    return datetime.now(UTC)
