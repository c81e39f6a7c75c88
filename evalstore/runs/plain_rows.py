"""Reads the rows that evalstore writes by their one layout, and leaves any other to the reader of all shapes; pure.

A row of this layout has each key once, in one order, and nothing but texts in their places, so that one pattern over
the line settles what a decoder and the checks of every part would: it is read at a third of their cost.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from json.decoder import scanstring  # type: ignore[attr-defined]  # in every CPython, in no stub

from evalstore.documents import LINE_LIMIT
from evalstore.errors import EvalstoreError, Place
from evalstore.model import CheckResult, Output
from evalstore.runs.eee_rows import read_check_text, read_consistent_grade
from evalstore.runs.values import GradedRow

# Texts without escapes, and texts that may have some, with the quotation marks around them left out.
_BARE = r'"[^"\\\x00-\x1f]*+"'
_PLAIN = r'"([^"\\\x00-\x1f]*+)"'
_TEXT = r'"([^"\\\x00-\x1f]*+(?:\\.[^"\\\x00-\x1f]*+)*+)"'
_SEVERAL = rf"((?:{_TEXT.replace('(', '(?:', 1)}(?:, {_TEXT.replace('(', '(?:', 1)})*+)?)"
_NUMBER = r"-?(?:0|[1-9][0-9]{0,17})(?:\.[0-9]{1,20})?(?:e-?[0-9]{1,2})?"
_LAYOUT = re.compile(
    rf'\{{"schema_version": {_BARE}, "evaluation_id": {_BARE}, "model_id": {_BARE}, "evaluation_name": {_BARE}, '
    rf'"evaluation_result_id": {_BARE}, "sample_id": {_PLAIN}, "sample_hash": {_BARE}, "interaction_type": {_BARE}, '
    rf'"input": \{{"raw": {_TEXT}, "reference": \[{_SEVERAL}\]\}}, "output": \{{"raw": \[{_TEXT}\]\}}, '
    rf'"answer_attribution": \[\], "evaluation": \{{"score": {_NUMBER}, "is_correct": (?:true|false)\}}, '
    rf'(?:"error": {_BARE}, )?"metadata": \{{"evalstore_score": {_PLAIN}, "evalstore_verdict": {_PLAIN}, '
    rf'"evalstore_reason": {_PLAIN}, "evalstore_rubric": {_PLAIN}, "evalstore_rubric_digest": {_PLAIN}, '
    rf'"evalstore_checks": {_TEXT}, "evalstore_input_digest": {_PLAIN}, "evalstore_reference_digest": {_PLAIN}, '
    rf'"evalstore_output_digest": {_BARE}(?:, "evalstore_group": {_PLAIN})?'
    r'(?:, "evalstore_sample": "([0-9]{1,9})")?\}\}'
)
# A half of a surrogate pair can only stand in such an escape.
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_CHECKS_START, _BETWEEN_CHECKS, _CHECKS_END = '[{"id":', '},{"id":', "}]"
_MOST_LISTS = 8
_NOWHERE = Place("a row")  # what is refused is read again, and gets its place then
# Characters of what is kept, as another row may have it, too: the result of a check, all of them, a reference.
_KEPT_TEXT, _MOST_KEPT = 1_000, 4_000


def read_plain_row(data: bytes) -> GradedRow | None:
    """Return the row of one line in evalstore's own layout; None for any other, and for one that is not sound."""
    try:
        text = data.decode() if len(data) <= LINE_LIMIT else ""
        found = _LAYOUT.fullmatch(text)
        if found is None or ("\\u" in text and _SURROGATE.search(text)):
            return None
        (id_, prompt, reference, output, score, verdict, reason, rubric, rubric_digest, checks, input_digest,
         reference_digest, group, sample) = found.groups()  # fmt: skip
        grade = read_consistent_grade(score, verdict)
        return GradedRow(
            id_,
            _unescape(prompt),
            (_read_kept_reference if len(reference) <= _KEPT_TEXT else _read_reference)(reference),
            Output(_unescape(output)),
            *grade,
            rubric,
            rubric_digest,
            (_read_kept_checks if len(checks) <= _MOST_KEPT else _read_escaped_checks)(checks),
            reason,
            input_digest,
            reference_digest,
            group,
            int(sample or 0),
        )
    except (ValueError, KeyError, AttributeError, TypeError, EvalstoreError):
        # The reader of all shapes says what is wrong, and where.
        return None


def _unescape(text: str) -> str:
    return scanstring(text + '"', 0, True)[0] if "\\" in text else text


def _read_reference(several: str) -> tuple[str, ...]:
    return tuple(json.loads(f"[{several}]")) if several else ()


def read_checks(text: str) -> tuple[CheckResult, ...]:
    """Return the results of checks from their JSON in evalstore's own layout; `ValueError` for any other."""
    if text == "[]":
        return ()
    if not text.startswith(_CHECKS_START) or not text.endswith(_CHECKS_END):
        raise ValueError("another layout")
    # No text in JSON has a bare quotation mark, so what is between two checks cannot stand within one of their texts.
    parts = text[len(_CHECKS_START) : -len(_CHECKS_END)].split(_BETWEEN_CHECKS)
    return tuple([_read_kept(part) if len(part) <= _KEPT_TEXT else _read_check(part) for part in parts])


def _read_escaped_checks(escaped: str) -> tuple[CheckResult, ...]:
    return read_checks(_unescape(escaped))


def _read_check(part: str) -> CheckResult:
    if part.count("[") > _MOST_LISTS:
        raise ValueError("nested, so that the limit of the whole counts")
    return read_check_text(f"{_CHECKS_START[1:]}{part}{_CHECKS_END[:1]}", _NOWHERE)


_read_kept = lru_cache(maxsize=4096)(_read_check)
_read_kept_checks = lru_cache(maxsize=1024)(_read_escaped_checks)
# Two runs that are read side by side have the same.
_read_kept_reference = lru_cache(maxsize=64)(_read_reference)
