"""Renders the releases of an artifact and what each changed, as text and JSON."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING

from evalstore.report.text_layout import DAY, LEVELS, PAPER, Part, Screen, join_names, wrap_rows
from evalstore.text import count_noun, make_excerpt, make_printable

if TYPE_CHECKING:
    from evalstore.release.history.release_log import ReleaseLog, ReleaseLogEntry
    from evalstore.store.listing import ReleaseSummary


_SUMMARY = 60
_MARGIN = " " * 4


def text(log: ReleaseLog, screen: Screen = PAPER) -> str:
    """Return the releases, newest first, with their changes.

    It also says since when scores are comparable.
    """
    rows = wrap_rows([_release_row(log, entry.logged) for entry in log.releases], screen.width)
    lines = [screen.paint(Part.HEAD, log.name)]
    for row, entry in zip(rows, log.releases, strict=True):
        lines.append(screen.paint_words(row, LEVELS))
        lines += screen.wrap(*_change_lines(entry), lead=_MARGIN, inner=_MARGIN + "  ")
    end = screen.wrap(*_comparable_lines(log))
    if log.note:
        end += screen.wrap(f"note: {log.note}")
    return "\n".join([*lines, *([""] if end else []), *end])


def _release_row(log: ReleaseLog, release: ReleaseSummary) -> tuple[str, ...]:
    # The default message of `evalstore bump` repeats the line's name and version.
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
    if not release.bump:
        return "-"  # a lightweight tag
    return release.bump if release.previous else "first"


def _change_lines(entry: ReleaseLogEntry) -> Iterator[str]:
    if entry.problem:
        yield f"not compared: {entry.problem}"
    yield list_rules(entry)
    if entry.logged.asked:
        yield f"judges asked: {entry.logged.asked}"


def list_rules(entry: ReleaseLogEntry) -> str:
    """Return the rules of a release's changes by level: `major: check-added (2); minor: …`."""
    parts = []
    for level, rules in groupby(entry.rules, key=lambda rule: rule[1]):
        names = ", ".join(_rule_count(rule, count) for rule, _, count in rules)
        parts.append(f"{level}: {names}")
    return "; ".join(parts)


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
        f", provided that {join_names(map(make_printable, log.floating))} did not move"
        if log.floating
        else ""
    )
