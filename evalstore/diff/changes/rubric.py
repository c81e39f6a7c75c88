"""Finds the changes between two rubrics, in an order in which each can be judged by itself.

How one edited rubric becomes changes, and the changes findings:

    old: checks a (must_contain_any: yes) and b (regex: x), combine all_pass
    new: check a (must_contain_any: yes, ok), combine min

1. `pair_checks` pairs the two checks `a`, which share the token `c0`. No check of the new rubric
   pairs with `b`, whose token is `c1`.
2. The script starts at the old rubric. `_remove_checks` takes `c1` out, `_edit_checks` then adds
   the phrase to `c0`, and `_change_setting` sets the mode.
3. The script has arrived at the new rubric. Any difference still left would be reported as one
   "unclassified-change".
4. `separate_edit` takes each edit out of the script, as if it were the only one: the phrase is
   added in the old rubric, which still has `b`. The effect of all edits together follows from the
   script.
5. `classify` judges each change by its own `before` and `after`. The first two are major and
   looser, with the outputs `yes` and `okx` as witnesses. The mode changes no score: if all checks
   are 0 or 1, both modes give the same. This is proved, so it is a patch,
   "scoring-combine-equivalent". The rubric needs the highest level of the three: major.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

from evalstore.diff.change import Change, Proof
from evalstore.diff.changes.check import find_check_changes
from evalstore.diff.changes.composites import inline_composites, reverse_edits
from evalstore.diff.changes.edit_script import (
    EditScript,
    find_key_changes,
    point_into_check,
)
from evalstore.diff.changes.regrouping import find_regrouping
from evalstore.diff.changes.single_edit import separate_edit
from evalstore.diff.changes.statements import name_moves
from evalstore.diff.direction import LOWEST, VERDICT_MODES
from evalstore.diff.pairing import list_demand, make_canonical_demand, pair_checks
from evalstore.diff.plain_data import is_same
from evalstore.diff.references import ArtifactLoader
from evalstore.diff.rubric_state import CheckState, RubricState
from evalstore.documents import Pointer, convert_fraction
from evalstore.model import Combine
from evalstore.text import add_article

Edits = Iterator[Change]
_NO_SUCH_CHECK = Proof("no check has this id, so it has no effect")


def find_rubric_changes(
    old: RubricState, new: RubricState, load: ArtifactLoader | None = None
) -> Edits:
    """Yield the edits of checks and scoring from `old` to `new`.

    Paired checks share a token. `load` reads what the checks refer to.
    """
    # Composites that were inlined come first, checks that became a composite last. In between, both
    # sides have the same level of nesting.
    apart = list(inline_composites(old, new, load))
    together = list(inline_composites(new, old, load))
    yield from apart
    start = apart[-1].states[1] if apart else old
    end = together[-1].states[1] if together else new
    goal = pair_checks(start, end) if apart or together else end
    regrouped = list(find_regrouping(start, goal))
    yield from regrouped
    start = regrouped[-1].states[1] if regrouped else start
    yield from _apply_stages(EditScript(start, goal, load=load))
    yield from reverse_edits(together)


def _apply_stages(script: EditScript) -> Edits:
    for stage in _STAGES:
        yield from (separate_edit(change, script.start, script.goal) for change in stage(script))
    # Fails closed: a difference that no stage found is one more change, and it is major.
    if not is_same(_list_facts(script.current), _list_facts(script.goal)):
        yield script.edit_rubric(
            "unclassified-change",
            script.goal,
            old=_list_facts(script.current),
            new=_list_facts(script.goal),
        )


def _list_facts(rubric: RubricState) -> list[Any]:
    scoring = [
        str(rubric.combine),
        str(rubric.threshold),
        rubric.missing,
        rubric.errors,
        str(rubric.verdict),
        dict(rubric.extras),
    ]
    return [scoring, [*map(_list_check_facts, rubric.checks)]]


def _list_check_facts(check: CheckState) -> list[Any]:
    demand, weight = list_demand(check), str(check.weight)
    return [check.token, check.id, demand, weight, check.is_required, dict(check.extras)]


def _remove_checks(script: EditScript) -> Edits:
    for check in script.current.checks:
        if check.token not in script.goal.tokens:
            after = script.current.drop_check(check.token)
            yield _edit_whole_check(script, "check-removed", after, check)


def _rename_checks(script: EditScript) -> Edits:
    for check in script.current.checks:
        goal = script.goal[check.token]
        follows_kind = check.kind != goal.kind and not (check.has_id or goal.has_id)
        if check.id != goal.id and not follows_kind:
            edited = replace(check, id=goal.id, has_id=goal.has_id)
            yield script.edit_check("check-renamed", "id", edited, old=check.id, new=goal.id)


def _reorder_checks(script: EditScript) -> Edits:
    order = [token for token in script.goal.tokens if token in script.current.tokens]
    if script.current.tokens != order:
        ids = [check.id for check in script.current.checks]
        after = replace(script.current, checks=tuple(script.current[token] for token in order))
        new = [check.id for check in after.checks]
        at: Pointer = ("checks",)
        yield script.edit_rubric(
            "check-reordered", after, old=ids, new=new, old_pointer=at, new_pointer=at
        )


def _edit_checks(script: EditScript) -> Edits:
    changes = [
        change for token in script.current.tokens for change in find_check_changes(script, token)
    ]
    yield from name_moves(changes)


def _edit_before_combine(script: EditScript) -> Edits:
    # What one of the two modes does not read is changed under that mode.
    if script.current.combine is not Combine.WEIGHTED_AVG:
        yield from _change_weights(script)
    if script.current.combine not in VERDICT_MODES:
        yield from _change_thresholds(script)
    if script.current.combine in LOWEST:
        yield from _change_required(script)


def _change_setting(script: EditScript, name: str, rule: str) -> Edits:
    """Yield the edit of one setting of scoring."""
    old, new = (getattr(rubric, name) for rubric in (script.current, script.goal))
    if old != new:
        at: Pointer = ("scoring", name)
        was, now = map(_convert_setting, (old, new))
        after = replace(script.current, **{name: new})
        yield script.edit_rubric(
            rule, after, old=was, new=now, old_pointer=at, new_pointer=at, name=name
        )


def _change_verdict(script: EditScript) -> Edits:
    """Yield the edit of what decides the verdict, with the threshold, which only one side reads."""
    old, new = script.current, script.goal
    if old.verdict is new.verdict:
        return
    at: Pointer = ("scoring", "verdict")
    yield script.edit_rubric(
        "scoring-verdict-changed",
        replace(old, verdict=new.verdict, threshold=new.threshold),
        old=str(old.verdict),
        new=str(new.verdict),
        old_pointer=at,
        new_pointer=at,
        words={"old": _word_verdict(old), "new": _word_verdict(new)},
    )


def _word_verdict(rubric: RubricState) -> str:
    if rubric.needs_all:
        return "every check with a weight passes"
    return f"its score is at least {convert_fraction(rubric.threshold)}"


def _edit_after_combine(script: EditScript) -> Edits:
    yield from _change_weights(script)
    yield from _change_thresholds(script)
    yield from _change_required(script)


def _prove_rescaled(script: EditScript, after: tuple[CheckState, ...]) -> Proof | None:
    """Return a proof if all weights of the current checks were multiplied by one number."""
    rubric = script.current
    old, new = [check.weight for check in rubric.checks], [check.weight for check in after]
    factor = next(
        (weight / former for former, weight in zip(old, new, strict=True) if former), Fraction(0)
    )
    is_read = rubric.combine is Combine.WEIGHTED_AVG and len(script.start.checks) > 1
    if not is_read or not factor or [weight * factor for weight in old] != new:
        return None
    return Proof(
        f"every weight is multiplied by {factor}, which the average cancels",
        rule="check-weights-rescaled",
    )


def _convert_setting(value: object) -> Any:
    return convert_fraction(value) if isinstance(value, Fraction) else str(value)


def _change_weights(script: EditScript) -> Edits:
    checks = script.current.checks
    goals = {check.token: script.goal[check.token].weight for check in checks}
    moved = [check for check in checks if check.weight != goals[check.token]]
    if not moved:
        return
    weights = {check.token: goals[check.token] for check in moved}
    after = tuple(replace(check, weight=goals[check.token]) for check in checks)
    old = {check.id: convert_fraction(check.weight) for check in moved}
    new = {check.id: convert_fraction(weights[check.token]) for check in moved}
    # For one check the change shows its weight, for several the mapping of weights.
    lone = next(iter(old)) if len(old) == 1 else None
    at: Pointer = ("scoring", "weights", *((lone,) if lone is not None else ()))
    yield script.edit_rubric(
        "check-weight-changed",
        replace(script.current, checks=after),
        old=old if lone is None else old[lone],
        new=new if lone is None else new[lone],
        old_pointer=at,
        new_pointer=at,
        proof=_prove_rescaled(script, after),
        words={
            "checks": ", ".join(old),
            "old": ", ".join(map(str, old.values())),
            "new": ", ".join(map(str, new.values())),
        },
    )


def _change_thresholds(script: EditScript) -> Edits:
    for check in script.current.checks:
        old, new = check.threshold, script.goal[check.token].threshold
        if old != new:
            yield script.edit_check(
                _choose_threshold_rule(check, old, new),
                "threshold",
                replace(check, threshold=new),
                old=None if old is None else convert_fraction(old),
                new=None if new is None else convert_fraction(new),
            )


def _choose_threshold_rule(check: CheckState, old: Any, new: Any) -> str:
    if check.grading.holds_rubric:
        return "composite-threshold-changed"
    if old is None or new is None:
        return "unclassified-change"
    return "check-threshold-raised" if new > old else "check-threshold-lowered"


def _change_required(script: EditScript) -> Edits:
    for check in script.current.checks:
        is_required = script.goal[check.token].is_required
        if check.is_required is not is_required:
            yield script.edit_rubric(
                "scoring-required-changed",
                script.current.replace_check(replace(check, is_required=is_required)),
                old=check.is_required,
                new=is_required,
                old_pointer=_point_to_required(script.current, check.id)
                if check.is_required
                else None,
                new_pointer=_point_to_required(script.goal, check.id) if is_required else None,
                token=check.token,
                words={"check": check.id, "gate": "becomes" if is_required else "is no longer"},
            )


def _point_to_required(rubric: RubricState, id_: str) -> Pointer:
    at: Pointer = ("scoring", "required")
    return (*at, rubric.required.index(id_)) if id_ in rubric.required else at


def _add_checks(script: EditScript) -> Edits:
    for check in script.goal.checks:
        if check.token not in script.current.tokens:
            present = {*script.current.tokens, check.token}
            tokens = [goal.token for goal in script.goal.checks if goal.token in present]
            checks = tuple(
                check if token == check.token else script.current[token] for token in tokens
            )
            yield _edit_whole_check(
                script, "check-added", replace(script.current, checks=checks), check
            )


def _change_extras(script: EditScript) -> Edits:
    for key, (old, new) in find_key_changes(script.current.extras, script.goal.extras).items():
        at: Pointer = ("scoring", *key.split("/"))
        rule = "metadata-changed" if key.startswith("x_") else "unclassified-change"
        proof = _NO_SUCH_CHECK if key.startswith(("weights/", "required/")) else None
        yield script.edit_rubric(
            rule,
            script.current,
            old=old,
            new=new,
            old_pointer=at,
            new_pointer=at,
            name=key,
            proof=proof,
        )
    script.current = replace(script.current, extras=script.goal.extras)


# Checks are removed first and added last. The combine mode changes in between: whatever one of the
# two modes ignores (weights, thresholds, required checks) changes under that mode.
_STAGES: tuple[Callable[[EditScript], Edits], ...] = (
    _remove_checks,
    _rename_checks,
    _reorder_checks,
    _edit_checks,
    _edit_before_combine,
    partial(_change_setting, name="combine", rule="scoring-combine-changed"),
    _edit_after_combine,
    partial(_change_setting, name="missing", rule="scoring-missing-policy-changed"),
    partial(_change_setting, name="errors", rule="scoring-errors-policy-changed"),
    _change_verdict,
    partial(_change_setting, name="threshold", rule="scoring-threshold-changed"),
    _add_checks,
    _change_extras,
)


def _edit_whole_check(
    script: EditScript, rule: str, after: RubricState, check: CheckState
) -> Change:
    added = rule == "check-added"
    kind = f"required {check.kind}" if check.is_required else check.kind
    whole = [
        check.id,
        make_canonical_demand(check),
        str(check.weight),
        check.is_required,
        dict(check.extras),
    ]
    return script.edit_rubric(
        rule,
        after,
        old=None if added else whole,
        new=whole if added else None,
        old_pointer=None if added else point_into_check(check),
        new_pointer=point_into_check(check) if added else None,
        token=check.token,
        words={"check": check.id, "kind": kind, "a_kind": add_article(kind)},
    )
