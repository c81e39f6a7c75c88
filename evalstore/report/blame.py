"""Renders who last changed each part of an artifact, as text, JSON and Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from evalstore.audits import Origin
from evalstore.documents import write_canonical
from evalstore.report.formats.markdown import format_code, format_table
from evalstore.report.text_layout import PAPER, Screen, count_noun, format_columns, join_names, wrap_lines
from evalstore.text import make_excerpt, make_printable

if TYPE_CHECKING:
    from evalstore.release.blame import Blame, BlamedPart
    from evalstore.release.origins import PartOrigin
    from evalstore.release.release_log import ReleaseLog, ReleaseLogEntry
    from evalstore.store.listing import ReleaseSummary


_LABEL, _LEAST_SUBJECT, _GAP = 38, 16, 2
_HEAD = ("part", "version", "commit", "date", "author", "subject")


def text(blame: Blame, screen: Screen = PAPER) -> str:
    """Return a line for each part: its value, and the version, commit, date and author that last changed it."""
    rows = [
        (make_excerpt(f"{_indent(part)}{_describe(part)}", _LABEL), *_origin_cells(part.origin)) for part in blame.parts
    ]
    room = screen.width - _measure_columns([row[:-1] for row in rows])
    shown = [(*row[:-1], make_excerpt(row[-1], room)) if room >= _LEAST_SUBJECT else row[:-1] for row in rows]
    gaps = dict.fromkeys(part.origin.gap for part in blame.parts if part.origin.gap)
    lines = format_columns(shown).split("\n") if shown else ["nothing in it has a meaning"]
    return "\n".join([blame.resolved.ref, *lines, *(f"note: {make_printable(gap)}" for gap in gaps)])


def markdown(blame: Blame) -> str:
    """Return a table, as a pull request shows it."""
    rows = ((_describe(part), *_origin_cells(part.origin)) for part in blame.parts)
    return "\n".join([f"### evalstore blame\n\n{format_code(blame.resolved.ref)}\n", *format_table(_HEAD, rows)])


def _measure_columns(rows: Sequence[Sequence[str]]) -> int:
    """Return how wide the columns are together, with the gap behind each."""
    return sum(max(len(make_printable(cell)) for cell in column) + _GAP for column in zip(*rows, strict=True))


def _indent(part: BlamedPart) -> str:
    return "  " if part.part.area in {"param", "item", "weight", "required"} else ""


def _describe(part: BlamedPart) -> str:
    area, name, key, item = part.part
    match area:
        case "check":
            return f"{name} ({_read_kind(part.place.value)})"
        case "item":
            return f"{key}: {item!r}"
        case "weight":
            return f"weight of {name}: {part.place.value}"
        case "required":
            return f"{name} is {'a' if part.place.value else 'no'} gate"
        case "question":
            return f"question {name}"
    label = ".".join(filter(None, ["" if area == "param" else name, key]))
    return f"{label}: {part.place.value if isinstance(part.place.value, str) else write_canonical(part.place.value)}"


def _read_kind(check: object) -> str:
    return str(check.get("kind", "")) if isinstance(check, dict) else ""


def _origin_cells(origin: PartOrigin) -> tuple[str, ...]:
    author = ", ".join(filter(None, [origin.author or "", *origin.co_authors]))
    if origin.commit is None:
        author = f"released by {origin.released_by}" if origin.released_by else origin.gap
    return (
        origin.released_in or "unreleased",
        (origin.commit or "")[:_COMMIT] or "-",
        (origin.date or "")[:_DAY] or "-",
        author,
        origin.subject or "",
    )


_SUMMARY = 60
_MARGIN = " " * 4


def text_log(log: ReleaseLog, screen: Screen = PAPER) -> str:
    """Return a line for each release, newest first, its changes below, and since when scores are comparable."""
    lines = format_columns([_release_row(log, entry.logged) for entry in log.releases]).split("\n")
    blocks = (
        "\n".join([line, *wrap_lines(*_change_lines(entry), width=screen.width, lead=_MARGIN, inner=_MARGIN + "  ")])
        for line, entry in zip(lines, log.releases, strict=True)
    )
    return "\n".join([log.name, *blocks, *_comparable_lines(log)])


def _release_row(log: ReleaseLog, release: ReleaseSummary) -> tuple[str, ...]:
    # The default message of `evalstore bump` repeats the name and the version of the line.
    is_default = release.summary.startswith((f"{log.name} ", f"{log.name}@"))
    return (
        f"  {release.version}",
        release.date[:_DAY],
        _release_step(release),
        f"released by {release.author}",
        "" if is_default else make_excerpt(release.summary, _SUMMARY),
    )


def _release_step(release: ReleaseSummary) -> str:
    # A lightweight tag has no bump. A tag of evalstore without a previous version is the first release.
    return (release.bump if release.previous else "first") if release.bump else "-"


def _change_lines(entry: ReleaseLogEntry) -> Iterator[str]:
    if entry.problem:
        yield f"not compared: {entry.problem}"
    levels = groupby(entry.rules, key=lambda rule: rule[1])
    levels_and_rules = [
        f"{level}: {', '.join(_rule_count(rule, count) for rule, _, count in rules)}" for level, rules in levels
    ]
    yield "; ".join(levels_and_rules)


def _rule_count(rule: str, count: int) -> str:
    return rule if count == 1 else f"{rule} ({count})"


def _comparable_lines(log: ReleaseLog) -> Iterator[str]:
    newest = next((entry for entry in log.releases if entry.since), None)
    if newest is None:
        return
    yield ""
    since = "only with itself" if newest.since == newest.logged.version else f"since {newest.since}"
    earlier = ", or earlier" if newest.open else ""
    yield f"{newest.logged.version} is comparable {since}{earlier}{_condition_of_floating(log)}"
    if log.skipped:
        yield f"{count_noun(log.skipped, 'older release')} not compared: --all compares every one"


def _condition_of_floating(log: ReleaseLog) -> str:
    return f", as far as {join_names(map(make_printable, log.floating))} did not move" if log.floating else ""


_COMMIT, _DAY = 7, 10  # characters of a commit's id, and of an ISO date


def describe_origin(origin: Origin) -> str:
    """Return `Bob 7100681 2026-09-12, released in 2.0.0 by Releasebot`; "" where nothing is known.

    A releaser who is the author as well is named once.
    """
    releaser = f" by {origin.released_by}" if origin.released_by != origin.author else ""
    release = f"released in {origin.released_in}{releaser}" if origin.released_in else ""
    if origin.commit is None:
        return "; ".join(part for part in (release, origin.gap) if part)
    people = join_names([str(origin.author), *origin.co_authors])
    commit = f"{people} {origin.commit[:_COMMIT]} {(origin.date or '')[:_DAY]}"
    return f"{'without ' if origin.undoes else ''}{commit}, {release or 'not released'}"
