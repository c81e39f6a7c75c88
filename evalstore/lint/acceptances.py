"""Lints .evalstore/accepted.yaml beyond its schema: dates, levels, and stale entries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any

from evalstore.lint.context import PendingAcceptances
from evalstore.lint.notes import Note, describe_value, list_mappings, make_note, suggest_name
from evalstore.lint.shapes import ACCEPTED, lint_shape, load_schema
from evalstore.versions import find_version

_DATES = ("until", "day")
_LEVELS = ("patch", "minor", "major")


def lint_acceptance_form(value: Any) -> Iterator[Note]:
    """Yield every defect of accepted.yaml: it is read strictly, because it lowers levels."""
    yield from lint_shape(ACCEPTED, value)
    known = load_schema(ACCEPTED)["$defs"]["acceptance"]["properties"]
    seen: dict[tuple[str, ...], int] = {}
    for index, entry in list_mappings(value, "accepted"):
        at = ("accepted", index)
        for key in entry:
            if key not in known and not key.startswith("x_"):
                hint = suggest_name(key, known, f"write it as x_{key}")
                yield make_note(
                    "key-not-allowed", (*at, key), of_key=True, name=f"`{key}`", hint=hint
                )
        yield from _lint_dates(entry, index)
        if isinstance(since := entry.get("since"), str) and find_version(since) is None:
            message = f"`since` is not a version: {describe_value(since)}"
            yield make_note(
                "acceptance-malformed",
                (*at, "since"),
                message=message,
                hint="name a release, as in 1.2.0",
            )
        if not _lowers_level(entry):
            yield make_note(
                "acceptance-malformed",
                (*at, "level"),
                message="`level` must be lower than `was`",
                hint="",
            )
        name = tuple(str(entry.get(key)) for key in ("artifact", "since", "fingerprint"))
        if seen.setdefault(name, index) != index:
            first = f"(first is item {seen[name] + 1})"
            yield make_note(
                "acceptance-malformed",
                at,
                message=f"duplicate entry: {name[2]} of {name[0]} {first}",
                hint="keep one of them",
            )


def lint_acceptance_use(value: Any, pending: PendingAcceptances, today: date) -> Iterator[Note]:
    """Yield the acceptances that no change needs, and expired ones whose change is still there."""
    for index, entry in list_mappings(value, "accepted"):
        artifact, since, fingerprint, until = (
            entry.get(key) for key in ("artifact", "since", "fingerprint", "until")
        )
        used = pending.get((str(artifact), str(find_version(str(since))), str(fingerprint)))
        if used is False:
            yield make_note(
                "accept-unused", ("accepted", index), artifact=artifact, found=entry.get("rule")
            )
        ended = _parse_day(until)
        if used and ended and ended < today:
            at = ("accepted", index, "until")
            found = entry.get("rule")
            yield make_note(
                "accept-expired", at, artifact=artifact, found=found, until=until, print=fingerprint
            )


def _lint_dates(entry: Mapping[str, Any], index: int) -> Iterator[Note]:
    for key in _DATES:
        if isinstance(entry.get(key), str) and _parse_day(entry[key]) is None:
            message = f"`{key}` is not a date: {describe_value(entry[key])}"
            yield make_note(
                "acceptance-malformed",
                ("accepted", index, key),
                message=message,
                hint="write it as 2026-12-31",
            )


def _lowers_level(entry: Mapping[str, Any]) -> bool:
    level, was = entry.get("level"), entry.get("was")
    return level not in _LEVELS or was not in _LEVELS or _LEVELS.index(level) < _LEVELS.index(was)


def _parse_day(text: Any) -> date | None:
    try:
        day = date.fromisoformat(text)
    except (TypeError, ValueError):
        return None
    return day if str(day) == text else None
