"""Finds which changes of a rubric edit something that scoring reads."""

from __future__ import annotations

from collections.abc import Sequence

from evalstore.diff.change import Change
from evalstore.diff.rubric_state import CheckState, RubricState


def list_scoring_edits(changes: Sequence[Change]) -> list[int]:
    """Return the indexes of the changes that edit something that scoring reads."""
    is_edit = [change.before and is_scoring_edit(*change.states) for change in changes]
    return [index for index, found in enumerate(is_edit) if found]


def is_scoring_edit(before: RubricState, after: RubricState) -> bool:
    """Whether scoring reads what differs, unlike the names of checks and extra keys."""
    if len(before.checks) != len(after.checks) or _list_settings(before) != _list_settings(after):
        return True
    # An edit leaves all checks but one as the same objects, so compare identity first.
    pairs = zip(before.checks, after.checks, strict=True)
    return any(one is not other and _list_parts(one) != _list_parts(other) for one, other in pairs)


def _list_settings(rubric: RubricState) -> tuple[object, ...]:
    return rubric.combine, rubric.threshold, rubric.missing, rubric.errors, rubric.verdict


def _list_parts(check: CheckState) -> tuple[object, ...]:
    return (
        check.token,
        check.kind,
        check.params,
        check.threshold,
        check.negate,
        check.weight,
        check.is_required,
    )
