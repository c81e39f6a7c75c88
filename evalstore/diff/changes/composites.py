"""Finds composites that were replaced by their rubric's checks, and proves equal scores."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

from evalstore.diff.change import Change, Proof
from evalstore.diff.direction import HIGHEST, LOWEST, VERDICT_MODES
from evalstore.diff.limits import COMPARED
from evalstore.diff.pairing import make_canonical_demand
from evalstore.diff.plain_data import is_same, make_plain
from evalstore.diff.references import ArtifactLoader, is_pinned
from evalstore.diff.rubric_state import CheckState, RubricState, read_rubric_state
from evalstore.documents import write_canonical
from evalstore.errors import EvalstoreError
from evalstore.model import Combine, is_cosmetic, parse_ref

_ROOT_KEYS = frozenset({"id", "version", "checks", "scoring"})
# Nesting makes no difference under these modes: the lowest of the lowest is the lowest of all.
_NESTED = LOWEST | HIGHEST


def inline_composites(
    rubric: RubricState, other: RubricState, load: ArtifactLoader | None
) -> Iterator[Change]:
    """Yield an edit for each composite that `other` provably replaces by the composite's checks."""
    current = rubric
    composites = [check for check in rubric.checks if check.grading.holds_rubric]
    removed = [one for one in composites if not any(_is_kept(one, kept) for kept in other.checks)]
    # Several composites may have been inlined at once: each edit starts at the result of the last.
    for check in removed if load and len(removed) <= COMPARED.composites else ():
        inner = load_inner_rubric(str(check.params["rubric_ref"]), load)
        reason = explain_same_score(current, check, inner) if inner else None
        if inner and reason and (parts := _match_inner_checks(check, inner, current, other)):
            change = _build_inlining(current, check, parts, reason)
            yield change
            current = change.states[1]


def reverse_edits(changes: list[Change]) -> Iterator[Change]:
    """Yield the edits of `inline_composites` reversed: each undone, the last one first."""
    for change in reversed(changes):
        yield replace(
            change,
            old=change.new,
            new=change.old,
            old_pointer=change.new_pointer,
            new_pointer=change.old_pointer,
            before=change.after,
            after=change.before,
            words={**change.words, "replaced": "replaces its own checks"},
        )


def _is_kept(check: CheckState, other: CheckState) -> bool:
    return other.grading.holds_rubric and (other.id == check.id or other.params == check.params)


def load_inner_rubric(ref: str, load: ArtifactLoader | None) -> RubricState | None:
    """Return the rubric that a pin names.

    None if it has extra keys, which something may read, or if nothing can be graded with it.
    """
    from evalstore.lint import find_obstacles

    try:
        artifact = load(ref) if load and is_pinned(parse_ref(ref)) else None
    except EvalstoreError:
        return None
    if artifact is None or load is None or next(find_obstacles(artifact, load), None) is not None:
        return None
    value = make_plain(artifact.value)
    inner = (
        read_rubric_state(value)
        if all(key in _ROOT_KEYS or is_cosmetic(key) for key in value)
        else None
    )
    return inner if inner and all(map(is_cosmetic, inner.extras)) else None


def _match_inner_checks(
    check: CheckState, inner: RubricState, current: RubricState, other: RubricState
) -> list[CheckState]:
    """Return the inner checks as `other` names them, with their weights; [] if one is missing."""
    free: dict[str, list[CheckState]] = {}
    for one in other.checks:
        free.setdefault(make_canonical_demand(one), []).append(one)
    for one in current.checks:
        if one.token != check.token and (twins := free.get(make_canonical_demand(one))):
            twins.remove(min(twins, key=lambda twin: twin.id != one.id))
    # The checks of an inlined composite share its weight in proportion to their own weights.
    total = sum((one.weight for one in inner.checks), Fraction(0))
    found: list[CheckState] = []
    for place, one in enumerate(inner.checks):
        twins = free.get(make_canonical_demand(one), [])
        twin = next((twin for twin in twins if _has_same_extras(twin, one)), None)
        if twin is None:
            return []
        twins.remove(twin)
        weight = (
            check.weight * one.weight / total
            if current.combine is Combine.WEIGHTED_AVG
            else twin.weight
        )
        token = f"{check.token}-{place}"
        index = 1_000_000 * (check.index + 1) + place  # greater than that of any check in a file
        found.append(replace(twin, token=token, index=index, weight=weight, is_required=False))
    return found


def _has_same_extras(one: CheckState, other: CheckState) -> bool:
    return is_same(_list_decisive_extras(one), _list_decisive_extras(other))


def _list_decisive_extras(check: CheckState) -> dict[str, Any]:
    return {key: item for key, item in check.extras.items() if not is_cosmetic(key)}


def _build_inlining(
    current: RubricState, check: CheckState, parts: list[CheckState], reason: str
) -> Change:
    at = current.checks.index(check)
    ref = str(check.params["rubric_ref"])
    return Change(
        "composite-inlined",
        old=ref,
        new=[one.id for one in parts],
        old_pointer=("checks", check.index, "rubric_ref"),
        new_pointer=("checks",),
        before=current,
        after=replace(current, checks=(*current.checks[:at], *parts, *current.checks[at + 1 :])),
        words={"check": check.id, "ref": ref, "replaced": "is replaced by its own checks"},
        proof=Proof(reason),
        discriminator=write_canonical(
            [make_canonical_demand(check), *map(make_canonical_demand, parts)]
        ),
    )


def explain_same_score(rubric: RubricState, check: CheckState, inner: RubricState) -> str | None:
    """Say why a rubric scores the same with its composite inlined; None if that is not sure."""
    mode = rubric.combine
    has_required = check.is_required or any(one.is_required for one in inner.checks)
    deeper = any(one.grading.holds_rubric for one in inner.checks)
    if (
        mode is not inner.combine
        or rubric.needs_all
        or inner.needs_all
        or check.negate
        or has_required
        or deeper
        or not _treats_unscored_alike(rubric, inner)
    ):
        return None
    bar = inner.threshold if check.threshold is None else check.threshold
    if mode in VERDICT_MODES and not 0 < bar <= 1:
        return None
    if mode in _NESTED:
        return f"both rubrics combine by {mode} and treat unscored checks the same way"
    if mode is Combine.WEIGHTED_AVG and any(one.weight for one in inner.checks):
        return "each check keeps its share of the composite's weight, and every check always counts"
    return None


def _treats_unscored_alike(rubric: RubricState, inner: RubricState) -> bool:
    """Whether an unscored check has the same effect in both rubrics.

    It has not if an average leaves it out.
    """
    if any(one.may_miss for one in inner.checks) and not _has_same_effect(
        rubric, (rubric.missing, inner.missing)
    ):
        return False
    return not any(one.may_err for one in inner.checks) or _has_same_effect(
        rubric, (rubric.errors, inner.errors)
    )


def _has_same_effect(rubric: RubricState, policies: tuple[str, str]) -> bool:
    outer, inner = policies
    if outer != inner:
        return False
    if outer == "zero":
        return rubric.combine in _NESTED or rubric.combine is Combine.WEIGHTED_AVG
    # If the lowest score counts, an unscored check makes the inner rubric 0, and that makes the
    # outer one 0 as well.
    return rubric.combine in (LOWEST if outer == "fail" else _NESTED)
