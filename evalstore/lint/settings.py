"""Lints evalstore.yaml and .evalstore/accepted.yaml beyond their schemas: rule names, levels, dates, stale entries."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from datetime import date
from functools import cache
from typing import Any

from evalstore.lint.context import KnownRules, PendingAcceptances
from evalstore.lint.notes import (
    Note,
    describe_value,
    get_mapping,
    list_mappings,
    list_texts,
    make_note,
    suggest_name,
)
from evalstore.lint.rules import VALIDATION_RULES
from evalstore.lint.wording import ACCEPTED, QUESTION, ROOTS, lint_shape, list_check_kinds, load_schema
from evalstore.model import Severity, is_cosmetic
from evalstore.versions import find_version

RULE_SETTING = re.compile(r"([a-z][a-z0-9-]*)(:(?:stricter|looser|either|none))?")
_CHANGE_LEVELS = ("major", "minor", "patch")
_FILE_SEVERITIES = ("off", "info", "warning", "error")


def lint_settings(value: Any, known: KnownRules) -> Iterator[Note]:
    """Yield notes on unknown rules and rule sets, and on settings that have no effect."""
    if known.rules:
        yield from lint_rule_levels(get_mapping(value, "rules"), known.rules)
    yield from _lint_fixed_levels(get_mapping(value, "rules"))
    number = value.get("rule_set") if isinstance(value, dict) else None
    if known.rule_sets and isinstance(number, int) and number not in known.rule_sets:
        sets = ", ".join(map(str, known.rule_sets))
        yield make_note(
            "rule-set-unknown", ("rule_set",), found=number, hint=f"it has {sets}; newer releases have more"
        )
    for index, key in list_texts(value, "cosmetic"):
        if key in _read_keys() and not is_cosmetic(key):
            yield make_note("cosmetic-key-read", ("cosmetic", index), found=key)


def lint_rule_levels(levels: Mapping[str, Any], changes: Collection[str]) -> Iterator[Note]:
    """Yield notes on entries of `rules` that name no rule or give it a level of the other sort."""
    for name, level in levels.items():
        matched = RULE_SETTING.fullmatch(name)
        if matched is None:  # the schema says what is wrong with it
            continue
        id_, direction = matched.groups()
        at = ("rules", name)
        if id_ not in changes and id_ not in VALIDATION_RULES:
            hint = suggest_name(
                id_, (*changes, *VALIDATION_RULES), "see the rules of changes: evalstore explain --rules"
            )
            yield make_note("rule-unknown", at, of_key=True, found=id_, hint=hint)
        elif direction and id_ not in changes:
            yield make_note(
                "rule-level-wrong", at, of_key=True, found=name, hint=f"write {id_}: only changes have directions"
            )
        elif level in _CHANGE_LEVELS and id_ not in changes:
            yield make_note("rule-level-wrong", at, found=f"{id_}: {level}", hint=f"write {_join_or(_FILE_SEVERITIES)}")
        elif level in _FILE_SEVERITIES and id_ not in VALIDATION_RULES:
            yield make_note("rule-level-wrong", at, found=f"{id_}: {level}", hint=f"write {_join_or(_CHANGE_LEVELS)}")


def _lint_fixed_levels(levels: Mapping[str, Any]) -> Iterator[Note]:
    """Yield the entries of `rules` that would lower an error: what cannot be graded or released stays one."""
    for name, level in levels.items():
        rule = VALIDATION_RULES.get(name)
        if rule and rule.severity is Severity.ERROR and level in _FILE_SEVERITIES and level != Severity.ERROR:
            yield make_note("rule-level-fixed", ("rules", name), found=f"{name}: {level}", name=name)


def _join_or(words: tuple[str, ...]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"


@cache
def _read_keys() -> frozenset[str]:
    names = [*ROOTS.values(), QUESTION, *(f"checks/{kind}" for kind in list_check_kinds())]
    scoring = load_schema("base/rubric")["$defs"]["scoring"]["properties"]
    return frozenset(scoring) | {key for name in names for key in load_schema(name)["properties"]}


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
                yield make_note("key-not-allowed", (*at, key), of_key=True, name=f"`{key}`", hint=hint)
        yield from _lint_dates(entry, index)
        if isinstance(since := entry.get("since"), str) and find_version(since) is None:
            message = f"`since` is not a version: {describe_value(since)}"
            yield make_note("acceptance-malformed", (*at, "since"), message=message, hint="name a release, as in 1.2.0")
        if not _lowers_level(entry):
            yield make_note("acceptance-malformed", (*at, "level"), message="`level` must be lower than `was`", hint="")
        name = tuple(str(entry.get(key)) for key in ("artifact", "since", "fingerprint"))
        if seen.setdefault(name, index) != index:
            hint = "keep one of them"
            yield make_note("acceptance-malformed", at, message=f"duplicate entry: {name[2]} of {name[0]}", hint=hint)


def lint_acceptance_use(value: Any, pending: PendingAcceptances, today: date) -> Iterator[Note]:
    """Yield the entries that no change needs, and those that expired while their change is still there."""
    for index, entry in list_mappings(value, "accepted"):
        artifact, since, fingerprint, until = (entry.get(key) for key in ("artifact", "since", "fingerprint", "until"))
        used = pending.get((str(artifact), str(find_version(str(since))), str(fingerprint)))
        if used is False:
            yield make_note("accept-unused", ("accepted", index), artifact=artifact, found=entry.get("rule"))
        ended = _parse_day(until)
        if used and ended and ended < today:
            at = ("accepted", index, "until")
            found = entry.get("rule")
            yield make_note("accept-expired", at, artifact=artifact, found=found, until=until, print=fingerprint)


def _lint_dates(entry: Mapping[str, Any], index: int) -> Iterator[Note]:
    for key in _DATES:
        if isinstance(entry.get(key), str) and _parse_day(entry[key]) is None:
            message = f"`{key}` is not a date: {describe_value(entry[key])}"
            yield make_note(
                "acceptance-malformed", ("accepted", index, key), message=message, hint="write it as 2026-12-31"
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
