"""Lints evalstore.yaml beyond its schema: the names of rules, and their possible levels."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from typing import Any

from evalstore.lint.context import KnownRules
from evalstore.lint.notes import (
    Fix,
    Note,
    describe_value,
    get_mapping,
    list_texts,
    make_note,
    suggest_name,
)
from evalstore.lint.rules import VALIDATION_RULES
from evalstore.lint.shapes import QUESTION, ROOTS, load_schema
from evalstore.model import Severity, is_cosmetic
from evalstore.model.check_schemas import list_check_kinds
from evalstore.text import find_only_near

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
            "rule-set-unknown",
            ("rule_set",),
            found=number,
            hint=f"it has {sets}; newer releases have more",
        )
    for index, key in list_texts(value, "cosmetic"):
        if key in _read_keys() and not is_cosmetic(key):
            yield make_note("cosmetic-key-read", ("cosmetic", index), found=key)


def lint_rule_levels(levels: Mapping[str, Any], changes: Collection[str]) -> Iterator[Note]:
    """Yield notes on entries of `rules` that name no rule, or give it a level of the wrong type."""
    for name, level in levels.items():
        matched = RULE_SETTING.fullmatch(name)
        if matched is None:  # the schema says what is wrong with it
            continue
        id_, direction = matched.groups()
        at = ("rules", name)
        if id_ not in changes and id_ not in VALIDATION_RULES:
            hint = suggest_name(
                id_,
                (*changes, *VALIDATION_RULES),
                "see the rules of changes: evalstore explain --rules",
            )
            yield make_note("rule-unknown", at, of_key=True, found=id_, hint=hint)
        elif direction and id_ not in changes:
            yield make_note(
                "rule-level-wrong",
                at,
                of_key=True,
                found=name,
                hint=f"write {id_}: only changes have directions",
            )
        elif level not in (allowed := _list_levels(id_, changes)):
            word = describe_value(level).strip("'")
            guess = find_only_near(word, allowed)
            yield make_note(
                "rule-level-wrong",
                at,
                fix=Fix(guess) if guess else None,
                found=f"{id_}: {word}",
                hint=f"write {_join_or(allowed)}",
            )


def is_level_note(note: Note) -> bool:
    """Whether the schema notes the level of a rule, about which `lint_rule_levels` knows more."""
    return note.rule == "value-not-allowed" and note.pointer[:1] == ("rules",)


def _list_levels(id_: str, changes: Collection[str]) -> tuple[str, ...]:
    severities = _FILE_SEVERITIES if id_ in VALIDATION_RULES else ()
    return (*severities, *_CHANGE_LEVELS) if id_ in changes else severities


def _lint_fixed_levels(levels: Mapping[str, Any]) -> Iterator[Note]:
    """Yield the entries of `rules` that would lower an error, which always stays one."""
    for name, level in levels.items():
        rule = VALIDATION_RULES.get(name)
        if (
            rule
            and rule.severity is Severity.ERROR
            and level in _FILE_SEVERITIES
            and level != Severity.ERROR
        ):
            yield make_note(
                "rule-level-fixed", ("rules", name), found=f"{name}: {level}", name=name
            )


def _join_or(words: tuple[str, ...]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"


@cache
def _read_keys() -> frozenset[str]:
    names = [*ROOTS.values(), QUESTION, *(f"checks/{kind}" for kind in list_check_kinds())]
    scoring = load_schema("base/rubric")["$defs"]["scoring"]["properties"]
    return frozenset(scoring) | {key for name in names for key in load_schema(name)["properties"]}
