"""Edits of a list of facts: how the share that an output states moves; a text that holds a fact holds its parts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import combinations

from evalstore.diff.change import Change, Proof, name_decider
from evalstore.diff.deciders.bounds import is_full_share_threshold
from evalstore.diff.direction import EITHER, NONE, VERDICT_MODES, bound_direction
from evalstore.diff.findings import Direction
from evalstore.diff.rubric_state import CheckState
from evalstore.versions import Bump

# More facts than these, or longer ones, are not weighed against each other one by one.
_LISTED, _WEIGHED, _CHARS = 100, 10, 100_000


def find_share_direction(change: Change) -> Direction:
    """Return what another list of facts does to the share that an output states."""
    old, new = map(_weigh_facts, change.checks)
    if old == new and old:
        return NONE
    if not (old and new) or any(map(_asks_judge, change.checks)):
        return EITHER
    moved = {fact: new.get(fact, Fraction(0)) - old.get(fact, Fraction(0)) for fact in {*old, *new}}
    return _bound_sign({fact: part for fact, part in moved.items() if part})


def find_share_verdict_direction(change: Change) -> Direction:
    """Return what it does to the verdict, which may tell only outputs with all of the facts from the others."""
    if not _pass_full_share_only(change):
        return find_share_direction(change)
    old, new = (_weigh_facts(check) for check in change.checks)
    # Whoever states all of one list states all of the other.
    return bound_direction(below=_is_stated(new, old), above=_is_stated(old, new))


@name_decider("same_share")
def prove_same_share(change: Change) -> Proof | None:
    """Prove that every fact has the same part in both lists."""
    if find_share_direction(change) is not NONE:
        return None
    return Proof("every fact has the same part in both lists, white space and ignored case apart")


@name_decider("share_unread")
def prove_fact_share_unread(change: Change) -> Proof | None:
    """Prove that the rubric reads the verdict alone, and all of the one list is all of the other."""
    if any(rubric.combine not in VERDICT_MODES for rubric in change.states) or not _pass_full_share_only(change):
        return None
    if find_share_verdict_direction(change) is not NONE:
        return None
    return Proof("the rubric reads the check's verdict alone, and who states all of one list states all", Bump.MINOR)


def _weigh_facts(check: CheckState) -> Mapping[str, Fraction]:
    """Return the part of each fact as it is looked for; none where the question lists them, or too many are listed."""
    facts = check.params["facts"] or []
    if not 0 < len(facts) <= _LISTED or sum(map(len, facts)) > _CHARS:
        return {}
    counted = Counter(facts if _asks_judge(check) else (_spell_fact(fact, check) for fact in facts))
    return {fact: Fraction(number, len(facts)) for fact, number in counted.items()}


def _spell_fact(fact: str, check: CheckState) -> str:
    return " ".join((fact if check.params["case_sensitive"] else fact.lower()).split())


def _asks_judge(check: CheckState) -> bool:
    return check.params["judge_prompt_ref"] is not None


def _pass_full_share_only(change: Change) -> bool:
    known = all(_weigh_facts(check) and not _asks_judge(check) for check in change.checks)
    return known and all(is_full_share_threshold(check, len(check.params["facts"])) for check in change.checks)


def _is_stated(facts: Mapping[str, Fraction], by: Mapping[str, Fraction]) -> bool:
    """Whether each of the facts is stated by an output that states all the others."""
    return all(any(fact in other for other in by) for fact in facts)


def _bound_sign(moved: Mapping[str, Fraction]) -> Direction:
    if len(moved) > _WEIGHED:
        return EITHER
    sums = list(_iterate_sums(moved))
    return bound_direction(below=min(sums) >= 0, above=max(sums) <= 0)


def _iterate_sums(moved: Mapping[str, Fraction]) -> Iterator[Fraction]:
    """Yield how the share moves for every set of facts that may be stated together: with each fact all its parts."""
    parts = {fact: {other for other in moved if other in fact} for fact in moved}
    for size in range(len(moved) + 1):
        for some in combinations(moved, size):
            if all(parts[fact] <= {*some} for fact in some):
                yield sum((moved[fact] for fact in some), Fraction(0))
