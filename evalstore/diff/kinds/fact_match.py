"""fact_match: facts, looked for as text or by a judge; the score is the share that is found."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from typing import Any

from evalstore.checks.phrases import PHRASE_LIMIT
from evalstore.diff.answers.text_scores import TextScore, is_monotone_in_pieces
from evalstore.diff.change import Change
from evalstore.diff.changes.edit_script import EditScript, set_param
from evalstore.diff.kinds import (
    CASE_SENSITIVE,
    ComparedKind,
    Param,
    Params,
    Row,
    UnreadableError,
    read_text,
    read_texts,
    read_typed,
)
from evalstore.diff.limits import CANDIDATES, PROOFS
from evalstore.documents import Pointer
from evalstore.languages import (
    pattern_comparison,  # a lazy package: names load on first use
)


def _read_facts(value: Any) -> list[str]:
    """Return the texts of a list of facts; their ids, which are names for people, are dropped."""
    facts = read_texts(
        [fact.get("value") if isinstance(fact, dict) else fact for fact in read_typed(value, list)]
    )
    if not all(fact.strip() for fact in facts):
        raise UnreadableError("a fact is blank")
    return facts


def _find_question_parts(params: Params) -> Iterator[Pointer]:
    if params["facts"] is None:
        yield ("expected_facts",)


def _fill_from_reference(check: Params, row: Row) -> dict[str, Any]:
    if "facts" in check:
        return {}
    return {
        "facts": _read_facts([] if row.get("expected_facts") is None else row["expected_facts"])
    }


def _yield_fact_changes(script: EditScript, token: str) -> Iterator[Change]:
    old, new = (side[token].params["facts"] for side in (script.current, script.goal))
    is_reordered = old is not None and new is not None and sorted(old) == sorted(new)
    edited = set_param(script.current[token], "facts", new)
    yield script.edit_check(
        "list-reordered" if is_reordered else "fact-changed", "facts", edited, old=old, new=new
    )


def _yield_texts(params: Params) -> Iterator[str]:
    facts = params["facts"]
    if not facts:
        return
    yield from ("\n".join(facts), "\n".join(facts).swapcase())
    for fact in facts[: CANDIDATES.repeated]:
        yield from (fact, fact.swapcase())
    places = range(min(len(facts), CANDIDATES.repeated))
    yield from ("\n".join(facts[:place] + facts[place + 1 :]) for place in places)
    # The first facts, and the next one in the other case.
    yield from ("\n".join([*facts[:place], facts[place].swapcase()]) for place in places)


def _asks_judge(params: Params) -> bool:
    return params["judge_prompt_ref"] is not None


def _count_parts(params: Params) -> int:
    return 0 if _asks_judge(params) else len(params["facts"] or ())


def _simplify(params: Params) -> Params:
    """Return the parameters with normalised facts; facts for a judge stay as they are written."""
    if params["facts"] is None or params["judge_prompt_ref"] is not None:
        return params
    facts = (
        params["facts"] if params["case_sensitive"] else [fact.lower() for fact in params["facts"]]
    )
    return {**params, "facts": sorted(" ".join(fact.split()) for fact in facts)}


def _read_text_score(params: Params) -> TextScore | None:
    facts = params["facts"]
    if not facts or params["judge_prompt_ref"] is not None or len(facts) > PROOFS.counted_phrases:
        return None
    spell = partial(
        pattern_comparison.build_words_language, case_sensitive=params["case_sensitive"]
    )
    return TextScore(tuple(map(spell, facts)), lambda found: Fraction(sum(found), len(found)))


KIND = ComparedKind(
    params={
        "facts": Param(
            None, _read_facts, rule="fact-changed", edits=_yield_fact_changes, is_set=True
        ),
        "case_sensitive": CASE_SENSITIVE,
        "judge_prompt_ref": Param(None, read_text, rule="judge-ref-changed"),
    },
    is_binary=lambda params: _count_parts(params) == 1,
    may_miss=lambda params: not params["facts"] or _asks_judge(params),
    may_err=lambda params: (
        params["facts"] is None or _asks_judge(params) or len(params["facts"]) > PHRASE_LIMIT
    ),
    question_parts=_find_question_parts,
    fill_from_reference=_fill_from_reference,
    simplify=_simplify,
    sample_texts=_yield_texts,
    text_score=_read_text_score,
    score_parts=_count_parts,
    asks_judges=_asks_judge,
    reads_more_than_text=lambda params: not params["facts"],
    piece_sign=lambda params: (
        -1
        if params["facts"]
        and not _asks_judge(params)
        and is_monotone_in_pieces(params["facts"], params)
        else 0
    ),
)
