"""Renders who last changed each part of an artifact, and who made an edit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from evalstore.audits import EditSource, Origin
from evalstore.documents import write_canonical
from evalstore.report.formats.markdown import format_code, format_table
from evalstore.report.text_layout import (
    COMMIT,
    DAY,
    PAPER,
    Part,
    Screen,
    format_columns,
    join_names,
)
from evalstore.text import make_excerpt, make_printable

if TYPE_CHECKING:
    from evalstore.release.history.blame import Blame, BlamedPart
    from evalstore.release.history.origins import PartOrigin


_LABEL, _LEAST_SUBJECT, _GAP = 38, 16, 2
_MESSAGE = 70  # characters of an edit's message
_HEAD = ("part", "version", "commit", "date", "author", "subject")


def text(blame: Blame, screen: Screen = PAPER) -> str:
    """Return a line for each part.

    It has the value, and the version, commit, date and author of the last change.
    """
    rows: list[tuple[str, ...]] = []
    for part in blame.parts:
        label = make_excerpt(f"{_indent(part)}{_describe(part)}", _LABEL)
        rows.append((label, *_origin_cells(part.origin)))
    room = screen.width - _measure_columns([row[:-1] for row in rows])
    shown = [row[:-1] for row in rows]
    if room >= _LEAST_SUBJECT:
        shown = [(*row[:-1], make_excerpt(row[-1], room)) for row in rows]
    gaps = dict.fromkeys(part.origin.gap for part in blame.parts if part.origin.gap)
    lines = format_columns(shown).split("\n") if shown else ["no part of it affects a score"]
    notes = [f"note: {make_printable(gap)}" for gap in gaps]
    return "\n".join([screen.paint(Part.HEAD, blame.resolved.ref), *lines, *notes])


def markdown(blame: Blame) -> str:
    """Return a table for a pull request."""
    rows = ((_describe(part), *_origin_cells(part.origin)) for part in blame.parts)
    return "\n".join(
        [f"### evalstore blame\n\n{format_code(blame.resolved.ref)}\n", *format_table(_HEAD, rows)]
    )


def _measure_columns(rows: Sequence[Sequence[str]]) -> int:
    """Return the total width of the columns, including the gap after each."""
    columns = zip(*rows, strict=True)
    return sum(max(len(make_printable(cell)) for cell in one) + _GAP for one in columns)


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
            return f"{name} is {'' if part.place.value else 'not '}required"
        case "question":
            return f"question {name}"
    label = ".".join(filter(None, ["" if area == "param" else name, key]))
    value = part.place.value
    return f"{label}: {value if isinstance(value, str) else write_canonical(value)}"


def _read_kind(check: object) -> str:
    return str(check.get("kind", "")) if isinstance(check, dict) else ""


def _origin_cells(origin: PartOrigin) -> tuple[str, ...]:
    author = ", ".join(filter(None, [origin.author or "", *origin.co_authors]))
    if origin.commit is None:
        author = f"released by {origin.released_by}" if origin.released_by else origin.gap
    return (
        origin.released_in or "unreleased",
        (origin.commit or "")[:COMMIT] or "-",
        (origin.date or "")[:DAY] or "-",
        author,
        origin.subject or "",
    )


def describe_origin(origin: Origin) -> str:
    """Return `Bob 7100681 2026-09-12, released in 2.0.0 by Releasebot`; "" if nothing is known.

    If the author made the release, too, the name appears once.
    """
    releaser = f" by {origin.released_by}" if origin.released_by != origin.author else ""
    release = f"released in {origin.released_in}{releaser}" if origin.released_in else ""
    if origin.commit is None:
        return "; ".join(part for part in (release, origin.gap) if part)
    people = join_names([str(origin.author), *origin.co_authors])
    commit = f"{people} {origin.commit[:COMMIT]} {(origin.date or '')[:DAY]}"
    return f"{'without ' if origin.undoes else ''}{commit}, {release or 'not released'}"


def describe_source(source: EditSource) -> str:
    """Return what an edit changed, and who made it."""
    author = f" ({source.origin.author})" if source.origin.author else ""
    return f"{make_excerpt(source.message or source.part, _MESSAGE)}{author}"
