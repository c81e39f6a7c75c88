"""must_contain_any: a list of phrases, and how many of them an output must contain."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from evalstore.checks.phrases import PHRASE_LIMIT
from evalstore.diff.answers.text_scores import (
    TextScore,
    build_phrases,
    find_phrase_limit,
    is_in_all,
    is_monotone_in_pieces,
    simplify_phrases,
)
from evalstore.diff.kinds import (
    CASE_SENSITIVE,
    ComparedKind,
    Param,
    Params,
    make_phrases_param,
    read_integer,
    read_no_question,
    say_always,
    say_never,
    yield_phrase_texts,
)
from evalstore.diff.limits import PROOFS


def _yield_texts(params: Params) -> Iterator[str]:
    return yield_phrase_texts(params["values"], params["min_matches"])


def _read_text_score(params: Params) -> TextScore | None:
    values, needed = list(dict.fromkeys(params["values"])), params["min_matches"]
    if not 0 < needed <= len(values):
        return TextScore((), lambda _: Fraction(needed <= 0))
    if needed == 1:
        return TextScore((build_phrases(params),), is_in_all)
    if len(values) > PROOFS.counted_phrases:
        return None
    languages = tuple(build_phrases(params, [value]) for value in values)
    return TextScore(languages, lambda found: Fraction(sum(found) >= needed))


KIND = ComparedKind(
    params={
        "values": make_phrases_param("contain-phrase-added", "contain-phrase-removed"),
        "case_sensitive": CASE_SENSITIVE,
        # Other edits are compared while the minimum is one match, because then most can be proved.
        "min_matches": Param(
            1,
            read_integer,
            rule="contain-min-matches-changed",
            comes_first=lambda _, new: bool(new == 1),
        ),
    },
    is_binary=say_always,
    may_miss=say_never,
    may_err=lambda params: len(params["values"]) > PHRASE_LIMIT,
    question_parts=read_no_question,
    sample_texts=_yield_texts,
    text_score=_read_text_score,
    found_language=lambda params: build_phrases(params) if params["min_matches"] == 1 else None,
    step_limit=find_phrase_limit,
    passes_all=lambda params: params["min_matches"] <= 0,
    piece_sign=lambda params: -1 if is_monotone_in_pieces(params["values"], params) else 0,
    simplify=simplify_phrases,
)
