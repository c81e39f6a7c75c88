"""Checks as functions of a text: the languages that each asks about, and its score where a text is in some of them."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

from evalstore.diff.rubric_state import CheckState
from evalstore.regex_inclusion import (
    Expression,
    Membership,
    RegexTree,
    UndecidedError,
    build_pattern_language,
    build_phrase_language,
    build_words_language,
)

# Phrases of one check that are counted one by one: a text may hold any of so many sets of them.
_COUNTED = 6


class TextScore(NamedTuple):
    """The score of a check, before it is turned round: of whether a text is in each of its languages, in order."""

    languages: tuple[RegexTree, ...]
    compute: Callable[[Membership], Fraction]


def read_text_score(check: CheckState) -> TextScore | None:
    """Return a check as a function of the text alone; None for one that reads more, or whose languages are unknown."""
    read = _READERS.get(check.kind)
    try:
        return read(check.params) if read else None
    except UndecidedError:
        return None


def _read_phrases(params: Any) -> TextScore | None:
    values, needed = list(dict.fromkeys(params["values"])), params["min_matches"]
    if not 0 < needed <= len(values):
        return TextScore((), lambda _: Fraction(needed <= 0))
    if needed == 1:
        return TextScore((_build_phrases(values, params),), _find_all)
    if len(values) > _COUNTED:
        return None
    languages = tuple(_build_phrases([value], params) for value in values)
    return TextScore(languages, lambda found: Fraction(sum(found) >= needed))


def _read_bans(params: Any) -> TextScore:
    if not params["values"]:
        return TextScore((), lambda _: Fraction(1))
    return TextScore((_build_phrases(params["values"], params),), lambda found: Fraction(not any(found)))


def _read_pattern(params: Any) -> TextScore:
    return TextScore(
        (build_pattern_language(Expression(params["pattern"], params["flags"], params["mode"])),), _find_all
    )


def _read_facts(params: Any) -> TextScore | None:
    facts = params["facts"]
    if not facts or params["judge_prompt_ref"] is not None or len(facts) > _COUNTED:
        return None
    spell = partial(build_words_language, case_sensitive=params["case_sensitive"])
    return TextScore(tuple(map(spell, facts)), lambda found: Fraction(sum(found), len(found)))


def _read_format(params: Any) -> TextScore | None:
    # Lengths are counted in characters, too many for an automaton; one that the format asks for anyway is none.
    if params["format"] != "text" or params["max_chars"] is not None or (params["min_chars"] or 0) > 1:
        return None
    return TextScore((build_pattern_language(Expression(r"[^\s\x1c-\x1f]")),), _find_all)


def _find_all(found: Membership) -> Fraction:
    return Fraction(all(found))


def _build_phrases(values: list[str], params: Any) -> RegexTree:
    return build_phrase_language(values, case_sensitive=params["case_sensitive"])


_READERS: dict[str, Callable[[Any], TextScore | None]] = {
    "must_contain_any": _read_phrases,
    "must_not_contain": _read_bans,
    "regex": _read_pattern,
    "fact_match": _read_facts,
    "format": _read_format,
}
