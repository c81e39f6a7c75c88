"""Changes of a rubric, in the order in which each can be judged by itself; what is then left is unclassified."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from evalstore.diff.change import Change, Proof
from evalstore.diff.changes.checks import find_check_changes
from evalstore.diff.changes.inlined import reverse_edits, inline_composites
from evalstore.diff.changes.loose import find_key_changes
from evalstore.diff.changes.walk import EditScript, pointer_of
from evalstore.diff.direction import LOWEST, VERDICT_MODES
from evalstore.diff.pair import canonicalise_demand, list_demand, pair_checks
from evalstore.diff.plain import is_same
from evalstore.diff.refs import ArtifactLoader
from evalstore.diff.state import CheckState, RubricState
from evalstore.documents import Pointer, convert_fraction
from evalstore.model import Combine

Edits = Iterator[Change]
_NOBODYS = Proof("no check has this id, so nothing reads it")


def find_rubric_changes(old: RubricState, new: RubricState, load: ArtifactLoader | None = None) -> Edits:
    """Yield the edits that lead from `old` to `new`, checks and scoring; `load` reads what they refer to."""
    apart, together = list(inline_composites(old, new, load)), list(inline_composites(new, old, load))
    yield from apart
    start, end = (changes[-1].states[1] if changes else side for changes, side in ((apart, old), (together, new)))
    yield from _walked(EditScript(start, pair_checks(start, end), load=load))
    yield from reverse_edits(together)


def _walked(walk: EditScript) -> Edits:
    for stage in _STAGES:
        yield from stage(walk)
    if not is_same(_facts(walk.current), _facts(walk.goal)):
        yield walk.edit_rubric("unclassified-change", walk.goal, old=_facts(walk.current), new=_facts(walk.goal))


def _facts(rubric: RubricState) -> list[Any]:
    scoring = [str(rubric.combine), str(rubric.threshold), rubric.missing, rubric.errors, dict(rubric.extras)]
    checks = [
        [check.token, check.id, list_demand(check), str(check.weight), check.is_gate, dict(check.extras)]
        for check in rubric.checks
    ]
    return [scoring, checks]


def _removed(walk: EditScript) -> Edits:
    for check in walk.current.checks:
        if check.token not in walk.goal.tokens:
            left = tuple(other for other in walk.current.checks if other.token != check.token)
            yield _whole_check(walk, "check-removed", replace(walk.current, checks=left), check)


def _renamed(walk: EditScript) -> Edits:
    for check in walk.current.checks:
        goal = walk.goal[check.token]
        follows_kind = check.kind != goal.kind and not (check.has_id or goal.has_id)
        if check.id != goal.id and not follows_kind:
            done = replace(check, id=goal.id, named=goal.has_id)
            yield walk.edit_check("check-renamed", "id", done, old=check.id, new=goal.id)


def _reordered(walk: EditScript) -> Edits:
    order = [token for token in walk.goal.tokens if token in walk.current.tokens]
    if walk.current.tokens != order:
        ids = [check.id for check in walk.current.checks]
        after = replace(walk.current, checks=tuple(walk.current[token] for token in order))
        new = [check.id for check in after.checks]
        at: Pointer = ("checks",)
        yield walk.edit_rubric("check-reordered", after, old=ids, new=new, old_pointer=at, new_pointer=at)


def _edited(walk: EditScript) -> Edits:
    for token in walk.current.tokens:
        yield from find_check_changes(walk, token)


def _before_combine(walk: EditScript) -> Edits:
    # Where one of the two modes does not read a part, that part is changed under that mode.
    if walk.current.combine is not Combine.WEIGHTED_AVG:
        yield from _weights(walk)
    if walk.current.combine not in VERDICT_MODES:
        yield from _bars(walk)
    if walk.current.combine in LOWEST:
        yield from _gates(walk)


def _combine(walk: EditScript) -> Edits:
    old, new = walk.current.combine, walk.goal.combine
    if old is not new:
        yield _setting(walk, "scoring-combine-changed", "combine", old=str(old), new=str(new))


def _after_combine(walk: EditScript) -> Edits:
    yield from _weights(walk)
    yield from _bars(walk)
    yield from _gates(walk)


def _weights(walk: EditScript) -> Edits:
    moved = [check for check in walk.current.checks if check.weight != walk.goal[check.token].weight]
    if not moved:
        return
    weights = {check.token: walk.goal[check.token].weight for check in moved}
    after = tuple(replace(check, weight=weights.get(check.token, check.weight)) for check in walk.current.checks)
    at: Pointer = ("scoring", "weights", *((moved[0].id,) if len(moved) == 1 else ()))
    yield walk.edit_rubric(
        "check-weight-changed",
        replace(walk.current, checks=after),
        old={check.id: convert_fraction(check.weight) for check in moved},
        new={check.id: convert_fraction(weights[check.token]) for check in moved},
        old_pointer=at,
        new_pointer=at,
        words={"checks": ", ".join(check.id for check in moved)},
    )


def _bars(walk: EditScript) -> Edits:
    for check in walk.current.checks:
        old, new = check.threshold, walk.goal[check.token].threshold
        if old != new:
            yield walk.edit_check(
                _bar_rule(old, new),
                "threshold",
                replace(check, threshold=new),
                old=None if old is None else convert_fraction(old),
                new=None if new is None else convert_fraction(new),
            )


def _bar_rule(old: Any, new: Any) -> str:
    if old is None or new is None:
        return "unclassified-change"
    return "check-threshold-raised" if new > old else "check-threshold-lowered"


def _gates(walk: EditScript) -> Edits:
    for check in walk.current.checks:
        gated = walk.goal[check.token].is_gate
        if check.is_gate is not gated:
            yield walk.edit_rubric(
                "scoring-required-changed",
                walk.current.replace_check(replace(check, gated=gated)),
                old=check.is_gate,
                new=gated,
                old_pointer=_gate(walk.current, check.id),
                new_pointer=_gate(walk.goal, check.id),
                token=check.token,
                words={"check": check.id, "gate": "becomes" if gated else "is no longer"},
            )


def _gate(rubric: RubricState, id_: str) -> Pointer:
    at: Pointer = ("scoring", "required")
    return (*at, rubric.gates.index(id_)) if id_ in rubric.gates else at


def _policies(walk: EditScript) -> Edits:
    for rule, name in (("scoring-missing-policy-changed", "missing"), ("scoring-errors-policy-changed", "errors")):
        old, new = getattr(walk.current, name), getattr(walk.goal, name)
        if old != new:
            yield _setting(walk, rule, name, old=old, new=new)


def _threshold(walk: EditScript) -> Edits:
    old, new = walk.current.threshold, walk.goal.threshold
    if old != new:
        yield _setting(
            walk, "scoring-threshold-changed", "threshold", old=convert_fraction(old), new=convert_fraction(new)
        )


def _added(walk: EditScript) -> Edits:
    for check in walk.goal.checks:
        if check.token not in walk.current.tokens:
            present = {*walk.current.tokens, check.token}
            checks = tuple(
                check if goal.token == check.token else walk.current[goal.token]
                for goal in walk.goal.checks
                if goal.token in present
            )
            yield _whole_check(walk, "check-added", replace(walk.current, checks=checks), check)


def _rest(walk: EditScript) -> Edits:
    for key, old, new in find_key_changes(walk.current.extras, walk.goal.extras):
        at: Pointer = ("scoring", *key.split("/"))
        rule = "metadata-changed" if key.startswith("x_") else "unclassified-change"
        proof = _NOBODYS if key.startswith(("weights/", "required/")) else None
        yield walk.edit_rubric(
            rule, walk.current, old=old, new=new, old_pointer=at, new_pointer=at, name=key, proof=proof
        )
    walk.current = replace(walk.current, rest=walk.goal.extras)


_STAGES: tuple[Callable[[EditScript], Edits], ...] = (
    _removed,
    _renamed,
    _reordered,
    _edited,
    _before_combine,
    _combine,
    _after_combine,
    _policies,
    _threshold,
    _added,
    _rest,
)


def _setting(walk: EditScript, rule: str, name: str, *, old: Any, new: Any) -> Change:
    at: Pointer = ("scoring", name)
    after = replace(walk.current, **{name: getattr(walk.goal, name)})
    return walk.edit_rubric(rule, after, old=old, new=new, old_pointer=at, new_pointer=at, name=name)


def _whole_check(walk: EditScript, rule: str, after: RubricState, check: CheckState) -> Change:
    added = rule == "check-added"
    whole = [check.id, canonicalise_demand(check), str(check.weight), check.is_gate, dict(check.extras)]
    return walk.edit_rubric(
        rule,
        after,
        old=None if added else whole,
        new=whole if added else None,
        old_pointer=None if added else pointer_of(check),
        new_pointer=pointer_of(check) if added else None,
        token=check.token,
        words={"check": check.id, "kind": check.kind},
    )
