"""format: JSON or text, and the limits of its length."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from evalstore.diff.kinds import (
    DEEP_JSON,
    CheckKind,
    Limit,
    Param,
    Params,
    Row,
    at_least,
    at_most,
    read_count,
    read_one_of,
    say_always,
    yield_texts_around,
)
from evalstore.diff.limits import CANDIDATES
from evalstore.documents import Pointer
from evalstore.languages.patterns import OUTPUT_LIMIT

_FORMATS = ("json", "text")
_RULE = "format-changed"


def _find_question_parts(params: Params) -> Iterator[Pointer]:
    if params["format"] is None:
        yield ("expected", "format")


def _fill_from_question(check: Params, row: Row) -> dict[str, Any]:
    expected = row.get("expected")
    if "format" in check or not isinstance(expected, dict):
        return {}
    wanted = expected.get("format")
    return {"format": wanted} if isinstance(wanted, str) and wanted in _FORMATS else {}


def _yield_texts(params: Params) -> Iterator[str]:
    yield (
        "{}"
        if params["format"] == "json"
        else "x" * min(params["min_chars"] or 1, CANDIDATES.text_length)
    )
    sized = list(yield_texts_around(params["min_chars"], params["max_chars"]))
    yield from ("{}", "x", *sized)
    # The same lengths as JSON.
    yield from (f'"{text[2:]}"' for text in sized if params["format"] == "json" and len(text) > 1)


def _bound_length(limit: Limit) -> Param:
    # A format is compared while there is a limit, which is something to grade: a new one comes
    # first.
    return Param(None, read_count, rule=_RULE, comes_first=lambda old, _: old is None, limit=limit)


KIND = CheckKind(
    params={
        "format": Param(None, read_one_of(*_FORMATS), rule=_RULE),
        # 0 is not the absence of a limit, which says that there is something to grade. No text is
        # empty.
        "min_chars": _bound_length(at_least("min_chars", implied_by="format", ends_grading=True)),
        "max_chars": _bound_length(at_most("max_chars", highest=OUTPUT_LIMIT, ends_grading=True)),
    },
    is_binary=say_always,
    may_miss=lambda params: params["format"] is params["min_chars"] is params["max_chars"] is None,
    may_err=lambda params: params["format"] != "text",  # JSON beyond the limits
    question_parts=_find_question_parts,
    fill_from_question=_fill_from_question,
    sample_texts=_yield_texts,
    ungraded_texts=(DEEP_JSON,),
)
