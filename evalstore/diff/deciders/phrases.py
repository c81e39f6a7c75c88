"""Phrase lists: a phrase that holds another listed one decides nothing, because substrings are transitive."""

from __future__ import annotations

from evalstore.diff.change import Change, Proof, name_decider
from evalstore.diff.direction import NONE, bound_direction, flip_direction
from evalstore.diff.findings import Direction
from evalstore.diff.kinds import KINDS
from evalstore.diff.rubric_state import CheckState
from evalstore.text import make_excerpt


@name_decider("redundant")
def prove_redundant(change: Change) -> Proof | None:
    """Prove that an added or removed phrase decides nothing, since another listed phrase is part of it."""
    before, after = change.checks
    phrase = change.item
    others = min(before.params["values"], after.params["values"], key=len)
    if phrase in others:
        return Proof("it is listed twice, and counts once", rule="phrase-redundant")
    if not (_needs_one_phrase(before) and _needs_one_phrase(after)):
        return None
    part = next((other for other in others if _fold_case(other, before) in _fold_case(phrase, before)), None)
    if part is None:
        return None
    return Proof(f"{make_excerpt(part, 60)!r}, also listed, is part of it and decides alone", rule="phrase-redundant")


@name_decider("reworded_alike")
def prove_rewording_equivalent(change: Change) -> Proof | None:
    """Prove that both wordings are found in the same outputs."""
    if find_rewording_direction(change) is not NONE:
        return None
    return Proof("the old and the new list find the same outputs: each phrase holds one of the other list")


@name_decider("out_of_reach")
def prove_out_of_reach(change: Change) -> Proof | None:
    """Prove that no output passes before or after: more matches are asked for than there are phrases."""
    for check in change.checks:
        if (needed := _count_needed(check)) is None or needed <= len(set(check.params["values"])):
            return None
    return Proof("min_matches is larger than the number of phrases before and after, so nothing passes")


@name_decider("no_minimum")
def prove_no_minimum(change: Change) -> Proof | None:
    """Prove that every output passes before and after: no match is asked for."""
    for check in change.checks:
        if (needed := _count_needed(check)) is None or needed > 0:
            return None
    return Proof("min_matches asks for no match before and after, so everything passes")


def find_rewording_direction(change: Change) -> Direction:
    """Return what a rewording does to the outputs that a list finds, turned round for a ban."""
    before, after = change.checks
    old, new = _fold_case(change.old, before), _fold_case(change.new, after)
    if _needs_one_phrase(before) and _needs_one_phrase(after):
        finds_more = any(_fold_case(part, after) in old for part in after.params["values"])
        finds_less = any(_fold_case(part, before) in new for part in before.params["values"])
    else:
        finds_more, finds_less = new in old, old in new
    found = bound_direction(below=finds_more, above=finds_less)
    return flip_direction(found) if KINDS[before.kind].bans else found


def _needs_one_phrase(check: CheckState) -> bool:
    return KINDS[check.kind].bans or _count_needed(check) == 1


def _count_needed(check: CheckState) -> int | None:
    matches: int | None = check.params.get("min_matches")
    return matches


def _fold_case(value: str, check: CheckState) -> str:
    return value if check.params["case_sensitive"] else value.lower()
