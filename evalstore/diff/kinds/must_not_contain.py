"""must_not_contain: phrases none of which may be there."""

from __future__ import annotations

from evalstore.checks.phrases import PHRASE_LIMIT
from evalstore.diff.kinds import (
    CASE_SENSITIVE,
    CheckKind,
    make_phrases_param,
    read_no_question,
    say_always,
    say_never,
    yield_phrase_texts,
)

KIND = CheckKind(
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
    passes_all=lambda params: not params["values"],
)
