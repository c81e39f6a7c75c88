"""Opens, writes and closes the standard streams.

They may be closed or full, or their reader may have left.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from evalstore.report.text_layout import Screen

_NARROWEST, _WIDEST = 20, 160
_DIGITS = 4  # of COLUMNS
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
    """Write anything but the result.

    Failures are ignored, because no stream is left to report them.
    """
    with suppress(OSError):
        stream.write(text)
        stream.flush()


def find_screen(stream: TextIO) -> Screen:
    """Return the screen of a stream: `PAPER`, or a terminal with its width and colours.

    COLUMNS is the width if it is set. NO_COLOR turns colours off; FORCE_COLOR and CLICOLOR_FORCE
    turn on a terminal's colours without one, as for the log of a CI system; CLICOLOR=0 turns them
    off on a terminal.
    """
    return _make_screen(stream, at_terminal=stream.isatty())


def find_git_screen() -> Screen:
    """Return the screen behind git's pager.

    stdout is a pipe to the pager, and GIT_PAGER_IN_USE says so.
    """
    return _make_screen(
        sys.stdout, at_terminal=sys.stdout.isatty() or bool(os.environ.get("GIT_PAGER_IN_USE"))
    )


def needs_pager(text: str) -> bool:
    """Whether a text is longer than a terminal at which somebody can type and has a pager.

    An empty PAGER means none, as in git.
    """
    at_terminal = sys.stdout.isatty() and sys.stdin.isatty()
    if not (at_terminal and _can_obey()) or os.environ.get("PAGER") == "":
        return False
    from shutil import get_terminal_size

    return text.count("\n") >= get_terminal_size().lines


def can_show_bars(*, quiet: bool) -> bool:
    """Whether progress may be drawn on stderr.

    That takes a terminal that can redraw a line, and no --quiet.
    """
    return not quiet and sys.stderr.isatty() and _can_obey()


def close_streams() -> OSError | None:
    """Flush both output streams, and return the error with which stdout failed, if it did."""
    error = _flush(sys.stdout)
    _flush(sys.stderr)
    return error


def find_columns(stream: TextIO) -> int | None:
    """Return how wide a stream may be written: COLUMNS, or its terminal's width.

    Returns None if both are unknown.
    """
    columns = os.environ.get("COLUMNS", "")
    if columns.isascii() and columns.isdigit() and len(columns) <= _DIGITS and int(columns):
        return int(columns)
    try:
        return os.get_terminal_size(stream.fileno()).columns or None
    except (OSError, ValueError):  # it is not a terminal, or not a file
        return None


def _make_screen(stream: TextIO, *, at_terminal: bool) -> Screen:
    from evalstore.report.text_layout import COLOURS, PAPER, Screen

    columns = find_columns(stream)
    width = PAPER.width if columns is None else min(max(columns, _NARROWEST), _WIDEST)
    is_forced = _is_set("FORCE_COLOR") or _is_set("CLICOLOR_FORCE")
    can_paint = at_terminal and os.environ.get("CLICOLOR") != "0" and _can_obey()
    has_colours = (is_forced or can_paint) and not os.environ.get("NO_COLOR")
    return Screen(
        width,
        COLOURS if has_colours else {},
        drawn=at_terminal or is_forced,
        fits=columns is not None,
    )


def _can_obey() -> bool:
    """Whether the terminal understands escape sequences, judging by its name."""
    return os.environ.get("TERM", "") not in {"", "dumb"}


def _is_set(name: str) -> bool:
    return os.environ.get(name, "") not in {"", "0"}


def _fill_descriptors() -> None:
    # With stdout closed, the first file that the process opens would become stdout, and receive the
    # messages.
    while (descriptor := os.open(os.devnull, os.O_RDWR)) < len(_STANDARD):
        os.set_inheritable(descriptor, True)
    os.close(descriptor)


def _flush(stream: TextIO) -> OSError | None:
    try:
        stream.flush()
    except OSError as error:
        # Otherwise Python would write the rest of the buffer again at exit, and fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return error
    return None
