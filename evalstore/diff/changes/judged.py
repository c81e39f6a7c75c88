"""Changes of what a check tells its judges: the texts of variables, and what it says of their model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from evalstore.diff.change import Change, Proof
from evalstore.diff.changes.loose import find_key_changes
from evalstore.diff.changes.walk import EditScript, with_param
from evalstore.diff.deciders.judges import names_of, unread
from evalstore.diff.deciders.juries import panel_of
from evalstore.diff.refs import ArtifactLoader, is_pinned
from evalstore.errors import EvalstoreError
from evalstore.model import is_cosmetic, parse_ref

_SAMPLING = frozenset({"temperature", "top_p", "max_tokens", "seed"})
_UNREAD = Proof("no template of its judges reads it, so no text changes")


def list_model_edits(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[tuple[str, str, Any, Any]]:
    """Yield (rule, key, old, new) for every key that two models differ in; a key with nothing under it says nothing."""
    said = ({key: value for key, value in model.items() if value is not None} for model in (old, new))
    for key, mine, theirs in find_key_changes(*said):
        rule = "judge-sampling-changed" if key in _SAMPLING else "judge-model-changed"
        yield "metadata-changed" if is_cosmetic(key) else rule, key, mine, theirs


def find_model_changes(walk: EditScript, token: str) -> Iterator[Change]:
    """Yield the edits of what a check says of its judges' model, key by key."""
    goal = walk.goal[token].params["model"]
    for rule, key, mine, theirs in list_model_edits(walk.current[token].params["model"], goal):
        yield _edit(walk, token, "model", (rule, key, mine, theirs))
    walk.adopt_check(with_param(walk.current[token], "model", goal))


def find_variable_changes(walk: EditScript, token: str) -> Iterator[Change]:
    """Yield the edits of the texts that a check gives its judges, one by one."""
    check, goal = walk.current[token], walk.goal[token]
    panel = panel_of(check.params)
    read = [_names(ref, walk.load) for ref in panel.said] if panel else [None]
    for name, mine, theirs in find_key_changes(check.params["variables"], goal.params["variables"]):
        change = _edit(walk, token, "variables", ("check-variables-changed", name, mine, theirs))
        yield replace(change, proof=_UNREAD) if all(unread(name, names) for names in read) else change


def _edit(walk: EditScript, token: str, of: str, facts: tuple[str, str, Any, Any]) -> Change:
    rule, key, mine, theirs = facts
    check = walk.current[token]
    left = {name: item for name, item in check.params[of].items() if name != key}
    done = with_param(check, of, left if theirs is None else {**left, key: theirs})
    at = (None if mine is None else (of, key), None if theirs is None else (of, key))
    return walk.edit_check(rule, f"{of}/{key}", done, old=mine, new=theirs, at=at, words={"variable": key})


def _names(ref: str, load: ArtifactLoader | None) -> tuple[str, ...] | None:
    """Return what the template of the judge that a pin names reads; None where that is not known for good."""
    try:
        found = load(ref).value if load and is_pinned(parse_ref(ref)) else {}
    except EvalstoreError:
        return None
    return names_of(found.get("template"))
