"""Edits of `case_sensitive`: which texts `str.lower()` cannot confuse with others, and what ignoring case does."""

from __future__ import annotations

import sys
from functools import cache

from evalstore.diff.change import Change, Proof, name_decider
from evalstore.diff.findings import Direction
from evalstore.diff.kinds import KINDS
from evalstore.diff.rubric_state import CheckState

# The one letter whose lower case depends on its neighbours: it has another form at the end of a word.
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
    chars = map(chr, range(sys.maxunicode + 1))
    alone = frozenset(part for char in chars if char.lower() != char for part in char.lower())
    return alone | {_FINAL_SIGMA}
