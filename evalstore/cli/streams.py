"""The three standard streams of a process, also when they are closed, full, or left by their reader; only here."""

from __future__ import annotations

import os
import shutil
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from evalstore.report.screen import Screen

_NARROWEST = 60
_STANDARD = ("stdin", "stdout", "stderr")


def open_streams() -> None:
    """Give every standard stream a file, and let stdout write any text in any locale."""
    _fill_descriptors()
    for number, name in enumerate(_STANDARD):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, "w" if number else "r", encoding="utf-8"))
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")


def write_safely(stream: TextIO, text: str) -> None:
    """Write what is not the result; where it cannot be told, there is nobody to tell that either."""
    with suppress(OSError):
        stream.write(text)
        stream.flush()


def find_screen(stream: TextIO) -> Screen:
    """Return what a stream shows: paper, but on a terminal its own width and, unless NO_COLOR is set, colours."""
    from evalstore.report.screen import PAPER

    return _make_terminal() if stream.isatty() else PAPER


def find_git_screen() -> Screen:
    """Return what git shows of our stdout, which is a pipe to its pager; git says that it has one."""
    from evalstore.report.screen import PAPER

    return _make_terminal() if sys.stdout.isatty() or os.environ.get("GIT_PAGER_IN_USE") else PAPER


def _make_terminal() -> Screen:
    from evalstore.report.screen import COLOURS, PAPER, Screen

    width = min(max(shutil.get_terminal_size((PAPER.width, 24)).columns, _NARROWEST), PAPER.width)
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM", "dumb") == "dumb"
    return Screen(width, {} if plain else COLOURS)


def can_show_bars(*, quiet: bool) -> bool:
    """Whether progress may be drawn on stderr: on a terminal that can take a line back, unless we shall be quiet."""
    return not quiet and sys.stderr.isatty() and os.environ.get("TERM", "") not in {"", "dumb"}


def close_streams() -> OSError | None:
    """Flush what is left, and return why the result could not be written, if it could not."""
    error = _flush(sys.stdout)
    _flush(sys.stderr)
    return error


def _fill_descriptors() -> None:
    # Else the first file that the process opens would be its stdout, and a message would be written into it.
    while (descriptor := os.open(os.devnull, os.O_RDWR)) < len(_STANDARD):
        os.set_inheritable(descriptor, True)
    os.close(descriptor)


def _flush(stream: TextIO) -> OSError | None:
    try:
        stream.flush()
    except OSError as error:
        # What is left in the buffer would be written again, and fail again, when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return error
    return None
