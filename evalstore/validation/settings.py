"""The rules for evalstore.yaml that its schema cannot say: names of rules, their levels, and keys declared cosmetic."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from typing import Any

from evalstore.model import is_cosmetic
from evalstore.validation.context import Known
from evalstore.validation.notes import Note, guessed, note
from evalstore.validation.parts import mapping, texts
from evalstore.validation.rules import RULES
from evalstore.validation.shape import QUESTION, ROOTS, kinds, schema

NAME = re.compile(r"([a-z][a-z0-9-]*)(:(?:stricter|looser|either|none))?")
_OF_CHANGES = ("major", "minor", "patch")
_OF_FILES = ("off", "info", "warning", "error")


def settings_notes(value: Any, known: Known) -> Iterator[Note]:
    """Yield what is said of rules that there are not, and what is said of rules or keys in vain."""
    if known.rules:
        yield from rule_notes(mapping(value, "rules"), known.rules)
    number = value.get("rule_set") if isinstance(value, dict) else None
    if known.rule_sets and isinstance(number, int) and number not in known.rule_sets:
        sets = ", ".join(map(str, known.rule_sets))
        yield note("rule-set-unknown", ("rule_set",), found=number, hint=f"it has {sets}; another release has more")
    for index, key in texts(value, "cosmetic"):
        if key in _read_keys() and not is_cosmetic(key):
            yield note("cosmetic-key-read", ("cosmetic", index), found=key)


def rule_notes(levels: Mapping[str, Any], changes: Collection[str]) -> Iterator[Note]:
    """Yield what of `rules` means nothing, given the rules of changes: names of none, and levels of another sort."""
    for name, level in levels.items():
        matched = NAME.fullmatch(name)
        if matched is None:  # the schema says what is wrong with it
            continue
        id_, direction = matched.groups()
        at = ("rules", name)
        if id_ not in changes and id_ not in RULES:
            hint = guessed(id_, (*changes, *RULES), "evalstore rules lists those of changes")
            yield note("rule-unknown", at, of_key=True, found=id_, hint=hint)
        elif direction and id_ not in changes:
            yield note(
                "rule-level-wrong", at, of_key=True, found=name, hint=f"write {id_}: only changes have directions"
            )
        elif level in _OF_CHANGES and id_ not in changes:
            yield note("rule-level-wrong", at, found=f"{id_}: {level}", hint=f"write {_either(_OF_FILES)}")
        elif level in _OF_FILES and id_ not in RULES:
            yield note("rule-level-wrong", at, found=f"{id_}: {level}", hint=f"write {_either(_OF_CHANGES)}")


def _either(words: tuple[str, ...]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"


@cache
def _read_keys() -> frozenset[str]:
    names = [*ROOTS.values(), QUESTION, *(f"checks/{kind}" for kind in kinds())]
    scoring = schema("base/rubric")["$defs"]["scoring"]["properties"]
    return frozenset(scoring) | {key for name in names for key in schema(name)["properties"]}
