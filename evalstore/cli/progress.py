"""Draws a progress bar on stderr for a long run of one command, where there is a terminal to draw on."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import click

from evalstore.cli.streams import can_show_bars

_FEWEST = 100  # things; with fewer a bar is gone before anybody has read it


def make_watch(label: str, *, quiet: bool, fewest: int = _FEWEST) -> Callable[[Sequence[Any]], Iterable[Any]]:
    """Return a function that wraps the iteration over `fewest` things or more in a bar, or leaves it as it is."""
    shows = can_show_bars(quiet=quiet)
    return lambda items: _draw_bar(items, label) if shows and len(items) >= fewest else items


def _draw_bar(items: Sequence[Any], label: str) -> Iterator[Any]:
    with click.progressbar(length=len(items), label=label, file=sys.stderr, show_pos=True) as bar:
        for item in items:
            yield item
            bar.update(1)
