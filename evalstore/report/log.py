"""The releases of an artifact and what each changed, as text and JSON."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any

from evalstore.report.screen import PAPER, Screen
from evalstore.report.text_layout import count_noun, format_columns, join_names, wrap_lines
from evalstore.text import make_excerpt, make_printable

if TYPE_CHECKING:
    from evalstore.status.release_log import ReleaseLog, ReleaseLogEntry
    from evalstore.store.listing import ReleaseSummary

_DAY = 10  # characters of an ISO date
_SUMMARY = 60
_MARGIN = " " * 4


def text(track: ReleaseLog, screen: Screen = PAPER) -> str:
    """Return a line a release, newest first, with what it changed below, and since when scores are comparable."""
    lines = format_columns([_release_row(track, one.logged) for one in track.releases]).split("\n")
    blocks = (
        "\n".join([line, *wrap_lines(*_change_lines(one), width=screen.width, lead=_MARGIN, inner=_MARGIN + "  ")])
        for line, one in zip(lines, track.releases, strict=True)
    )
    return "\n".join([track.name, *blocks, *_comparable_lines(track)])


def document(track: ReleaseLog) -> Any:
    """Return the JSON document."""
    newest = track.releases[0]
    return {
        "ref": track.name,
        "comparable_since": str(newest.since) if newest.since else None,
        "comparable_open": newest.open,
        "floating": list(track.floating),
        "skipped": track.skipped,
        "releases": [_release_document(one) for one in track.releases],
    }


def _release_document(one: ReleaseLogEntry) -> dict[str, Any]:
    logged = one.logged
    return {
        "version": str(logged.version),
        "tag": logged.tag,
        "commit": logged.commit,
        "date": logged.date,
        "author": logged.author,
        "bump": logged.bump,
        "digest": logged.digest,
        "previous": logged.previous,
        "summary": logged.summary,
        "compared_with": str(one.before) if one.before else None,
        "required_bump": None if one.required is None else str(one.required),
        "findings": [{"rule": rule, "level": str(level), "count": count} for rule, level, count in one.rules],
        "comparable_since": str(one.since) if one.since else None,
        "problem": one.problem,
    }


def _release_row(track: ReleaseLog, one: ReleaseSummary) -> tuple[str, ...]:
    # A message of our own says no more than the line already does.
    own = one.summary.startswith((f"{track.name} ", f"{track.name}@"))
    return (
        f"  {one.version}",
        one.date[:_DAY],
        _release_step(one),
        one.author,
        "" if own else make_excerpt(one.summary, _SUMMARY),
    )


def _release_step(one: ReleaseSummary) -> str:
    # A lightweight tag says nothing; a tag of evalstore that names no version before it is the first.
    return (one.bump if one.previous else "first") if one.bump else "-"


def _change_lines(one: ReleaseLogEntry) -> Iterator[str]:
    if one.problem:
        yield f"not compared: {one.problem}"
    levels = groupby(one.rules, key=lambda rule: rule[1])
    levels_and_rules = [
        f"{level}: {', '.join(_rule_count(rule, count) for rule, _, count in rules)}" for level, rules in levels
    ]
    yield "; ".join(levels_and_rules)


def _rule_count(rule: str, count: int) -> str:
    return rule if count == 1 else f"{rule} ({count})"


def _comparable_lines(track: ReleaseLog) -> Iterator[str]:
    newest = next((one for one in track.releases if one.since), None)
    if newest is None:
        return
    yield ""
    since = "only with itself" if newest.since == newest.logged.version else f"since {newest.since}"
    yield f"{newest.logged.version} is comparable {since}{', or earlier' if newest.open else ''}{_condition_of_floating(track)}"
    if track.skipped:
        yield f"{count_noun(track.skipped, 'older release')} not compared: --all compares every one"


def _condition_of_floating(track: ReleaseLog) -> str:
    return f", as far as {join_names(map(make_printable, track.floating))} did not move" if track.floating else ""
