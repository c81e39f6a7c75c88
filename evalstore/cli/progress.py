"""Draws a progress bar on stderr during a long command.

It needs a terminal to draw on.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from typing import Any, TextIO

import click

from evalstore.cli.streams import can_show_bars, find_columns
from evalstore.progress import Watch

_FEWEST = 100  # items; with fewer, a bar is gone before anybody has read it
_PATIENCE = 0.5  # seconds until somebody wonders
_STEPS = 500  # in a full bar
_UNCOUNTED = 500_000  # items, if nobody knows how many there are
_COLUMNS = 80  # of a terminal that does not report its width
_WIDTH, _LEAST = 36, 8  # columns of a bar
_ROOM = _LEAST + len("  []  100%  1d 00:00:00  12,345,678/s")  # the rest of its line


def _count_one(_: Any) -> int:
    return 1


def make_watch(label: str, *, quiet: bool, fewest: int = _FEWEST) -> Watch[Any]:
    """Return a function that shows a bar while `fewest` items or more are iterated over.

    It does so only if bars can be drawn.
    """
    watch = make_stream_watch(label, quiet=quiet, fewest=fewest)
    return lambda items: watch(items, len(items))


def make_stream_watch(
    label: str, *, quiet: bool, fewest: int = _FEWEST
) -> Callable[[Iterable[Any], int], Iterable[Any]]:
    """Return a function like `make_watch`'s, for items that arrive one by one.

    Their number is known only roughly.
    """
    shows = can_show_bars(quiet=quiet)
    return lambda items, count: (
        _draw_bar(items, count, label) if shows and count >= fewest else items
    )


def make_count_watch(
    label: str, *, quiet: bool, weigh: Callable[[Any], int] = _count_one
) -> Callable[[Iterable[Any]], Iterable[Any]]:
    """Return a function like `make_watch`'s, for items whose number nobody knows.

    It counts them. `weigh` says how many an item counts for.
    """
    shows = can_show_bars(quiet=quiet)
    return lambda items: _draw_bar(items, None, label, weigh) if shows else items


def _draw_bar(
    items: Iterable[Any], count: int | None, label: str, weigh: Callable[[Any], int] = _count_one
) -> Iterator[Any]:
    """Yield the items.

    If that takes longer than a moment, show a bar with the rate and the time left.
    """
    bar, start, done, shown = None, time.monotonic(), 0, 0
    with ExitStack() as stack:
        for item in items:
            yield item
            done += weigh(item)
            elapsed = time.monotonic() - start
            if bar is None and elapsed >= _PATIENCE:
                bar = stack.enter_context(
                    open_bar(count, label, lambda rate: f"{rate:,.0f}/s" if rate else None)
                )
                bar.start -= elapsed  # the time left is computed from the beginning
            if bar is not None:
                # The number of items may be an estimate.
                now = done if count is None else min(done, count)
                bar.update(now - shown, done / max(elapsed, 1e-9))
                shown = now


def open_bar(
    count: int | None, label: str, describe: Callable[[Any], str | None], file: TextIO | None = None
) -> Any:
    """Return a bar on stderr, or on another file.

    The bar, its label and its numbers fit one line.
    """
    columns = find_columns(sys.stderr) or _COLUMNS
    numbers = len("  ") + 2 * len(str(count or _UNCOUNTED)) + 1
    is_narrow = columns < len(label) + numbers + _ROOM
    room = columns - len(label) - numbers - (len("  []") if is_narrow else _ROOM - _LEAST)
    return click.progressbar(
        (nothing for nothing in range(0)),  # a generator: click does not ask it for a length
        length=count,
        label=label,
        file=file or sys.stderr,
        width=max(min(room - 1, _WIDTH), 1),  # some terminals break the line at the last column
        show_pos=True,
        show_percent=not is_narrow,
        show_eta=not is_narrow,
        item_show_func=None if is_narrow else describe,
        update_min_steps=max(1, (count or _UNCOUNTED) // _STEPS),
    )
