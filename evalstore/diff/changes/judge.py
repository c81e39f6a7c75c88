"""Finds the changes between two judges: prompt, reply, model, validation and domains."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any

from evalstore.diff.change import Change
from evalstore.diff.changes.edit_script import (
    build_key_change,
    find_extra_key_changes,
    find_key_changes,
)
from evalstore.diff.changes.examples import find_example_changes
from evalstore.diff.changes.judge_inputs import list_model_edits
from evalstore.diff.classify import classify
from evalstore.diff.findings import Direction
from evalstore.diff.plain_data import describe_value, is_same
from evalstore.model.artifact import RENAMED_FROM
from evalstore.model.example import EXAMPLES
from evalstore.text import SHORT_EXCERPT

KEY_RULES = {
    "id": "judge-id-changed",
    "template": "judge-template-changed",
    "variables": "judge-template-variable-changed",
    "score_type": "judge-score-type-changed",
    "scale": "judge-scale-changed",
    "level_names": "judge-levels-changed",
    "level_scores": "judge-level-value-changed",
    "reply_pattern": "judge-reply-pattern-changed",
    "reads": "judge-reply-keys-changed",
    "first": "judge-first-prompt-changed",
}

_RETIRES = "retires"  # a day, which no executor reads

_MORE = len(" and 99 more")  # the room that is kept for this ending of a message

_LEVEL_KEYS = ("level_names", "level_scores")

_DEFAULTS: Mapping[str, Any] = {
    "variables": [],
    "score_type": "continuous",
    "scale": {"min": 0, "max": 1},
    "model": {},
    "applicable_to": None,
}

_MEASURED_KEYS = frozenset(
    {"tpr", "tnr", "validated_against", "validated_at", "sample_size", "digest"}
)


def find_judge_changes(
    old: Mapping[str, Any], new: Mapping[str, Any], rule_set: int
) -> Iterator[Change]:
    """Yield the edits between two judges.

    The rule set decides which edits make a validation stale.
    """
    before, after = {**_DEFAULTS, **old}, {**_DEFAULTS, **new}
    edits = [
        *_find_ruled_key_changes(before, after),
        *_find_judge_model_changes(before["model"], after["model"]),
    ]
    yield from edits
    yield from _find_validation_changes(
        old.get("validation"),
        new.get("validation"),
        [edit for edit in edits if _can_move_score(edit, rule_set)],
    )
    yield from _find_domain_changes(before, after)
    if not is_same(old.get(_RETIRES), new.get(_RETIRES)):
        yield build_key_change("metadata-changed", _RETIRES, (old, new))
    yield from find_example_changes(old, new)
    known = {
        *KEY_RULES,
        "model",
        "validation",
        "applicable_to",
        "version",
        RENAMED_FROM,
        _RETIRES,
        EXAMPLES,
    }
    yield from find_extra_key_changes(old, new, known=known)


def _find_ruled_key_changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Change]:
    differ = {key: sides for key, sides in find_key_changes(old, new).items() if key in KEY_RULES}
    if differ.keys() >= set(_LEVEL_KEYS):
        # If the names and the scores of levels both change, that is one edit.
        levels = tuple({key: side.get(key) for key in _LEVEL_KEYS} for side in (old, new))
        differ = {key: sides for key, sides in differ.items() if key not in _LEVEL_KEYS}
        differ["level_names"] = levels[0], levels[1]
    for key, (old_value, new_value) in differ.items():
        set_of_names = key == "variables" and _sort_names(old_value) == _sort_names(new_value)
        rule = "list-reordered" if set_of_names else KEY_RULES[key]
        yield Change(rule, old_value, new_value, (key,), (key,), name=key, judges=(old, new))


def _sort_names(names: Any) -> Any:
    return (
        sorted(names)
        if isinstance(names, list) and all(isinstance(name, str) for name in names)
        else object()
    )


def _find_judge_model_changes(old: Any, new: Any) -> Iterator[Change]:
    if not (isinstance(old, dict) and isinstance(new, dict)):
        old, new = {"id": old}, {"id": new}
    for rule, key, old_value, new_value in list_model_edits(old, new):
        yield Change(
            rule, old_value, new_value, ("model", key), ("model", key), name=f"model/{key}"
        )


def _find_validation_changes(old: Any, new: Any, moving: list[Change]) -> Iterator[Change]:
    at = ("validation",)
    old_value, new_value = (side if isinstance(side, dict) else {} for side in (old, new))
    if not is_same(old, new):
        differ = find_key_changes(old_value, new_value) if old_value and new_value else {}
        edits = [
            f"{key} {' to '.join(map(describe_value, sides))}" for key, sides in differ.items()
        ]
        words = {"changes": _list_edits(edits) or ("it is gone" if old_value else "it is new")}
        yield Change("judge-validation-changed", old, new, at, at, name="validation", words=words)
    measured = [
        {key: side[key] for key in _MEASURED_KEYS if key in side} for side in (old_value, new_value)
    ]
    # Rates that were measured before an edit that may change scores are not valid for the judge as
    # it is now.
    moved = [edit.name.partition("/")[0] for edit in moving]
    if measured[1] and is_same(*measured) and moved:
        words = {"moved": " and ".join(dict.fromkeys(moved))}
        yield Change(
            "judge-validation-stale",
            None,
            None,
            at,
            at,
            name="validation",
            words=words,
            discriminator=moved,
        )


def _list_edits(edits: Sequence[str]) -> str:
    """Return as many edits as a message has room for, at least one, and how many more there are."""
    ends = accumulate(len(edit) + len(", ") for edit in edits)
    shown = sum(end <= SHORT_EXCERPT - _MORE for end in ends) or 1
    rest = len(edits) - shown
    return ", ".join(edits) if rest <= 0 else f"{', '.join(edits[:shown])} and {rest} more"


def _can_move_score(edit: Change, rule_set: int) -> bool:
    return classify(edit, rule_set=rule_set).direction is not Direction.NONE


def _find_domain_changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Change]:
    at = ("applicable_to",)
    before, after = old["applicable_to"], new["applicable_to"]
    if is_same(before, after):
        return
    if not (isinstance(before, list) and isinstance(after, list)):
        yield Change("judge-applicable-to-narrowed", before, after, at, at)
        return
    removed = [item for item in before if item not in after]
    added = [item for item in after if item not in before]
    if removed:
        yield Change("judge-applicable-to-narrowed", removed, None, at, at)
    if added:
        validation = new.get("validation")
        backed = isinstance(validation, dict) and validation.get("validated_against")
        words = {"backing": "" if backed else "; no `validated_against` backs the claim"}
        yield Change("judge-applicable-to-widened", None, added, at, at, words=words)
    if not (removed or added):
        yield Change("list-reordered", before, after, at, at, name="applicable_to")
