"""Draws a progress bar on stderr for a long run of one command, where there is a terminal to draw on."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import click

from evalstore.cli.streams import can_show_bars

_FEWEST = 100  # things; with fewer a bar is gone before anybody has read it
_PATIENCE = 0.5  # seconds, after which somebody wonders
_STEPS = 500  # of a whole bar
_UNCOUNTED = 500_000  # things, of which nobody knows how many there are


def _count_one(_: Any) -> int:
    return 1


def make_watch(label: str, *, quiet: bool, fewest: int = _FEWEST) -> Callable[[Sequence[Any]], Iterable[Any]]:
    """Return a function that wraps the iteration over `fewest` things or more in a bar, or leaves it as it is."""
    watch = make_stream_watch(label, quiet=quiet, fewest=fewest)
    return lambda items: watch(items, len(items))


def make_stream_watch(
    label: str, *, quiet: bool, fewest: int = _FEWEST, weigh: Callable[[Any], int] = _count_one
) -> Callable[[Iterable[Any], int], Iterable[Any]]:
    """Return a function as `make_watch` does, of things that come one by one and about how many there are.

    `weigh` says for how many of them an item stands.
    """
    shows = can_show_bars(quiet=quiet)
    return lambda items, count: _draw_bar(items, count, label, weigh) if shows and count >= fewest else items


def make_count_watch(label: str, *, quiet: bool) -> Callable[[Iterable[Any]], Iterable[Any]]:
    """Return a function as `make_watch` does, of things of which nobody knows how many there are: they are counted."""
    shows = can_show_bars(quiet=quiet)
    return lambda items: _draw_bar(items, None, label) if shows else items


def _draw_bar(
    items: Iterable[Any], count: int | None, label: str, weigh: Callable[[Any], int] = _count_one
) -> Iterator[Any]:
    """Yield the items; what takes longer than a moment gets a bar with the rate and the time left."""
    bar, start, done = None, time.monotonic(), 0
    with ExitStack() as stack:
        for item in items:
            yield item
            step = weigh(item)
            done += step
            elapsed = time.monotonic() - start
            if bar is None and elapsed >= _PATIENCE:
                bar = stack.enter_context(_open_bar(count, label))
                bar.start -= elapsed  # the time left is reckoned from the beginning
                bar.update(done - step)
            if bar is not None:
                bar.update(step, done / max(elapsed, 1e-9))


def _open_bar(count: int | None, label: str) -> Any:
    return click.progressbar(
        (nothing for nothing in range(0)),  # a generator: click asks it for no length
        length=count,
        label=label,
        file=sys.stderr,
        show_pos=True,
        item_show_func=lambda rate: f"{rate:,.0f}/s" if rate else None,
        update_min_steps=max(1, (count or _UNCOUNTED) // _STEPS),
    )
