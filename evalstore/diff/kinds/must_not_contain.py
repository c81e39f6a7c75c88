"""must_not_contain: phrases that an output must not contain."""

from __future__ import annotations

from fractions import Fraction

from evalstore.checks.phrases import PHRASE_LIMIT
from evalstore.diff.answers.text_scores import (
    TextScore,
    build_phrases,
    find_phrase_limit,
    is_monotone_in_pieces,
    simplify_phrases,
)
from evalstore.diff.kinds import (
    CASE_SENSITIVE,
    ComparedKind,
    Params,
    make_phrases_param,
    read_no_question,
    say_always,
    say_never,
    yield_phrase_texts,
)


def _read_text_score(params: Params) -> TextScore:
    if not params["values"]:
        return TextScore((), lambda _: Fraction(1))
    return TextScore((build_phrases(params),), lambda found: Fraction(not any(found)))


KIND = ComparedKind(
    params={
        "values": make_phrases_param("ban-phrase-added", "ban-phrase-removed"),
        "case_sensitive": CASE_SENSITIVE,
    },
    is_binary=say_always,
    may_miss=say_never,
    may_err=lambda params: len(params["values"]) > PHRASE_LIMIT,
    question_parts=read_no_question,
    sample_texts=lambda params: yield_phrase_texts(params["values"], 1),
    bans=True,
    text_score=_read_text_score,
    found_language=build_phrases,
    step_limit=find_phrase_limit,
    passes_all=lambda params: not params["values"],
    piece_sign=lambda params: 1 if is_monotone_in_pieces(params["values"], params) else 0,
    simplify=simplify_phrases,
)
