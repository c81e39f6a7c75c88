"""Finds the edits of what a check matches: pattern, flags and mode, as sets of outputs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from evalstore.diff.answers.read_parts import wrap_text
from evalstore.diff.answers.texts import compare_checks
from evalstore.diff.change import UNDECIDED, Change, Decision, Proof
from evalstore.diff.changes.edit_script import EditScript
from evalstore.diff.direction import EITHER, LOOSER, STRICTER, flip_direction
from evalstore.diff.findings import Certainty
from evalstore.diff.rubric_state import CheckState

# A lazy package: its names load on first use.
from evalstore.languages import pattern_comparison

if TYPE_CHECKING:
    from evalstore.languages.pattern_comparison import LanguageComparison

_PARAMS = ("pattern", "flags", "mode")

_PATTERN_CHANGED = "regex-pattern-changed"

_SINGLE_PARAM_RULES = {"flags": "regex-flags-changed", "mode": "regex-mode-changed"}

_RULES = {STRICTER: "regex-pattern-narrowed", LOOSER: "regex-pattern-widened"}

# The keys are the values of `LanguageRelation`.
_DIRECTIONS = {
    "narrower": STRICTER,
    "wider": LOOSER,
    "incomparable": EITHER,
}

_REASONS = {
    "narrower": "all outputs that pass now passed before, and some that passed before do not",
    "wider": "all outputs that passed before still pass, and some more do",
    "incomparable": "some outputs passed only before, others pass only now",
}

_EQUAL_LANGUAGES = Proof("the two languages are equal: the same outputs pass before and after")


def find_pattern_changes(script: EditScript, token: str) -> Iterator[Change]:
    """Yield the edit of a regex check: its pattern, flags and mode together say what it matches."""
    check, goal = script.current[token], script.goal[token]
    changed = [name for name in _PARAMS if check.params[name] != goal.params[name]]
    # All three parameters are one edit. Three edits would compare rubrics that are in neither
    # document.
    if changed:
        edited = replace(
            check, params={**check.params, **{name: goal.params[name] for name in _PARAMS}}
        )
        comparison = compare_checks(check, edited, script.pattern_budget)
        change = apply_comparison(_edit_pattern(script, edited, changed), comparison)
        yield (
            change
            if change.rule in _SINGLE_PARAM_RULES.values()
            else replace(change, rule=_choose_rule(change))
        )


def _edit_pattern(script: EditScript, edited: CheckState, changed: list[str]) -> Change:
    name, *more = changed
    before, after = script.current[edited.token].params, edited.params
    if more:
        old, new = ({key: params[key] for key in changed} for params in (before, after))
        return script.edit_check(_PATTERN_CHANGED, name, edited, old=old, new=new)
    sides = {"old": before[name], "new": after[name]}
    unset = {side: "none" for side, flags in sides.items() if name == "flags" and not flags}
    rule = _SINGLE_PARAM_RULES.get(name, _PATTERN_CHANGED)
    return script.edit_check(rule, name, edited, **sides, words=unset)


def _choose_rule(change: Change) -> str:
    if change.decision is None:
        return "regex-pattern-equivalent"
    direction = change.decision.direction
    return change.rule if direction is None else _RULES.get(direction, change.rule)


def compare_kinds(script: EditScript, change: Change) -> Change:
    """Return a change of kind, with a comparison of the outputs that pass if one is possible."""
    before, after = change.checks
    if not (before.binary and after.binary):
        return change
    comparison = compare_checks(before, after, script.pattern_budget)
    return (
        change
        if comparison.relation is pattern_comparison.LanguageRelation.UNDECIDED
        else apply_comparison(change, comparison)
    )


def apply_comparison(change: Change, comparison: LanguageComparison) -> Change:
    """Return a change with what the comparison of its two sets of outputs decides."""
    if comparison.relation is pattern_comparison.LanguageRelation.EQUAL:
        return replace(change, proof=_EQUAL_LANGUAGES)
    params = change.checks[1].params
    texts = [text for text in (comparison.only_old, comparison.only_new) if text is not None]
    outputs = tuple(wrap_text(text, params) for text in texts)
    if comparison.relation is pattern_comparison.LanguageRelation.UNDECIDED:
        # A mode that allows more places for a match is looser, so the direction of a mode's change
        # is known without a comparison.
        by = (
            Certainty.BY_DEFINITION
            if change.rule == _SINGLE_PARAM_RULES["mode"]
            else Certainty.ASSUMED
        )
        return replace(change, decision=Decision(by, f"{UNDECIDED}{comparison.why}", outputs))
    direction = _DIRECTIONS[comparison.relation.value]
    # It is not known whether `on` ever leaves one of the texts that differ.
    by = Certainty.ASSUMED if change.checks[1].reads_part else Certainty.PROVED
    # A rule states the direction of the match; `classify` flips it for a negated check.
    found = flip_direction(direction) if change.checks[1].negate else direction
    return replace(
        change,
        decision=Decision(by, _REASONS[comparison.relation.value], outputs, found),
    )
