"""Phrase lists and letter case: a phrase that holds another listed one decides nothing by transitivity."""

from __future__ import annotations

from functools import cache

from evalstore.checks.phrases import PHRASE_LIMIT
from evalstore.diff.change import Change, Proof, name_decider
from evalstore.diff.direction import NONE, bound_direction, flip_direction
from evalstore.diff.findings import Direction
from evalstore.diff.kinds import KINDS
from evalstore.diff.rubric_state import CheckState
from evalstore.regex_inclusion import CASED_CODES
from evalstore.text import make_excerpt


@name_decider("redundant")
def prove_redundant(change: Change) -> Proof | None:
    """Prove that an added or removed phrase decides nothing, since another listed phrase is part of it."""
    before, after = change.checks
    phrase = change.item
    others = min(before.params["values"], after.params["values"], key=len)
    if phrase in others:
        return Proof("it is listed twice, and counts once", rule="phrase-redundant")
    if not (_needs_one_phrase(before) and _needs_one_phrase(after)) or _has_limit(change):
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
    if _has_limit(change):
        return None
    for check in change.checks:
        if (needed := _count_needed(check)) is None or needed <= len(set(check.params["values"])):
            return None
    return Proof("min_matches is larger than the number of phrases before and after, so nothing passes")


@name_decider("no_minimum")
def prove_no_minimum(change: Change) -> Proof | None:
    """Prove that every output passes before and after: no match is asked for."""
    if _has_limit(change):
        return None
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


def _has_limit(change: Change) -> bool:
    """Whether an output may be too long for so many phrases, before or after."""
    return any(len(check.params["values"]) > PHRASE_LIMIT for check in change.checks)


def _needs_one_phrase(check: CheckState) -> bool:
    return KINDS[check.kind].bans or _count_needed(check) == 1


def _count_needed(check: CheckState) -> int | None:
    matches: int | None = check.params.get("min_matches")
    return matches


def _fold_case(value: str, check: CheckState) -> str:
    return value if check.params["case_sensitive"] else value.lower()


# The one letter whose lower case depends on the letters around it: it has another form at the end of a word.
CAPITAL_SIGMA = "\N{GREEK CAPITAL LETTER SIGMA}"
_FINAL_SIGMA = "\N{GREEK SMALL LETTER FINAL SIGMA}"


@name_decider("caseless")
def prove_caseless(change: Change) -> Proof | None:
    """Prove that no listed text has a letter that lowering changes, or that another letter is lowered to."""
    phrases = _list_phrases(change.checks[1])
    if phrases is None or not all(_is_caseless(phrase) for phrase in phrases):
        return None
    return Proof("no listed text has a letter, so case cannot matter")


@name_decider("judged")
def prove_judge_reads(change: Change) -> Proof | None:
    """Prove that no text is compared: a judge reads the facts as they are written."""
    if any(check.params.get("judge_prompt_ref") is None for check in change.checks):
        return None
    return Proof("a judge reads the facts as they are written, whatever their case")


def find_case_direction(change: Change) -> Direction:
    """Return what ignoring case does: more is found, unless a text has a letter whose lower case depends on others."""
    check = change.checks[1]
    phrases = _list_phrases(check)
    if phrases is None or any(CAPITAL_SIGMA in phrase for phrase in phrases):
        return Direction.EITHER
    finds_less = bool(change.new)
    return Direction.LOOSER if finds_less is KINDS[check.kind].bans else Direction.STRICTER


def _list_phrases(check: CheckState) -> list[str] | None:
    if "values" in check.params:
        values: list[str] = check.params["values"]
        return values
    # Of a kind that lists its texts under other names nothing is known.
    facts: list[str] | None = check.params.get("facts")
    return None if check.params.get("judge_prompt_ref") is not None else facts


def _is_caseless(phrase: str) -> bool:
    return phrase.lower() == phrase and _list_lowered_letters().isdisjoint(phrase)


@cache
def _list_lowered_letters() -> frozenset[str]:
    # Includes the combining dot above, to which the capital I with dot is lowered, and k, to which the kelvin sign is.
    chars = map(chr, range(CASED_CODES))
    alone = frozenset(part for char in chars if char.lower() != char for part in char.lower())
    return alone | {_FINAL_SIGMA}
