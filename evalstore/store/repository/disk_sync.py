"""Waits until everything that was written to a file system is on its disk."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any


def can_sync_all() -> bool:
    """Whether this system can sync a whole file system and wait for it (Linux's syncfs(2))."""
    return _find_syncfs() is not None


def wait_for_disk(folder: Path) -> None:
    """Wait until everything written to a folder's file system is on disk.

    `OSError` if that fails.
    """
    syncfs = _find_syncfs()
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if syncfs is None or syncfs(descriptor):
            import ctypes

            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))
    finally:
        os.close(descriptor)


def _find_syncfs() -> Any:
    import ctypes  # only bulk writing needs it

    return getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
