"""Changes of checks that look for text, decided by the outputs that they pass before and after."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from evalstore.diff.change import Change, Decision, Proof
from evalstore.diff.changes.walk import EditScript
from evalstore.diff.deciders.texts import compare_checks
from evalstore.diff.direction import EITHER, LOOSER, STRICTER, flip_direction
from evalstore.diff.findings import Certainty
from evalstore.diff.state import CheckState
from evalstore.regex_inclusion import LanguageComparison, LanguageRelation

_PARAMS = ("pattern", "flags", "mode")
_CHANGED = "regex-pattern-changed"
_ALONE = {"flags": "regex-flags-changed", "mode": "regex-mode-changed"}
_RULES = {STRICTER: "regex-pattern-narrowed", LOOSER: "regex-pattern-widened"}
_DIRECTIONS = {
    LanguageRelation.NARROWER: STRICTER,
    LanguageRelation.WIDER: LOOSER,
    LanguageRelation.INCOMPARABLE: EITHER,
}
_REASONS = {
    LanguageRelation.NARROWER: "all outputs that pass now passed before, and some that passed do not",
    LanguageRelation.WIDER: "all outputs that passed before pass now, and some that did not do",
    LanguageRelation.INCOMPARABLE: "some outputs passed before only, and others pass only now",
}
# A pattern that outruns its second says nothing of an output, before or after; no text of a rubric says where that is.
_EQUAL = Proof("the two languages are equal: the same outputs pass before and after, all that the engine gets through")


def find_pattern_changes(walk: EditScript, token: str) -> Iterator[Change]:
    """Yield the edit of a regex check: its pattern, flags and mode together say what it matches."""
    check, goal = walk.current[token], walk.goal[token]
    changed = [name for name in _PARAMS if check.params[name] != goal.params[name]]
    if changed:
        done = replace(check, params=goal.params)
        compared = compare_checks(check, done, walk.pattern_budget)
        change = apply_comparison(_edit(walk, done, changed), compared)
        yield change if change.rule in _ALONE.values() else replace(change, rule=_rule(change))


def _edit(walk: EditScript, done: CheckState, changed: list[str]) -> Change:
    name, *more = changed
    old, new = ({name: one.params[name] for name in changed} for one in (walk.current[done.token], done))
    if more:
        return walk.edit_check(_CHANGED, name, done, old=old, new=new)
    unset = {side: "none" for side, value in (("old", old[name]), ("new", new[name])) if name == "flags" and not value}
    return walk.edit_check(_ALONE.get(name, _CHANGED), name, done, old=old[name], new=new[name], words=unset)


def _rule(change: Change) -> str:
    if change.decision is None:
        return "regex-pattern-equivalent"
    direction = change.decision.direction
    return change.rule if direction is None else _RULES.get(direction, change.rule)


def compare_kinds(walk: EditScript, change: Change) -> Change:
    """Return a change of kind with what is known of the outputs that both kinds pass."""
    before, after = change.checks
    if not (before.binary and after.binary):
        return change
    compared = compare_checks(before, after, walk.pattern_budget)
    return change if compared.relation is LanguageRelation.UNDECIDED else apply_comparison(change, compared)


def apply_comparison(change: Change, compared: LanguageComparison) -> Change:
    """Return a change with what a comparison says of it."""
    if compared.relation is LanguageRelation.EQUAL:
        return replace(change, proof=_EQUAL)
    outputs = tuple(text for text in (compared.only_old, compared.only_new) if text is not None)
    if compared.relation is LanguageRelation.UNDECIDED:
        # Where a match may lie has an order of its own.
        by = Certainty.BY_DEFINITION if change.rule == _ALONE["mode"] else Certainty.ASSUMED
        return replace(change, decision=Decision(by, f"undecided: {compared.why}", outputs))
    direction = _DIRECTIONS[compared.relation]
    # A rule's direction is that of what is found; `negate` is taken into account with it.
    found = flip_direction(direction) if change.checks[1].negate else direction
    return replace(change, decision=Decision(Certainty.PROVED, _REASONS[compared.relation], outputs, found))
