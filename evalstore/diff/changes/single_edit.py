"""Takes one edit out of a script, to show what it does alone, whatever else was edited."""

from __future__ import annotations

from dataclasses import replace

from evalstore.diff.change import Change
from evalstore.diff.rubric_state import CheckState, RubricState


def separate_edit(change: Change, old: RubricState, new: RubricState) -> Change:
    """Return an edit of a script as the only edit of the old rubric, or of the new one.

    An added check is judged in the new rubric, because its weight was chosen for the other weights
    there. Any other edit is made in the old rubric, after earlier edits of the same check, or of
    scoring, because one may need another.
    """
    # A proof by the script itself is true wherever the edit is made.
    if change.proof or change.before is change.after:
        return change
    made, token = change.states, change.token
    if change.rule == "check-added":
        alone = new.drop_check(token), new
    elif change.rule == "check-removed":
        alone = old, old.drop_check(token)
    elif token and _list_asked(made[0][token]) != _list_asked(made[1][token]):
        alone = old.replace_check(made[0][token]), old.replace_check(made[1][token])
    else:
        alone = _settle(old, made[0]), _settle(old, made[1])
    return change if alone == made else replace(change, before=alone[0], after=alone[1], made=made)


def _list_asked(check: CheckState) -> tuple[object, ...]:
    return check.id, check.kind, check.params, check.negate


def _settle(rubric: RubricState, scored: RubricState) -> RubricState:
    """Return a rubric with its own checks, and with the scoring of another one."""
    others = {check.token: check for check in scored.checks}
    checks = (_settle_check(one, others.get(one.token, one)) for one in rubric.checks)
    return replace(scored, checks=tuple(checks))


def _settle_check(check: CheckState, scored: CheckState) -> CheckState:
    # The threshold of another kind of check has no meaning for this check.
    bar = scored.threshold if scored.kind == check.kind else check.threshold
    settled = bar, scored.weight, scored.is_required
    if settled == (check.threshold, check.weight, check.is_required):
        return check
    return replace(check, threshold=bar, weight=scored.weight, is_required=scored.is_required)
