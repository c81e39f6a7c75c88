"""The rules for .evalstore/accepted.yaml: its form, and the acceptances that have ended or that nothing needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any

from evalstore.validation.notes import Note, guessed, note, shown
from evalstore.validation.parts import mappings
from evalstore.validation.shape import ACCEPTED, schema, shape_notes
from evalstore.versions import find_version

# (artifact, release, fingerprint) -> whether a change since that release has it; what is history is not in here.
Pending = Mapping[tuple[str, str, str], bool]

_DATES = ("until", "day")
_LEVELS = ("patch", "minor", "major")


def form_notes(value: Any) -> Iterator[Note]:
    """Yield whatever keeps the file from being read: this one is read strictly, for it lowers levels."""
    yield from shape_notes(ACCEPTED, value)
    known = schema(ACCEPTED)["$defs"]["acceptance"]["properties"]
    seen: dict[tuple[str, ...], int] = {}
    for index, entry in mappings(value, "accepted"):
        at = ("accepted", index)
        for key in entry:
            if key not in known and not key.startswith("x_"):
                hint = guessed(key, known, f"write it as x_{key}")
                yield note("key-not-allowed", (*at, key), of_key=True, name=f"`{key}`", hint=hint)
        yield from _date_notes(entry, index)
        if isinstance(since := entry.get("since"), str) and find_version(since) is None:
            message = f"since is {shown(since)}, which is no version"
            yield note("acceptance-malformed", (*at, "since"), message=message, hint="write a release, as in 1.2.0")
        if not _lower(entry):
            yield note("acceptance-malformed", (*at, "level"), message="level is not lower than was", hint="")
        name = tuple(str(entry.get(key)) for key in ("artifact", "since", "fingerprint"))
        if seen.setdefault(name, index) != index:
            hint = "keep one of the two"
            yield note("acceptance-malformed", at, message=f"{name[2]} of {name[0]} is accepted twice", hint=hint)


def standing_notes(value: Any, pending: Pending, today: date) -> Iterator[Note]:
    """Yield the entries that no change needs, and those whose day is past while their change is still there."""
    for index, entry in mappings(value, "accepted"):
        artifact, since, fingerprint, until = (entry.get(key) for key in ("artifact", "since", "fingerprint", "until"))
        used = pending.get((str(artifact), str(find_version(str(since))), str(fingerprint)))
        if used is False:
            yield note("accept-unused", ("accepted", index), artifact=artifact, found=entry.get("rule"))
        ended = _day(until)
        if used and ended and ended < today:
            at = ("accepted", index, "until")
            found = entry.get("rule")
            yield note("accept-expired", at, artifact=artifact, found=found, until=until, print=fingerprint)


def _date_notes(entry: Mapping[str, Any], index: int) -> Iterator[Note]:
    for key in _DATES:
        if isinstance(entry.get(key), str) and _day(entry[key]) is None:
            message = f"{key} is {shown(entry[key])}, which is no date"
            yield note("acceptance-malformed", ("accepted", index, key), message=message, hint="write it as 2026-12-31")


def _lower(entry: Mapping[str, Any]) -> bool:
    level, was = entry.get("level"), entry.get("was")
    return level not in _LEVELS or was not in _LEVELS or _LEVELS.index(level) < _LEVELS.index(was)


def _day(text: Any) -> date | None:
    try:
        day = date.fromisoformat(text)
    except (TypeError, ValueError):
        return None
    return day if str(day) == text else None
