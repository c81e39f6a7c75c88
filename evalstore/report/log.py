"""Renders the releases of an artifact and what each changed, as text and JSON."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING

from evalstore.report.text_layout import DAY, LEVELS, PAPER, Part, Screen, join_names, wrap_rows
from evalstore.text import count_noun, make_excerpt, make_printable

if TYPE_CHECKING:
    from evalstore.release.release_log import ReleaseLog, ReleaseLogEntry
    from evalstore.store.listing import ReleaseSummary


_SUMMARY = 60
_MARGIN = " " * 4


def text(log: ReleaseLog, screen: Screen = PAPER) -> str:
    """Return a line for each release, newest first, its changes below, and since when scores are comparable."""
    lines = wrap_rows([_release_row(log, entry.logged) for entry in log.releases], screen.width)
    details = (
        screen.wrap(*_change_lines(entry), lead=_MARGIN, inner=_MARGIN + "  ")
        for entry in log.releases
    )
    blocks = (
        "\n".join([screen.paint_words(line, LEVELS), *below])
        for line, below in zip(lines, details, strict=True)
    )
    end = screen.wrap(*_comparable_lines(log))
    return "\n".join([screen.paint(Part.HEAD, log.name), *blocks, *([""] if end else []), *end])


def _release_row(log: ReleaseLog, release: ReleaseSummary) -> tuple[str, ...]:
    # The default message of `evalstore bump` repeats the name and the version of the line.
    is_default = release.summary.startswith((f"{release.name} ", f"{release.name}@"))
    renamed = f"as {release.name}" if release.name != log.name else ""
    return (
        f"  {release.version}",
        release.date[:DAY],
        _release_step(release),
        f"released by {release.author}",
        " ".join(
            filter(None, [renamed, "" if is_default else make_excerpt(release.summary, _SUMMARY)])
        ),
    )


def _release_step(release: ReleaseSummary) -> str:
    # A lightweight tag has no bump. A tag of evalstore without a previous version is the first
    # release.
    return (release.bump if release.previous else "first") if release.bump else "-"


def _change_lines(entry: ReleaseLogEntry) -> Iterator[str]:
    if entry.problem:
        yield f"not compared: {entry.problem}"
    yield list_rules(entry)
    if entry.logged.asked:
        yield f"judges asked: {entry.logged.asked}"


def list_rules(entry: ReleaseLogEntry) -> str:
    """Return the rules that a release's changes fall under, by level, as in `major: check-added (2); minor: …`."""
    levels = groupby(entry.rules, key=lambda rule: rule[1])
    return "; ".join(
        f"{level}: {', '.join(_rule_count(rule, count) for rule, _, count in rules)}"
        for level, rules in levels
    )


def _rule_count(rule: str, count: int) -> str:
    return rule if count == 1 else f"{rule} ({count})"


def _comparable_lines(log: ReleaseLog) -> Iterator[str]:
    newest = next((entry for entry in log.releases if entry.since), None)
    if newest is None:
        return
    earlier = ", or earlier," if newest.open else ""
    yield f"scores since {newest.since}{earlier} are comparable{_condition_of_floating(log)}"
    if log.skipped:
        yield f"{count_noun(log.skipped, 'older release')} not compared: --all compares every one"


def _condition_of_floating(log: ReleaseLog) -> str:
    return (
        f", as far as {join_names(map(make_printable, log.floating))} did not move"
        if log.floating
        else ""
    )
