"""Renders everything that changed in a store since its releases, as text and JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from evalstore.report import diff as one
from evalstore.report.text_layout import PAPER, Part, Screen, count_noun, wrap_lines
from evalstore.text import make_printable

if TYPE_CHECKING:
    from evalstore.release.store_diff import StoreDiff


def text(result: StoreDiff, screen: Screen = PAPER) -> str:
    """Return each change below a line, what is new, gone or broken, and a line that counts them."""
    rule = screen.paint(Part.QUIET, "─" * min(screen.width, PAPER.width))
    blocks = [one.text(diff, screen) for diff in result.diffs]
    rest = [line for sentence in list_others(result) for line in wrap_lines(sentence, width=screen.width, inner="  ")]
    end = "\n".join([*rest, *wrap_lines(summary(result), width=screen.width, inner="  ")])
    return f"\n\n{rule}\n".join([*blocks, end])


def html(result: StoreDiff) -> str:
    """Return the same as a page of its own, with every change in full."""
    from evalstore.report.pages.diff import write_store_page

    return write_store_page(result.diffs, summary(result), [*list_others(result)])


def list_others(result: StoreDiff) -> Iterator[str]:
    """Yield a sentence for each artifact that is broken, was never released, or is gone."""
    for broken in result.broken:
        yield f"{broken.ref} cannot be compared: {broken.place or ''}{': ' if broken.place else ''}{broken.message}"
    yield from list_uncompared(result)


def list_uncompared(result: StoreDiff) -> Iterator[str]:
    """Yield a sentence for each artifact that has no two versions to compare: never released, or gone."""
    yield from (f"{make_printable(name)} is new, never released" for name in result.new)
    yield from (f"{make_printable(name)} is gone from the working tree; its releases stay" for name in result.removed)


def summary(result: StoreDiff) -> str:
    """Return how many artifacts changed, and which bumps they need."""
    levels = Counter(diff.required_bump for diff in result.diffs)
    counts = ", ".join(f"{levels[level]} {level or 'no bump'}" for level in sorted(levels, reverse=True))
    of = count_noun(result.total, "artifact")
    changed = f"{len(result.diffs):,} of {of} changed since the last release: {counts}" if result.diffs else ""
    others = ((len(result.new), "new"), (len(result.removed), "gone"), (len(result.broken), "not compared"))
    parts = [*([changed] if changed else []), *(f"{number} {word}" for number, word in others if number)]
    return "; ".join(parts) if parts else f"{of}, all as released"
