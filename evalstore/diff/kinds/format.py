"""format: whether an output is JSON or text, and the limits of its length."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from evalstore.diff.answers.raw_answers import (
    ERROR,
    FAILED,
    MISSING,
    PASSED,
    JointRawAnswers,
    RawAnswer,
)
from evalstore.diff.answers.text_scores import TextScore, is_in_all
from evalstore.diff.kinds import (
    DEEP_JSON,
    ComparedKind,
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
from evalstore.languages import (
    pattern_comparison,  # a lazy package: names load on first use
)
from evalstore.languages.patterns import OUTPUT_LIMIT

_FORMATS = ("json", "text")
_RULE = "format-changed"


def _find_question_parts(params: Params) -> Iterator[Pointer]:
    if params["format"] is None:
        yield ("expected", "format")


def _fill_from_reference(check: Params, row: Row) -> dict[str, Any]:
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
    # JSON strings of the same lengths.
    yield from (f'"{text[2:]}"' for text in sized if params["format"] == "json" and len(text) > 1)


def _bound_length(limit: Limit) -> Param:
    # An edit of the format is compared while there is a limit, so that there is something to
    # grade. So a new limit is added before, and a removed one is dropped after it.
    return Param(None, read_count, rule=_RULE, comes_first=lambda old, _: old is None, limit=limit)


def _read_text_score(params: Params) -> TextScore | None:
    # Counting characters needs too large an automaton; a minimum of 1 is no limit, because text is
    # never empty.
    if (
        params["format"] != "text"
        or params["max_chars"] is not None
        or (params["min_chars"] or 0) > 1
    ):
        return None
    visible = pattern_comparison.Expression(r"[^\s\x1c-\x1f]")
    return TextScore((pattern_comparison.build_pattern_language(visible),), is_in_all)


def _list_joint_answers(checks: Sequence[Params]) -> Mapping[JointRawAnswers, int]:
    bounds = {0, 1, OUTPUT_LIMIT + 1}
    for check in checks:
        bounds |= {
            check["min_chars"] or 0,
            OUTPUT_LIMIT if check["max_chars"] is None else check["max_chars"] + 1,
        }
    ways: dict[JointRawAnswers, int] = {}
    for length, next_ in pairwise(sorted(bound for bound in bounds if bound <= OUTPUT_LIMIT + 1)):
        # Blanks are not JSON.
        for as_json in (PASSED, FAILED, ERROR) if length else (FAILED,):
            for expected in ("json", "text", None):
                # Lengths ascend, so the greatest one overwrites the others.
                ways[tuple(_grade_format(check, expected, length, as_json) for check in checks)] = (
                    next_ - 1
                )
    return ways


def _grade_format(
    check: Params, expected: str | None, length: int, as_json: RawAnswer
) -> RawAnswer:
    """Return the answer to an output of this length, for a question that expects this format."""
    wanted, least, most = check["format"] or expected, check["min_chars"], check["max_chars"]
    if wanted is least is most is None:
        return MISSING
    if length < (least or 0) or (most is not None and length > most):
        return FAILED
    if wanted == "json":
        return as_json
    return PASSED if length or wanted is None else FAILED


KIND = ComparedKind(
    params={
        "format": Param(None, read_one_of(*_FORMATS), rule=_RULE),
        # A limit of 0 is not the same as none: with it, there is something to grade. Text is never
        # empty.
        "min_chars": _bound_length(at_least("min_chars", implied_by="format", ends_grading=True)),
        "max_chars": _bound_length(at_most("max_chars", highest=OUTPUT_LIMIT, ends_grading=True)),
    },
    is_binary=say_always,
    may_miss=lambda params: params["format"] is params["min_chars"] is params["max_chars"] is None,
    may_err=lambda params: params["format"] != "text",  # JSON beyond the limits
    question_parts=_find_question_parts,
    fill_from_reference=_fill_from_reference,
    sample_texts=_yield_texts,
    text_score=_read_text_score,
    joint_answers=_list_joint_answers,
    assembly_order=1,
    ungraded_texts=(DEEP_JSON,),
)
