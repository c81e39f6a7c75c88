"""Phrase lists and letter case: a phrase that holds another listed one decides nothing by transitivity."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import cache
from itertools import combinations

from evalstore.checks.phrases import PHRASE_LIMIT
from evalstore.diff.change import Change, Proof, name_decider
from evalstore.diff.deciders.bounds import is_full_share_threshold
from evalstore.diff.direction import EITHER, NONE, VERDICT_MODES, bound_direction, flip_direction
from evalstore.diff.findings import Direction
from evalstore.diff.kinds import KINDS
from evalstore.diff.limits import COMPARED, PROOFS
from evalstore.diff.rubric_state import CheckState
from evalstore.text import make_excerpt
from evalstore.versions import Bump


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
    if not 0 < len(facts) <= COMPARED.items or sum(map(len, facts)) > PROOFS.fact_chars:
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
    if len(moved) > PROOFS.weighed_facts:
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
    from evalstore.languages.pattern_comparison import CASED_CODES

    # Includes the combining dot above, to which the capital I with dot is lowered, and k, to which the kelvin sign is.
    chars = map(chr, range(CASED_CODES))
    alone = frozenset(part for char in chars if char.lower() != char for part in char.lower())
    return alone | {_FINAL_SIGMA}
