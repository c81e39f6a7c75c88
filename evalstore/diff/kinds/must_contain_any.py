"""must_contain_any: phrases of which so many must be there."""

from __future__ import annotations

from collections.abc import Iterator

from evalstore.checks.phrases import PHRASE_LIMIT
from evalstore.diff.kinds import (
    CASE_SENSITIVE,
    CheckKind,
    Param,
    Params,
    make_phrases_param,
    read_integer,
    read_no_question,
    say_always,
    say_never,
    yield_phrase_texts,
)


def _yield_texts(params: Params) -> Iterator[str]:
    return yield_phrase_texts(params["values"], params["min_matches"])


KIND = CheckKind(
    params={
        "values": make_phrases_param("contain-phrase-added", "contain-phrase-removed"),
        "case_sensitive": CASE_SENSITIVE,
        # Most is proved of one match as the minimum.
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
    passes_all=lambda params: params["min_matches"] <= 0,
)
