"""Finds the changes of what a check gives its judges: their model and variables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from evalstore.diff.change import Change, Proof
from evalstore.diff.changes.edit_script import EditScript, find_key_changes, set_param
from evalstore.diff.deciders.judges import find_prompt_names, is_variable_unread
from evalstore.diff.deciders.juries import read_jury
from evalstore.diff.references import ArtifactLoader, is_pinned
from evalstore.errors import EvalstoreError
from evalstore.model import is_cosmetic, parse_ref

_SAMPLING_KEYS = frozenset(
    {"temperature", "top_p", "max_tokens", "seed", "response_format", "extra"}
)

_DEFAULTS = {"role": "user"}

_UNREAD = Proof("no template of its judges reads it, so no text changes")


def list_model_edits(
    old: Mapping[str, Any], new: Mapping[str, Any]
) -> Iterator[tuple[str, str, Any, Any]]:
    """Yield (rule, key, old, new) for keys that differ between models.

    Null is absent, and so is a default.
    """
    set_keys = (
        {key: value for key, value in model.items() if value not in (None, _DEFAULTS.get(key))}
        for model in (old, new)
    )
    for key, (old_value, new_value) in find_key_changes(*set_keys).items():
        rule = "judge-sampling-changed" if key in _SAMPLING_KEYS else "judge-model-changed"
        yield "metadata-changed" if is_cosmetic(key) else rule, key, old_value, new_value


def find_model_changes(script: EditScript, token: str) -> Iterator[Change]:
    """Yield the edits of what a check says about its judges' model, key by key."""
    goal = script.goal[token].params["model"]
    for rule, key, old_value, new_value in list_model_edits(
        script.current[token].params["model"], goal
    ):
        yield _edit_entry(script, token, "model", (rule, key, old_value, new_value))
    script.adopt_check(set_param(script.current[token], "model", goal))


def find_variable_changes(script: EditScript, token: str) -> Iterator[Change]:
    """Yield the edits of the texts that a check gives its judges, one by one."""
    check, goal = script.current[token], script.goal[token]
    panel = read_jury(check.params)
    read = (
        [_read_template_names(ref, script.load) for ref in panel.weight_by_judge]
        if panel
        else [None]
    )
    for name, sides in find_key_changes(
        check.params["variables"], goal.params["variables"]
    ).items():
        change = _edit_entry(script, token, "variables", ("check-variables-changed", name, *sides))
        yield (
            replace(change, proof=_UNREAD)
            if all(is_variable_unread(name, names) for names in read)
            else change
        )


def _edit_entry(
    script: EditScript, token: str, param: str, facts: tuple[str, str, Any, Any]
) -> Change:
    rule, key, old_value, new_value = facts
    check = script.current[token]
    others = {name: item for name, item in check.params[param].items() if name != key}
    edited = set_param(check, param, others if new_value is None else {**others, key: new_value})
    at = (None if old_value is None else (param, key), None if new_value is None else (param, key))
    return script.edit_check(
        rule, f"{param}/{key}", edited, old=old_value, new=new_value, at=at, words={"variable": key}
    )


def _read_template_names(ref: str, load: ArtifactLoader | None) -> tuple[str, ...] | None:
    """Return the names that the template of a pinned judge reads; None if that is not certain."""
    try:
        found = load(ref).value if load and is_pinned(parse_ref(ref)) else {}
    except EvalstoreError:
        return None
    return find_prompt_names(found)
