"""Finds the changes of one check: its kind, its parameters and its lists."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from evalstore.checks.kinds.fact_match import is_empty_check
from evalstore.diff.change import Change, Decision
from evalstore.diff.changes.edit_script import (
    EditScript,
    set_param,
)
from evalstore.diff.changes.pattern_edits import compare_kinds
from evalstore.diff.deciders.unmoved import UNMOVED_RULES
from evalstore.diff.findings import Certainty
from evalstore.diff.kinds import KINDS, describe_source, find_plain_kind
from evalstore.diff.limits import COMPARED
from evalstore.diff.pairing import make_canonical_demand
from evalstore.diff.plain_data import is_same
from evalstore.diff.rubric_state import CheckState
from evalstore.model.question_params import find_question_key

_UNGRADED = "unscored, as the question gives it nothing"


def find_check_changes(script: EditScript, token: str) -> Iterator[Change]:
    """Yield the edits of a check's kind, parameters and extra keys.

    Edits of its threshold, its weight and `required` are found in `changes/rubric.py`.
    """
    check, goal = script.current[token], script.goal[token]
    if check is goal:
        return
    if check.kind != goal.kind:
        edited = replace(goal, weight=check.weight, is_required=check.is_required)
        if find_plain_kind(check.kind) == find_plain_kind(goal.kind):
            name = next(name for name in goal.params if _takes_value(check, goal, name))
            yield _change_source(script, name, edited)
            return
        if is_empty_check(check.params) or is_empty_check(goal.params):
            yield _change_presence(script, token, edited)
            return
        demands = [make_canonical_demand(check), make_canonical_demand(edited)]
        change = script.edit_check(
            "check-kind-changed",
            "kind",
            edited,
            old=check.kind,
            new=goal.kind,
            discriminator=demands,
        )
        yield compare_kinds(script, change)
        return
    for name in sorted(check.params, key=lambda name: _rank_param(check, goal, name)):
        if not is_same(check.params[name], goal.params[name]):
            for change in _find_param_changes(script, token, name):
                yield _compare_parts(script, change)
    check = script.current[token]
    if check.negate is not goal.negate:
        edited = replace(check, negate=goal.negate)
        yield script.edit_check(
            "check-negate-changed", "negate", edited, old=check.negate, new=goal.negate
        )
    check = script.current[token]
    yield from script.edit_extra_keys(token, (check.extras, goal.extras))
    script.adopt_check(replace(check, extras=goal.extras))


def _change_presence(script: EditScript, token: str, edited: CheckState) -> Change:
    """Return the edit after which a question gives a check something to grade, or nothing more."""
    sides = script.current[token], edited
    old, new = (_UNGRADED if is_empty_check(side.params) else "graded" for side in sides)
    words = {"lack": "", "old": old, "new": new}
    decision = Decision(Certainty.BY_DEFINITION, "without a value of the question it has no score")
    return script.edit_check(
        "check-applicability-changed",
        "kind",
        edited,
        old=old,
        new=new,
        at=(None, None),
        words=words,
        decision=decision,
    )


def _compare_parts(script: EditScript, change: Change) -> Change:
    """Return an edit of a check that reads a part, decided for every text that `on` may leave.

    A check of the whole output is skipped: comparing all checks together says more about it.
    """
    is_decided = change.proof is not None or change.decision is not None
    if is_decided or not all(check.reads_part for check in change.checks):
        return change
    compared = compare_kinds(script, change)
    if compared.proof is None:
        return compared
    rule = UNMOVED_RULES.get(change.rule)
    return replace(compared, proof=compared.proof._replace(rule=rule))


def _rank_param(check: CheckState, goal: CheckState, name: str) -> int:
    comes_first = KINDS[check.kind].params[name].comes_first
    if comes_first is None:
        return 0
    return -1 if comes_first(check.params[name], goal.params[name]) else 1


def _find_param_changes(script: EditScript, token: str, name: str) -> Iterator[Change]:
    check, goal = script.current[token], script.goal[token]
    param = KINDS[goal.kind].params[name]
    if not param.reads_sources and _takes_value(check, goal, name):
        yield _change_source(script, name, set_param(check, name, goal.params[name]))
        return
    # A parameter has a function that finds its edits, or is a list whose items change one by one,
    # or changes as a whole.
    if param.edits:
        yield from param.edits(script, token)
        return
    if param.items:
        yield from _find_list_changes(script, token, name)
        script.adopt_check(set_param(script.current[token], name, goal.params[name]))
        return
    edited = set_param(check, name, goal.params[name])
    rule = param.rule or "unclassified-change"
    yield script.edit_check(rule, name, edited, old=check.params[name], new=goal.params[name])


def _takes_value(check: CheckState, goal: CheckState, name: str) -> bool:
    """Whether a parameter comes from the question, before the edit or after it."""
    return any(find_question_key(side.params[name]) for side in (check, goal))


def _change_source(script: EditScript, name: str, edited: CheckState) -> Change:
    """Return the edit of a value's source: a key of the question, or the value in the rubric."""
    old, new = script.current[edited.token].params[name], script.goal[edited.token].params[name]
    words = {"name": name, "old": describe_source(old), "new": describe_source(new)}
    return script.edit_check(
        "check-question-values-changed", name, edited, old=old, new=new, words=words
    )


def _find_list_changes(script: EditScript, token: str, name: str) -> Iterator[Change]:
    goal = script.goal[token]
    param = KINDS[goal.kind].params[name]
    old, new = list(script.current[token].params[name]), list(goal.params[name])
    more, less = (
        list((Counter(new) - Counter(old)).elements()),
        list((Counter(old) - Counter(new)).elements()),
    )
    if len(more) + len(less) > COMPARED.items:
        edited = set_param(script.current[token], name, new)
        yield script.edit_check("unclassified-change", name, edited, old=old, new=new)
        return
    # One phrase exchanged for another is one edit. As two, one would be stricter and one looser.
    one_for_one = len(more) == len(less) == 1 and more[0] not in old and less[0] not in new
    if one_for_one and param.rewording:
        edited = set_param(
            script.current[token], name, [more[0] if item == less[0] else item for item in old]
        )
        at = ((name, old.index(less[0])), (name, new.index(more[0])))
        words = {"seeks": "bans" if KINDS[goal.kind].bans else "looks for"}
        yield script.edit_check(
            param.rewording, name, edited, at=at, words=words, old=less[0], new=more[0]
        )
    else:
        added, removed = param.items or ("unclassified-change", "unclassified-change")
        # Items are added before others are removed, so that a list with the same meaning in the end
        # is proved equal, whatever was exchanged.
        for item in more:
            edited = set_param(
                script.current[token], name, [*script.current[token].params[name], item]
            )
            yield script.edit_check(
                added, name, edited, new=item, at=(None, (name, _find_last_index(new, item)))
            )
        for item in less:
            left = list(script.current[token].params[name])
            left.remove(item)
            edited = set_param(script.current[token], name, left)
            yield script.edit_check(
                removed, name, edited, old=item, at=((name, _find_last_index(old, item)), None)
            )
    if _list_common(old, new) != _list_common(new, old):
        edited = set_param(script.current[token], name, new)
        yield script.edit_check("list-reordered", name, edited, old=old, new=new)


def _list_common(items: list[str], others: list[str]) -> list[str]:
    common = set(others)
    return [item for item in dict.fromkeys(items) if item in common]


def _find_last_index(items: list[str], item: str) -> int:
    return len(items) - 1 - items[::-1].index(item)
