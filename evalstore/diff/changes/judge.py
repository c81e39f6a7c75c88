"""Changes of a judge, key by key; a key that no row names is an extension."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from evalstore.diff.change import Change
from evalstore.diff.changes.loose import key_changes, loose_changes

RULES = {
    "id": "judge-id-changed",
    "template": "judge-template-changed",
    "variables": "judge-template-variable-changed",
    "score_type": "judge-score-type-changed",
    "scale": "judge-scale-changed",
    "level_names": "judge-levels-changed",
    "level_scores": "judge-level-value-changed",
    "reply_pattern": "judge-reply-pattern-changed",
    "validation": "judge-validation-changed",
}
_DEFAULTS: Mapping[str, Any] = {"variables": [], "scale": {"min": 0, "max": 1}, "model": {}}
_SAMPLING = frozenset({"temperature", "top_p", "max_tokens", "seed"})


def judge_changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Change]:
    """Yield the edits between two judges' mappings."""
    before, after = {**_DEFAULTS, **old}, {**_DEFAULTS, **new}
    for key, mine, theirs in key_changes(before, after):
        if key in RULES:
            yield Change(RULES[key], mine, theirs, (key,), (key,), name=key)
    yield from _model_changes(before["model"], after["model"])
    yield from _domain_changes(before, after)
    known = {*RULES, "model", "applicable_to", "version"}
    yield from loose_changes(old, new, at=((), ()), known=known, rule="extension-field-changed")


def _model_changes(old: Any, new: Any) -> Iterator[Change]:
    if not (isinstance(old, dict) and isinstance(new, dict)):
        old, new = {"id": old}, {"id": new}
    for key, mine, theirs in key_changes(old, new):
        rule = "judge-sampling-changed" if key in _SAMPLING else "judge-model-changed"
        yield Change(rule, mine, theirs, ("model", key), ("model", key), name=key)


def _domain_changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Change]:
    at = ("applicable_to",)
    for _, before, after in (found for found in key_changes(old, new) if found[0] in at):
        if not (isinstance(before, list) and isinstance(after, list)):
            yield Change("judge-applicable-to-narrowed", before, after, at, at)
            continue
        gone, come = ([item for item in one if item not in other] for one, other in ((before, after), (after, before)))
        if gone:
            yield Change("judge-applicable-to-narrowed", gone, None, at, at)
        if come:
            yield Change("judge-applicable-to-widened", None, come, at, at)
        if not (gone or come):
            yield Change("list-reordered", before, after, at, at, name="applicable_to")
